package resty

import (
	"strconv"
	"testing"
)

// Room that a key leaves is used again, in any order, so that the store does not grow.
func TestRoomIsUsedAgain(t *testing.T) {
	const most = 8
	s, err := newStore(Options{MaxKeys: most})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 50 {
		for i := range most {
			s.set(strconv.Itoa(round*most+i), record{n: int64(i)}, owesConn)
		}
		for i := range most {
			key := i * 5 % most
			if r, found := s.get(strconv.Itoa(round*most + key)); !found || r.n != int64(key) {
				t.Fatalf("round %d: key %d has %v, %v", round, key, r, found)
			}
			s.remove(strconv.Itoa(round*most + key))
		}
	}
	s.remove("unknown")
	if c := s.Counters(); len(s.entries) > most+1 || c.Keys != 0 || c.EvictedLive != 0 {
		t.Errorf("%d entries, %+v", len(s.entries), c)
	}
}
