// Command headgate limits the traffic of every source at the network card and shows what happens.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop, a second one does not ask.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, newEnv(), os.Args[1:]))
}
