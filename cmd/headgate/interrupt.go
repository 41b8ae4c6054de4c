package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that ends at the first signal that asks to stop; a second one does
// not ask, but for SIGHUP, which systemd sends right after SIGTERM where a login session ends. It is
// for commands with something to tidy up. All others simply end.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	release := context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	return ctx, func() {
		release() // or it would take back what somebody else asks to be told later
		stop()
	}
}

// uninterrupted holds back the first signal that asks to stop until it is released: a change that
// has begun, such as a long list of rules, is made as a whole.
func uninterrupted() (release context.CancelFunc) {
	_, release = interruptible(context.Background())
	return release
}
