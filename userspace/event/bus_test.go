package event_test

import (
	"testing"

	"github.com/headgate/headgate/userspace/event"
)

func TestEveryListenerGetsEveryEvent(t *testing.T) {
	var b event.Bus
	b.Publish(event.Event{Name: "before"})
	one, two := b.Listen(), b.Listen()
	b.Publish(event.Event{Kind: event.Attached, Name: "eth1"})
	two.Close()
	two.Close()
	b.Publish(event.Event{Kind: event.Attached, Name: "eth2"})
	for l, want := range map[*event.Listener][]string{one: {"eth1", "eth2"}, two: {"eth1"}} {
		if l == one {
			l.Close()
		}
		var got []string
		for e := range l.Events() {
			got = append(got, e.Name)
		}
		if len(got) != len(want) || got[0] != want[0] {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// A listener that is too slow neither holds up the others nor misses how much it missed.
func TestSlowListener(t *testing.T) {
	var b event.Bus
	slow := b.Listen()
	defer slow.Close()
	const all = 3000
	for range all {
		b.Publish(event.Event{Kind: event.Dropped})
	}
	var got, lost uint64
	for len(slow.Events()) > 0 {
		lost += (<-slow.Events()).Lost
		got++
	}
	b.Publish(event.Event{Kind: event.Dropped})
	b.Publish(event.Event{Kind: event.Dropped})
	lost += (<-slow.Events()).Lost
	if again := (<-slow.Events()).Lost; again != 0 || b.Lost() != lost {
		t.Errorf("told of %d once more; the bus lost %d and told of %d", again, b.Lost(), lost)
	}
	if got+lost != all || lost == 0 {
		t.Errorf("got %d and %d lost of %d", got, lost, all)
	}
}
