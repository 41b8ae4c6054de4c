package heatmap

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Tick returns how often the kernel's counter of ticks moves on, which is as often as its coarse clocks
// do.
func Tick() (time.Duration, error) {
	var resolution unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &resolution); err != nil {
		return 0, fmt.Errorf("ask for the kernel's tick: %w", err)
	}
	return time.Duration(resolution.Nano()), nil
}
