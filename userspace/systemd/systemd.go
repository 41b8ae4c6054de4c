// Package systemd tells systemd how a service of Type=notify-reload or Type=notify fares. Where no systemd
// listens, as NOTIFY_SOCKET is not set, nothing is done.
package systemd

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// Ready says that the service has started, or has read its configuration again.
func Ready(status string) { notify(daemon.SdNotifyReady + "\nSTATUS=" + status) }

// Reloading says that the service reads its configuration again; Ready ends that.
func Reloading() { notify(daemon.SdNotifyReloading + fmt.Sprintf("\nMONOTONIC_USEC=%d", monotonic())) }

// Stopping says that the service is about to end.
func Stopping() { notify(daemon.SdNotifyStopping) }

// Watch tells the watchdog that the service is well at half of its interval, as long as well returns true, until ctx
// ends. Without a watchdog it returns at once.
func Watch(ctx context.Context, well func() bool) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil || interval <= 0 {
		return
	}
	tick := time.NewTicker(interval / 2)
	defer tick.Stop()
	for {
		if well() {
			notify(daemon.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// notify sends a state. If systemd does not take it, there is nobody else to tell.
func notify(state string) { _, _ = daemon.SdNotify(false, state) }

// monotonic returns the time of CLOCK_MONOTONIC in microseconds.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano() / int64(time.Microsecond)
}
