// Package demo limits real packets between two throwaway network namespaces, shows what becomes of
// them, and checks each number against theory.
//
// Nothing of it depends on luck: theory is computed from what was really sent and when, so a machine
// that stalls gets wider bounds, or sends less, but no wrong result. Three parties have to agree on
// each number: theory, a raw socket behind the limiter, and headgate's own counters.
//
// A demo has its own network namespaces and its own mount namespace, in which the pins are. So one
// that is killed leaves nothing behind either.
package demo

import (
	"cmp"
	"io"
	"time"
)

// Interface is what the demo attaches to. It exists in a network namespace of the demo only.
const Interface = "demo1"

// Options say how to run. The zero value is silent.
type Options struct {
	// Live is shown what happens while it happens; nil for nothing.
	Live io.Writer

	// Terminal returns the size of the terminal that Live is, if it is one. There the numbers
	// change in place; elsewhere each phase is written once, when it is over. nil is no terminal.
	Terminal func() (width, height int, ok bool)

	// Second is how long a second of the script takes, a second where 0. The limits are what they
	// are, so theory has other numbers in a shorter demo, but is as strict.
	Second time.Duration
}

func (o Options) withDefaults() Options {
	o.Second = cmp.Or(o.Second, time.Second)
	if o.Live == nil {
		o.Live = io.Discard
	}
	if o.Terminal == nil {
		o.Terminal = func() (width, height int, ok bool) { return 0, 0, false }
	}
	return o
}
