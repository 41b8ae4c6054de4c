package ruleset_test

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/shared"
)

// errDown is what a store says that does not answer.
var errDown = errors.New("down")

// fakeStore is a shared.Store at one instant: what is charged stays until it is given back. It checks what a store relies on.
type fakeStore struct {
	t      testing.TB
	during func() // called in each Take, before it decides

	mu     sync.Mutex
	down   bool
	lies   bool // it says the contrary of the results
	used   map[fakeKey]uint64
	tags   map[fakeKey]string
	leases map[string]fakeKey // of those that hold
	given  int                // leases so far
	calls  []fakeCall
	counts struct{ takes, peeks, returns, releases int }
}

type fakeKey struct{ zone, key string }

// fakeCall is a Take.
type fakeCall struct {
	tag   string
	spent time.Duration
	zones []string
	limit []shared.Limit
	batch []uint64
}

func newFakeStore(t testing.TB) *fakeStore {
	return &fakeStore{t: t, used: map[fakeKey]uint64{}, tags: map[fakeKey]string{}, leases: map[string]fakeKey{}}
}

func (s *fakeStore) set(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func keyOf(c *shared.Charge) fakeKey { return fakeKey{c.Zone, string([]byte(c.Key))} }

// look sets a result to what it is when so many units are asked.
func (s *fakeStore) look(c *shared.Charge, n uint64) {
	most := c.Limit.Count
	if c.Limit.Algorithm == config.Leaky {
		most = c.Limit.Burst + 1
	}
	free := most - min(s.used[keyOf(c)], most)
	c.Known = true
	c.Result = limit.Result{Allowed: n <= free, Limit: most, Remaining: free, Excess: 1000 * (most - free + n - 1)}
	if c.Result.Allowed {
		c.Result.Remaining -= n
	} else {
		c.Result.RetryAfter = c.Limit.Per
	}
}

// check reports errors of who calls.
func (s *fakeStore) check(tag string, charges []shared.Charge) {
	if len(charges) == 0 {
		s.t.Error("a call without charges")
	}
	for i := range charges {
		c := &charges[i]
		k := keyOf(c)
		if was, has := s.tags[k]; has && was != tag {
			s.t.Errorf("key %q has the tag %q, and had %q", k, tag, was)
		}
		s.tags[k] = string([]byte(tag))
		if c.N == 0 || c.Zone == "" || c.Limit.Count == 0 {
			s.t.Errorf("charge %+v", c)
		}
	}
}

func (s *fakeStore) Take(tag string, charges []shared.Charge, spent time.Duration) (bool, error) {
	if s.during != nil {
		s.during()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.takes++
	if s.down {
		return false, errDown
	}
	s.check(tag, charges)
	call := fakeCall{tag: string([]byte(tag)), spent: spent}
	passes := map[int]bool{0: true}
	for i := range charges {
		c := &charges[i]
		s.look(c, c.N)
		if was, has := passes[c.DryRun]; !has || was {
			passes[c.DryRun] = c.Result.Allowed
		}
		call.zones, call.limit, call.batch = append(call.zones, c.Zone), append(call.limit, c.Limit), append(call.batch, c.Batch)
	}
	s.calls = append(s.calls, call)
	for k, n := range s.charged(charges, func(c *shared.Charge) bool { return passes[0] && passes[c.DryRun] }) {
		s.used[k] += n
	}
	for i := range charges {
		if c := &charges[i]; c.Limit.Algorithm == config.Concurrent && passes[0] && passes[c.DryRun] {
			s.given++
			c.Lease = fmt.Sprint("lease ", s.given)
			s.leases[c.Lease] = keyOf(c)
		}
	}
	return passes[0] != s.lies, nil
}

// charged returns what each key is charged, once for the largest of the charges that are made, enforced ones before others.
func (s *fakeStore) charged(charges []shared.Charge, made func(*shared.Charge) bool) map[fakeKey]uint64 {
	units, enforced := map[fakeKey]uint64{}, map[fakeKey]bool{}
	for i := range charges {
		c := &charges[i]
		k := keyOf(c)
		switch {
		case !made(c) || enforced[k] && c.DryRun != 0:
		case c.DryRun == 0 && !enforced[k]:
			enforced[k], units[k] = true, c.N
		default:
			units[k] = max(units[k], c.N)
		}
	}
	return units
}

func (s *fakeStore) Peek(tag string, charges []shared.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.peeks++
	if s.down {
		return errDown
	}
	s.check(tag, charges)
	for i := range charges {
		s.look(&charges[i], charges[i].N)
	}
	return nil
}

func (s *fakeStore) Return(tag string, charges []shared.Charge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.returns++
	s.check(tag, charges)
	for k, n := range s.charged(charges, func(*shared.Charge) bool { return true }) {
		if s.used[k] < n {
			s.t.Errorf("key %q: %d returned of %d", k, n, s.used[k])
		}
		s.used[k] -= min(n, s.used[k])
	}
	for i := range charges {
		delete(s.leases, charges[i].Lease)
	}
}

func (s *fakeStore) Release(tag string, charges []shared.Charge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.releases++
	s.check(tag, charges)
	for i := range charges {
		c := &charges[i]
		if k, holds := s.leases[c.Lease]; !holds || k != keyOf(c) {
			s.t.Errorf("%q of %q is released, and does not hold", c.Lease, k)
			continue
		}
		delete(s.leases, c.Lease)
		s.used[keyOf(c)] -= c.N
	}
}

func (s *fakeStore) Forget(tag, zone, key string, _ shared.Limit) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return false, errDown
	}
	k := fakeKey{zone, key}
	if was, has := s.tags[k]; has && was != tag {
		s.t.Errorf("key %q is forgotten by the tag %q, and had %q", k, tag, was)
	}
	_, has := s.used[k]
	delete(s.used, k)
	return has, nil
}

// of returns what all keys of a zone were charged.
func (s *fakeStore) of(zone string) (sum uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, n := range s.used {
		if k.zone == zone {
			sum += n
		}
	}
	return sum
}

// machine returns rules of a file that share a store with members machines, itself one of them. The file has the http section only.
func machine(t testing.TB, file string, s shared.Store, members int) *ruleset.Live {
	t.Helper()
	l, err := ruleset.NewLive(sharing(t, file), ruleset.Fleet{Store: s, Members: members})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sharing returns the http section of a file, which may have zones in Redis.
func sharing(t testing.TB, file string) config.HTTP {
	t.Helper()
	return section(t, "redis: {addrs: \"127.0.0.1:6379\"}\n"+file)
}

// decide decides about a request, which ends at once, and returns what is kept of the decision.
func decide(l *ruleset.Live, r *ruleset.Request) (allowed bool, way ruleset.Way) {
	d := l.Decide(r, start)
	defer d.Free(start)
	return d.Allowed, d.Store
}

// client returns a request of the n-th client.
func client(n int, path string) *ruleset.Request {
	r := get(path)
	r.Peer = netip.AddrFrom4([4]byte{192, 0, 2, byte(n)})
	return r
}

// nothingStore answers at once that all is well, or that it is down.
type nothingStore struct {
	shared.Store
	err error
}

func (s *nothingStore) Take(_ string, charges []shared.Charge, _ time.Duration) (bool, error) {
	for i := range charges {
		charges[i].Known, charges[i].Result.Allowed = true, true
	}
	return true, s.err
}
