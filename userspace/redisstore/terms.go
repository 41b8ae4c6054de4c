package redisstore

import (
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/shared"
	"github.com/headgate/headgate/userspace/shared/bounds"
)

// kind is an algorithm as the scripts name it.
type kind byte

const (
	leaky      kind = 'l'
	window     kind = 'w'
	sliding    kind = 's'
	concurrent kind = 'c'
)

// terms is a limit in the numbers that scripts count in. All are below 2^53. It is comparable, and has no pointers.
type terms struct {
	kind kind
	most uint64 // units at one instant
	// p is what a unit costs and q what drains in a µs, of leaky, in ticks of which both are whole; r is the largest debt, and
	// prompt that of what goes on at once. Of windows p is how many units are in one, and q how many µs. Of concurrent p is how many
	// there are at a time.
	p, q, r, prompt uint64
}

// alike reports whether states of both are counted in the same numbers. Rules that use one zone may allow more or less of them at one
// instant.
func (t *terms) alike(o terms) bool { return t.kind == o.kind && t.p == o.p && t.q == o.q }

// termsOf returns an error where Limit.Check does.
func termsOf(l shared.Limit) (terms, error) {
	if err := l.Check(); err != nil {
		return terms{}, err
	}
	switch l.Algorithm {
	case config.Leaky:
		cost, drain := bounds.Ticks(l.Count, l.Per)
		most := l.Burst + 1
		return terms{kind: leaky, most: most, p: cost, q: drain, r: most * cost, prompt: (l.Delay + 1) * cost}, nil
	case config.Concurrent:
		return terms{kind: concurrent, most: l.Count, p: l.Count, q: 1}, nil
	default:
		t := terms{kind: window, most: l.Count, p: l.Count, q: uint64(l.Per / time.Microsecond)}
		if l.Algorithm == config.Sliding {
			t.kind = sliding
		}
		return t, nil
	}
}
