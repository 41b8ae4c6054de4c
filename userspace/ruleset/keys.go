package ruleset

import (
	"fmt"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// KeyState is what is known of a key of a zone.
type KeyState struct {
	// Zone is the name of the zone, and Key the key as people read it. Of a key whose text was too long to be kept,
	// Top only has the beginning of its hash: "#" and 46 digits.
	Zone, Key string
	// Parts are the parts of the key as Peek and Reset take them; none of a key that was too long.
	Parts []string
	// Owed is how many thousandths of a request the key is ahead of its rate; with window and sliding how many count,
	// with requests at a time how many are under way.
	Owed uint64
	// ResetAfter is the time until the key is as one never seen; 0 for requests at a time.
	ResetAfter time.Duration

	// Exempt says that the zone does not limit the key. Then, and from Top, the rest is empty.
	Exempt bool
	// Rule is the name of the rule that uses the zone, and DryRun that it only counts.
	Rule   string
	DryRun bool
	// Quota is the rate of the key as it was written; empty for requests at a time.
	Quota string
	// Window is Applied.Window.
	Window time.Duration
	// Result is what the rule's limit says of no more requests: what is left, and until when.
	Result limit.Result
	// Store tells who says so of a key that machines share: Redis, or Local if the store does not answer.
	Store Way
}

// Peek returns what each use of a zone knows of a key, in the order of the rules, and charges nothing. key has a text for
// each part of the zone's key, as Reset takes it.
func (l *Live) Peek(zone string, key []string, now time.Duration) ([]KeyState, error) {
	z, k, err := l.find(zone, key)
	if err != nil {
		return nil, err
	}
	if k.exempt {
		return []KeyState{{Zone: z.name, Key: clientip.Describe(k.text), Parts: partsOf(k.text), Exempt: true}}, nil
	}
	var states []KeyState
	for _, u := range z.uses {
		states = append(states, u.peek(k, now))
	}
	return states, nil
}

// peek returns what the use says of a key.
func (u *use) peek(k key, now time.Duration) KeyState {
	b, charged := &u.bounds[k.quota], keyed.KeyOf(k.text)
	state := KeyState{
		Zone: u.zone.name, Key: clientip.Describe(k.text), Parts: partsOf(k.text),
		Rule: u.rule.name, DryRun: u.rule.group != 0, Quota: b.quota, Window: b.window,
	}
	if u.zone.common != nil {
		if u.zone.peekShared(&state, k, b) {
			return state
		}
		state.Store = Local
	}
	owner := u.zone.storeOf(k.quota).Owner(charged, now)
	state.Owed, state.ResetAfter, state.Result = owner.Owed, owner.Debt, b.limiter.Peek(charged, 0, now)
	return state
}

// storeOf returns the store that has the keys of a quota.
func (z *zone) storeOf(quota int) store {
	if s := z.stores[storeName(z.quotas[quota].Per)]; s != nil {
		return s
	}
	return z.stores[onlyStore]
}

// Reset makes a key of a zone one that was never seen, and reports whether something was known of it. key
// has a text for each part of the zone's key, as people write it: of an ip an address, which is cut to the zone's prefix, or
// a prefix that is no shorter. Constant parts may be left out. It returns an error for a zone or a number of parts that there is not, and for a zone
// of requests at a time, as those under way end by themselves.
func (l *Live) Reset(zone string, key []string) (bool, error) {
	z, k, err := l.find(zone, key)
	if err != nil {
		return false, err
	}
	if z.algorithm == config.Concurrent {
		return false, fmt.Errorf("zone %q: counts requests that are under way; they end by themselves", zone)
	}
	known := false
	for _, s := range z.stores {
		known = s.Forget(keyed.KeyOf(k.text)) || known
	}
	if z.common == nil {
		return known, nil
	}
	there, err := z.forgetShared(k)
	return known || there, err
}

// Top returns the keys of a zone that owe most, at most n, the first the most. It looks at all keys of the zone, some
// thousand in one go, so that others wait no longer than for those. With sketch it does not know the keys that owe little.
// Of a zone that machines share it returns an error: no store keeps its keys in that order.
func (l *Live) Top(zone string, n int, now time.Duration) ([]KeyState, error) {
	z, err := l.zone(zone)
	if err != nil {
		return nil, err
	}
	if z.common != nil {
		return nil, fmt.Errorf("zone %q: its keys are in Redis, which does not keep them by what they owe; ask for one of them", zone)
	}
	var most keyed.Most[keyed.Key]
	for _, s := range z.stores {
		for _, o := range s.Top(n, now) {
			most.Add(n, o)
		}
	}
	var states []KeyState
	for _, o := range most.Sorted() {
		k := KeyState{Zone: z.name, Key: describe(o.Key), Owed: o.Owed, ResetAfter: o.Debt}
		if text, whole := o.Key.Text(); whole {
			k.Parts = partsOf(text)
		}
		states = append(states, k)
	}
	return states, nil
}

// partsOf returns the parts of a key as people write them.
func partsOf(text string) (all []string) {
	parts, _ := clientip.Parts(text)
	for _, p := range parts {
		if p.IsPrefix {
			all = append(all, p.String())
		} else {
			all = append(all, strings.Clone(p.Text))
		}
	}
	return all
}

// describe returns a key as people read it.
func describe(k keyed.Key) string {
	text, whole := k.Text()
	if !whole {
		return "#" + text
	}
	return clientip.Describe(text)
}

// zone returns the zone of that name.
func (l *Live) zone(name string) (*zone, error) {
	set := l.set.Load()
	if z := set.zone(name); z != nil {
		return z, nil
	}
	var names []string
	for _, z := range set.zones {
		names = append(names, z.name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("zone %q: there are no zones", name)
	}
	return nil, fmt.Errorf("zone %q: there is none of that name; use %s", name, strings.Join(names, ", "))
}
