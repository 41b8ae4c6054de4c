package ruleset

import (
	"errors"
	"fmt"
	"net/netip"
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
	owner := u.zone.storeOf(k.quota).Owner(charged, now)
	return KeyState{
		Zone: u.zone.name, Key: clientip.Describe(k.text), Parts: partsOf(k.text), Owed: owner.Owed, ResetAfter: owner.Debt,
		Rule: u.rule.name, DryRun: u.rule.group != 0, Quota: b.quota, Window: b.window,
		Result: b.limiter.Peek(charged, 0, now),
	}
}

// storeOf returns the store that has the keys of a quota.
func (z *zone) storeOf(quota int) store {
	if s := z.stores[storeName(z.quotas[quota].Per)]; s != nil {
		return s
	}
	return z.stores[onlyStore]
}

// Reset makes a key of a zone one that was never seen, and reports whether something was known of it. key
// has a text for each part of the zone's key, as people write it: of an ip an address or a prefix, which is cut to the zone's
// prefix. Constant parts may be left out. It returns an error for a zone or a number of parts that there is not, and for a zone
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
	return known, nil
}

// Top returns the keys of a zone that owe most, at most n, the first the most. It looks at all keys of the zone, some
// thousand in one go, so that others wait no longer than for those. With sketch it does not know the keys that owe little.
func (l *Live) Top(zone string, n int, now time.Duration) ([]KeyState, error) {
	z, err := l.zone(zone)
	if err != nil {
		return nil, err
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

// key is a key of a zone as it was asked for.
type key struct {
	text   string // as it is charged
	quota  int    // of which quota of the zone
	exempt bool
}

// find returns a zone and the key in it that people write as texts.
func (l *Live) find(zone string, written []string) (*zone, key, error) {
	z, err := l.zone(zone)
	if err != nil {
		return nil, key{}, err
	}
	k, err := z.key(written)
	if err != nil {
		return nil, key{}, fmt.Errorf("zone %q: %w", zone, err)
	}
	return z, k, nil
}

// key returns the key that people write as texts.
func (z *zone) key(written []string) (k key, err error) {
	written, err = z.complete(written)
	if err != nil {
		return k, err
	}
	var client netip.Addr
	texts := make([]string, len(written))
	for i := range z.parts {
		p := &z.parts[i]
		switch {
		case p.take == nil:
			client, err = parseAddr(written[i])
		case written[i] == "" && p.optional:
			err = errors.New("is empty; requests without it are not limited")
		default:
			texts[i] = p.canonical(written[i])
		}
		if err != nil {
			return k, fmt.Errorf("part %d of the key, %s, %w", i+1, p, err)
		}
	}
	k.text = string(appendKey(nil, z.parts, texts, z.client(client)))
	n, _ := z.exempt.find(texts, client, nil)
	k.exempt = n >= 0
	if n, _ := z.overrides.find(texts, client, nil); n >= 0 {
		k.quota = z.quotaOf[n]
	}
	return k, nil
}

// complete returns written with the constant parts of the key, which may have been left out.
func (z *zone) complete(written []string) ([]string, error) {
	if len(written) == len(z.parts) {
		return written, nil
	}
	var all, names []string
	rest := written
	for i := range z.parts {
		p := &z.parts[i]
		names = append(names, p.String())
		switch {
		case p.kind == config.KeyConst:
			all = append(all, p.name)
		case len(rest) > 0:
			all, rest = append(all, rest[0]), rest[1:]
		}
	}
	if len(all) != len(z.parts) || len(rest) > 0 {
		return nil, fmt.Errorf("its key has %d parts (%s), and not %d", len(z.parts), strings.Join(names, ", "), len(written))
	}
	return all, nil
}

// String returns the part as the configuration has it.
func (p *part) String() string {
	if p.name == "" {
		return string(p.kind)
	}
	return string(p.kind) + ":" + p.name
}

// parseAddr reads an address, or a prefix as keys are shown with.
func parseAddr(s string) (netip.Addr, error) {
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return prefix.Addr().Unmap(), nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("is %q, which is no address; write 192.0.2.1 or 2001:db8::1", s)
	}
	return addr.Unmap().WithZone(""), nil
}
