package redisstore

import (
	"hash/maphash"
	"sync"
	"time"
)

// id stands for a key of Redis in this process. It is 128 bits that nobody outside knows the seeds of: no two keys have the same.
type id [2]uint64

// seeds make ids.
type seeds [2]maphash.Seed

func newSeeds() seeds { return seeds{maphash.MakeSeed(), maphash.MakeSeed()} }

func (s *seeds) of(name []byte) id { return id{maphash.Bytes(s[0], name), maphash.Bytes(s[1], name)} }

const (
	parts = 64
	// remembered is how many keys a memory has at most.
	remembered = 64 << 10
)

// lasting is something that is worth no memory after a time.
type lasting interface{ until() time.Duration }

// memory is what this machine knows of keys, as far as it is worth it. All methods may be called at the same time.
type memory[V lasting] struct{ parts [parts]part[V] }

type part[V lasting] struct {
	sync.Mutex
	of map[id]V
}

func (m *memory[V]) part(k id) *part[V] { return &m.parts[k[0]%parts] }

// get returns what is known of a key.
func (m *memory[V]) get(k id) (V, bool) {
	p := m.part(k)
	p.Lock()
	defer p.Unlock()
	v, ok := p.of[k]
	return v, ok
}

// put remembers v of a key in place of what was known.
func (m *memory[V]) put(k id, v V, now time.Duration) {
	p := m.part(k)
	p.Lock()
	defer p.Unlock()
	p.put(k, v, now)
}

// add remembers v of a key if nothing is known of it, and returns what is.
func (m *memory[V]) add(k id, v V, now time.Duration) V {
	p := m.part(k)
	p.Lock()
	defer p.Unlock()
	if known, ok := p.of[k]; ok {
		return known
	}
	p.put(k, v, now)
	return v
}

// drop forgets a key.
func (m *memory[V]) drop(k id) {
	p := m.part(k)
	p.Lock()
	defer p.Unlock()
	delete(p.of, k)
}

func (p *part[V]) put(k id, v V, now time.Duration) {
	if p.of == nil {
		p.of = make(map[id]V)
	}
	if _, ok := p.of[k]; !ok && len(p.of) >= remembered/parts {
		delete(p.of, p.worst(now))
	}
	p.of[k] = v
}

// worst returns of a few keys, which the map chooses, one that is of no more use, or the first that will be.
func (p *part[V]) worst(now time.Duration) (worst id) {
	looked, least := 0, time.Duration(0)
	for k, v := range p.of {
		if until := v.until(); looked == 0 || until < least {
			worst, least = k, until
		}
		if looked++; looked == 8 || least <= now {
			break
		}
	}
	return worst
}
