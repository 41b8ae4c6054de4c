package rulemap

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

const (
	// reclaims is how often memory is made free for one chunk before it counts as used up.
	reclaims = 10
	// reclaimed is more than the rules of a chunk take up, in bytes.
	reclaimed = 4 << 20
)

// persist writes n entries by write, which takes the number of the first one and returns how many it
// has written. Where the kernel has no memory for all, persist makes some free and goes on.
func persist(n int, write func(from int) (int, error)) error {
	done, err := write(0)
	for range reclaims {
		if !errors.Is(err, syscall.ENOMEM) || done >= n {
			break
		}
		reclaim()
		var more int
		more, err = write(done)
		done += more
	}
	return err
}

// reclaim makes memory free. The kernel takes that for a map's entries without waiting, and so fails
// where a control group has its limit full of cached files that it could let go. For memory of a
// process it does let them go.
func reclaim() {
	room := make([]byte, reclaimed)
	for at := 0; at < len(room); at += os.Getpagesize() {
		room[at] = 1
	}
	runtime.KeepAlive(room)
	debug.FreeOSMemory()
}
