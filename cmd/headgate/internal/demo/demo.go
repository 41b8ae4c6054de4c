// Package demo limits real traffic between throwaway network namespaces, shows what becomes of it, and checks each
// number against theory and against what others have counted. It has two acts: packets, and requests.
//
// Nothing of it depends on luck: theory is computed from what was really sent and when, so a machine
// that stalls gets wider bounds, or sends less, but no wrong result.
//
// A demo has its own network namespaces, and its own mount namespace, in which its files and pins are. Its
// processes end with it. So one that is killed leaves nothing behind either.
package demo

import (
	"cmp"
	"io"
	"time"
)

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

	// Program is what runs headgate, with all its commands; this process' own program where empty.
	Program string
}

func (o Options) withDefaults() Options {
	o.Second = cmp.Or(o.Second, time.Second)
	o.Program = cmp.Or(o.Program, "/proc/self/exe")
	if o.Live == nil {
		o.Live = io.Discard
	}
	if o.Terminal == nil {
		o.Terminal = func() (width, height int, ok bool) { return 0, 0, false }
	}
	return o
}
