package ruleset

import (
	"fmt"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
)

// Set is the rules of an http section and the states of its zones. All methods
// may be called at the same time.
type Set struct {
	clients *clientip.Resolver
	allow   values // of clients, as values of a key that is an ip
	rules   []*rule
	zones   []*zone
	life    *life
}

// New returns the rules of h for this machine alone, every key being one never seen. Zones of store redis are kept in memory: those
// who have a Fleet call NewLive. It returns an error that names the rule or zone, for a limit that cannot be kept, a key that
// cannot be made, or a field whose header anybody could forge.
func New(h config.HTTP) (*Set, error) { return newSet(h, Fleet{}, 0, nil) }

// NewSerial is New for decisions of one goroutine that can be repeated: which keys a full zone forgets depends
// on the requests alone, and not on a seed as well; but for algorithm sketch.
func NewSerial(h config.HTTP) (*Set, error) { return newSet(h, Fleet{}, 1, nil) }

// newSet returns the rules of h, whose zones have so many locks, or as many as suit them if 0. If was is not nil, they are
// to take its place, and share with it the states of keys and what was counted.
func newSet(h config.HTTP, f Fleet, shards int, was *Set) (*Set, error) {
	s := &Set{allow: values{parts: []part{{kind: config.KeyIP}}}, life: newLife()}
	if was != nil {
		s.life = was.life
	}
	var err error
	s.clients, err = clientip.New(clientip.Options{
		Header:         h.ClientIP.Header,
		TrustedProxies: h.ClientIP.TrustedProxies,
		TrustUnix:      h.ClientIP.TrustUnix,
		Hops:           h.ClientIP.Hops,
		IPv4Prefix:     h.ClientIP.IPv4Prefix,
		IPv6Prefix:     h.ClientIP.IPv6Prefix,
	})
	if err != nil {
		return nil, err
	}
	for i, prefix := range h.Allow {
		if err := s.allow.add(config.Value{{Prefix: prefix}}, i); err != nil {
			return nil, fmt.Errorf("allow: %w", err)
		}
	}
	if err := s.addZones(h, shards, was); err != nil {
		return nil, err
	}
	if err := s.share(h, f); err != nil {
		return nil, err
	}
	if err := s.addRules(h.Rules); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Set) addZones(h config.HTTP, shards int, was *Set) error {
	for _, c := range h.Zones {
		if s.zone(c.Name) != nil {
			return fmt.Errorf("zone %q: two have the name; give one another", c.Name)
		}
		z, err := newZone(c, h.ClientIP)
		if err != nil {
			return err
		}
		z.keys.Shards = shards
		z.record = s.life.zone(z.name)
		z.succeed(was.zone(z.name))
		s.zones = append(s.zones, z)
	}
	return nil
}

// addRules adds the rules, and limiters to the zones that they use.
func (s *Set) addRules(rules []config.Rule) error {
	times := map[string]int{}
	for i, c := range rules {
		name := nameOf(c, i)
		r, err := newRule(c, i, s.zones, s.life.rule(name, times[name]))
		times[name]++
		if err != nil {
			return err
		}
		s.rules = append(s.rules, r)
	}
	for _, z := range s.zones {
		if err := z.bind(); err != nil {
			return err
		}
	}
	return nil
}

// Decide decides about r at now, and charges it to all of its limits if they
// let it pass. now is the time since an instant that the caller fixes once.
//
// The caller calls Release, or Free, when the response has ended, whatever the
// decision was.
func (s *Set) Decide(r *Request, now time.Duration) *Decision {
	d, _ := s.decide(r, now, false)
	return d
}

// decide is Decide. It reports false, and has done nothing, if rules that take the place of s have begun to decide about one
// of the keys. If the store has failed, it is not asked.
func (s *Set) decide(r *Request, now time.Duration, failed bool) (*Decision, bool) {
	d := s.look(r)
	if d.sharing.asks() {
		d.askShared(now, failed)
	} else {
		d.ask(now)
	}
	if !d.Allowed && keyed.Superseded(d.charges) {
		return d, false
	}
	d.conclude()
	s.count(d)
	return d, true
}

// Explain returns what Decide would, and changes and counts nothing. Where it refuses, limits that
// have nothing against the request are shown as if it were charged to them.
func (s *Set) Explain(r *Request, now time.Duration) *Decision {
	d := s.look(r)
	d.peek(now)
	d.conclude()
	return d
}

// look returns a decision that knows which limits to ask.
func (s *Set) look(r *Request) *Decision {
	d, _ := s.life.pool.Get().(*Decision)
	if d == nil {
		d = new(Decision)
	}
	d.life = s.life
	client := s.clients.Client(r.Peer, r.Header)
	d.Client, d.ClientFrom, d.ClientHop = client.Addr, client.Reason, client.Hop
	d.view = view{r, canonicalHost(r.Host), canonicalPath(r.Path), client.Addr}
	if d.exempt = s.allows(d); !d.exempt {
		d.applyAll(s.rules)
	}
	d.forget()
	return d
}

// allows reports whether no rule is asked about the client.
func (s *Set) allows(d *Decision) bool {
	if len(s.allow.tables) == 0 {
		return false
	}
	var n int
	n, d.buf = s.allow.find(nil, d.Client, d.buf)
	return n >= 0
}

// zone returns the zone of that name, nil if there is none.
func (s *Set) zone(name string) *zone {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.zones, func(z *zone) bool { return z.name == name })
	if i < 0 {
		return nil
	}
	return s.zones[i]
}
