package fleet

import (
	"errors"
	"net/netip"
	"testing"
	"time"
)

// TestLaterIsSo shows that what was said later of a slot is so, in whatever order it comes.
func TestLaterIsSo(t *testing.T) {
	v := newView("a")
	s := slot{prefix: netip.MustParsePrefix("192.0.2.1/32")}
	for _, step := range []struct {
		at   int64
		news bool
	}{{5, true}, {5, false}, {3, false}, {6, true}} {
		if got := v.merge(&record{slot: s, at: step.at}); got != step.news {
			t.Errorf("at %d: news %v", step.at, got)
		}
	}
	if got := v.known(s).at; got != 6 {
		t.Errorf("known is that of %d", got)
	}
}

// TestCensus shows that a number that was seen before Redis went away counts for nothing when it is back.
func TestCensus(t *testing.T) {
	var r roll
	now := time.Now()
	r.census.count(3, now)
	r.census.count(2, now.Add(time.Second))
	r.note(head{}, nil, errors.New("away"))
	if r.census.count(1, now.Add(time.Hour)) || r.census.n != 3 {
		t.Errorf("%d members by the first look", r.census.n)
	}
	if r.census.count(1, now.Add(time.Hour+goneAfter-1)) || !r.census.count(1, now.Add(time.Hour+goneAfter)) {
		t.Error("not after ten seconds")
	}
}
