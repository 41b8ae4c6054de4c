package port_test

import (
	"testing"

	"github.com/headgate/headgate/test/port"
)

// Nobody gets a port twice at the same time.
func TestReserve(t *testing.T) {
	seen := map[int]bool{}
	for range 300 {
		p := port.Reserve(t)
		if seen[p] {
			t.Errorf("port %d again", p)
		}
		seen[p] = true
	}
}
