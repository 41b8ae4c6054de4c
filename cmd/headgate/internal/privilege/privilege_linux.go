package privilege

import (
	"fmt"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/cap"
)

// The capabilities that headgate needs while it runs.
const (
	BPF          = cap.BPF              // maps, and the interfaces that the program is attached to
	NetAdmin     = cap.NET_ADMIN        // attaching
	LowPorts     = cap.NET_BIND_SERVICE // listening below port 1024
	ChangeGroup  = cap.CHOWN            // sockets for a group that the agent is no member of
	ReadAllFiles = cap.DAC_READ_SEARCH  // logs and keys of other users
)

// Keep gives up all capabilities of all threads but these, and the right to get others by executing a program, which root would have.
// Of those that the process does not have it gets none. There is no way back.
func Keep(values ...cap.Value) error {
	has := cap.GetProc()
	kept := cap.NewSet()
	for _, v := range values {
		permitted, err := has.GetFlag(cap.Permitted, v)
		if err != nil {
			return fmt.Errorf("look for capability %s: %w", v, err)
		}
		if !permitted {
			continue
		}
		for _, flag := range []cap.Flag{cap.Permitted, cap.Effective} {
			if err := kept.SetFlag(flag, true, v); err != nil {
				return fmt.Errorf("keep capability %s: %w", v, err)
			}
		}
	}
	if _, err := cap.Prctlw(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up getting capabilities by executing a program: %w", err)
	}
	if err := cap.ResetAmbient(); err != nil {
		return fmt.Errorf("give up ambient capabilities: %w", err)
	}
	if err := kept.SetProc(); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	return nil
}
