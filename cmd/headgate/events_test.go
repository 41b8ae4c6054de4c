package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/maps/eventmap"
	"github.com/headgate/headgate/maps/policymap"
)

// fakeReader has some events, then waits until it is closed or returns an error.
type fakeReader struct {
	events chan eventmap.Event
	end    error
	closed chan struct{}
	closes int
}

func newFakeReader(end error, events ...eventmap.Event) *fakeReader {
	r := &fakeReader{events: make(chan eventmap.Event, len(events)), end: end, closed: make(chan struct{})}
	for _, e := range events {
		r.events <- e
	}
	return r
}

func (r *fakeReader) Next() (eventmap.Event, error) {
	select {
	case e := <-r.events:
		return e, nil
	default:
	}
	if r.end != nil {
		return eventmap.Event{}, fmt.Errorf("read an event: %w", r.end)
	}
	<-r.closed
	return eventmap.Event{}, eventmap.ErrClosed
}

func (r *fakeReader) Close() error {
	r.closes++
	close(r.closed)
	return nil
}

func TestFollow(t *testing.T) {
	three := []eventmap.Event{{Length: 1}, {Length: 2}, {Length: 3}}
	tests := []struct {
		name  string
		end   error
		count int
		want  int
		err   error
	}{
		{"until interrupted", nil, 0, 3, nil},
		{"until enough", nil, 2, 2, nil},
		{"until time is over", os.ErrDeadlineExceeded, 0, 3, nil},
		{"until it fails", errBroken, 0, 3, errBroken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				reader := newFakeReader(tt.end, three...)
				var got []uint32
				err := follow(ctx, reader, tt.count, eventPrinter{
					begin: func() error { return nil },
					write: func(e eventmap.Event) error { got = append(got, e.Length); return nil },
				})
				if !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
				if diff := cmp.Diff([]uint32{1, 2, 3}[:tt.want], got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if reader.closes != 1 {
					t.Errorf("closed %d times", reader.closes)
				}
			})
		})
	}
}

// What happened before is left out, and does not count.
func TestFreshReader(t *testing.T) {
	reader := newFakeReader(nil, eventmap.Event{Time: 1}, eventmap.Event{Time: 9}, eventmap.Event{Time: 10}, eventmap.Event{Time: 11})
	var got []uint64
	err := follow(t.Context(), freshReader{reader, 10}, 2, eventPrinter{
		begin: func() error { return nil },
		write: func(e eventmap.Event) error { got = append(got, e.Time); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{10, 11}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFollowWriteErrors(t *testing.T) {
	fine := func() error { return nil }
	broken := func() error { return errBroken }
	for name, out := range map[string]eventPrinter{
		"heading": {begin: broken},
		"event":   {begin: fine, write: func(eventmap.Event) error { return errBroken }},
	} {
		reader := newFakeReader(nil, eventmap.Event{})
		if err := follow(t.Context(), reader, 0, out); !errors.Is(err, errBroken) || reader.closes != 1 {
			t.Errorf("%s: error %v, closed %d times", name, err, reader.closes)
		}
	}
}

func TestEventView(t *testing.T) {
	names, err := newEventNames(fakeConfigs{current: testConfig(t)}, func() uint64 { return testBoot })
	if err != nil {
		t.Fatal(err)
	}
	names.interfaces[7] = "eth7"
	got := names.view(eventmap.Event{
		Time: testBoot - uint64(time.Second), Suppressed: 9, Source: netip.MustParseAddr("203.0.113.7"),
		SourcePort: 4711, DestPort: 53, Proto: 17, Length: 84, Ifindex: 7, PolicyID: 2,
		Verdict: bpf.VerdictDrop, Reason: bpf.ReasonOverPacketLimit,
	}, testClock())
	want := render.Event{
		Time: testNow().Add(-time.Second), Source: netip.MustParseAddr("203.0.113.7"), SourcePort: 4711,
		DestPort: 53, Protocol: "udp", Length: 84, Verdict: "drop", Reason: "over_packet_limit",
		Policy: "dns", Interface: "eth7", Suppressed: 9,
	}
	addrs := cmpopts.EquateComparable(netip.Addr{})
	if diff := cmp.Diff(want, got, addrs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	malformed := names.view(eventmap.Event{Verdict: bpf.VerdictDrop, Reason: bpf.ReasonMalformed, Ifindex: -1}, testClock())
	if malformed.Protocol != "" || malformed.Policy != "" || malformed.Interface != "#-1" {
		t.Errorf("malformed: %+v", malformed)
	}
}

// A policy that is made while events are read has its name in the next one.
func TestEventNamesFollowChanges(t *testing.T) {
	m := &fakeConfigs{current: policymap.NewConfig()}
	names, err := newEventNames(m, func() uint64 { return testBoot })
	if err != nil {
		t.Fatal(err)
	}
	if got := names.policy(2); got != "#2" {
		t.Errorf("before: %s", got)
	}
	m.current = testConfig(t)
	if got := names.policy(2); got != "dns" {
		t.Errorf("after: %s", got)
	}
	if got := names.policy(0); got != "" {
		t.Errorf("no policy: %s", got)
	}
}
