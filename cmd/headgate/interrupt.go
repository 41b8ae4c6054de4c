package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interruptible returns a context that ends at the first signal that asks to stop; a second one of its
// kind does not ask, but for SIGHUP. Where a login session ends, systemd sends SIGHUP right after
// SIGTERM, and a process that gets both at once gets SIGHUP first. It is for commands with something to
// tidy up. All others simply end.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(ctx)
	asked, released := make(chan os.Signal, len(signals)), make(chan struct{})
	signal.Notify(asked, signals...)
	go func() {
		for {
			select {
			case s := <-asked:
				cancel()
				if s != syscall.SIGHUP {
					signal.Reset(s)
				}
			case <-released:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(released) // or it would take back what somebody else asks to be told later
		signal.Stop(asked)
		cancel()
	})
}

// uninterrupted holds back the first signal that asks to stop until it is released: a change that
// has begun, such as a long list of rules, is made as a whole.
func uninterrupted() (release context.CancelFunc) {
	_, release = interruptible(context.Background())
	return release
}
