package wire

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootTime returns the time in ns since boot, sleep included: the clock that the program reads.
func BootTime() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// Every kernel that can load the program has this clock.
		panic("clock_gettime(CLOCK_BOOTTIME): " + err.Error())
	}
	return uint64(time.Duration(ts.Nano()))
}
