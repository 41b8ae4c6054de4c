// Command headgate limits the traffic of every source at the network card and shows what happens.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// The first signal asks to stop, a second one does not ask.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, newEnv(), os.Args[1:]))
}
