//go:build linux

package progtest

import (
	"errors"
	"os"
	"time"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/maps/eventmap"
)

// events opens the ring only when a test reads it: a full ring is then one that nobody read.
type events struct {
	ring   *ebpf.Map
	reader *eventmap.Reader
}

func newEvents(tb TB, ring *ebpf.Map) *events {
	e := &events{ring: ring}
	tb.Cleanup(func() {
		if e.reader != nil {
			e.reader.Close()
		}
	})
	return e
}

// Events takes out of the ring what is in it.
func (l *Lab) Events() []eventmap.Event {
	l.tb.Helper()
	if l.events.reader == nil {
		reader, err := eventmap.NewReader(l.events.ring)
		l.check(err)
		// A deadline in the past makes the reader return all that there is, and never wait.
		reader.SetDeadline(time.Unix(1, 0))
		l.events.reader = reader
	}
	var all []eventmap.Event
	for {
		event, err := l.events.reader.Next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return all
		}
		l.check(err)
		all = append(all, event)
	}
}
