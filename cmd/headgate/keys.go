package main

import (
	"context"
	"io"
)

// readKeys returns the keys that are pressed on the terminal that in is, each as it is pressed,
// until ctx ends; none where in is no terminal. restore makes the terminal as it was.
func readKeys(ctx context.Context, in io.Reader) (keys <-chan byte, restore func()) {
	restore, ok := keyMode(in)
	if !ok {
		return nil, func() {}
	}
	pressed := make(chan byte)
	go func() {
		defer close(pressed)
		var key [1]byte
		for {
			// A read from a terminal cannot be called off; the process ends with it.
			if _, err := in.Read(key[:]); err != nil {
				return
			}
			select {
			case pressed <- key[0]:
			case <-ctx.Done():
				return
			}
		}
	}()
	return pressed, restore
}
