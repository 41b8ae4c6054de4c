package replay

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// tally is a Summary under way.
type tally struct {
	lines            Lines
	requests         uint64
	first, last      time.Duration
	previous         time.Duration
	back             uint64
	furthestBack     time.Duration
	enforced, dryRun effect
	keys             *frequent
	tookUnknown      uint64
	top              int
	key              []byte // to build keys in
}

func newTally(h config.HTTP, top int) *tally {
	return &tally{
		enforced: newEffect(h.ClientIP, top), dryRun: newEffect(h.ClientIP, top), keys: newFrequent(), top: top,
	}
}

// add counts what became of a request.
func (t *tally) add(r *Request, d *ruleset.Decision) {
	t.time(r.At)
	t.requests++
	t.enforced.add(d.Client, Enforced(d))
	t.dryRun.add(d.Client, DryRun(d))
	if r.Took == Unknown && atATime(d) {
		t.tookUnknown++
	}
	for i := 0; i < len(d.Limits) && t.top > 0; i++ {
		t.addKey(d.Limits, i)
	}
}

func (t *tally) time(now time.Duration) {
	if t.requests == 0 {
		t.first, t.last, t.previous = now, now, now
	}
	if now < t.previous {
		t.back++
		t.furthestBack = max(t.furthestBack, t.last-now)
	}
	t.first, t.last, t.previous = min(t.first, now), max(t.last, now), now
}

// addKey counts the key of a limit, and once where several limits are of the same zone, and thus of the same key.
func (t *tally) addKey(limits []ruleset.Applied, i int) {
	zone := limits[i].Zone
	for j := range i {
		if limits[j].Zone == zone {
			return
		}
	}
	over := false
	for j := i; j < len(limits); j++ {
		over = over || limits[j].Zone == zone && !limits[j].Result.Allowed
	}
	t.key = limits[i].AppendKey(clientip.AppendPart(t.key[:0], zone))
	t.keys.add(t.key, over)
}

func (t *tally) summary() *Summary {
	return &Summary{
		Lines: t.lines, Requests: t.requests,
		First: t.first, Last: t.last, Back: t.back, FurthestBack: t.furthestBack,
		Enforced: t.enforced.effect(), DryRun: t.dryRun.effect(),
		Keys: topKeys(t.keys, t.top), TookUnknown: t.tookUnknown,
	}
}

func topKeys(f *frequent, top int) []Key {
	var keys []Key
	for _, c := range f.top(top) {
		parts, _ := clientip.Parts(c.key)
		zone := parts[0].Text
		key := c.key[len(clientip.AppendPart(nil, zone)):]
		keys = append(keys, Key{zone, clientip.Describe(key), Counted{c.count, c.tooMany}, c.over})
	}
	return keys
}

// mostDistinct bounds the clients that are told apart.
const mostDistinct = 1 << 18

// effect is an Effect under way.
type effect struct {
	ip config.ClientIP
	Effect
	distinct map[netip.Prefix]struct{}
	more     bool
	clients  *frequent
	top      int
	key      []byte
}

func newEffect(ip config.ClientIP, top int) effect {
	return effect{ip: ip, top: top, distinct: make(map[netip.Prefix]struct{}), clients: newFrequent()}
}

func (e *effect) add(client netip.Addr, v Verdict) {
	if v.By == nil {
		return
	}
	by := e.by(v.By)
	if !v.Refused {
		by.Delayed++
		e.Delayed++
		e.LongestDelay = max(e.LongestDelay, v.Delay)
		e.TotalDelay = after(e.TotalDelay, v.Delay)
		return
	}
	by.Refused++
	e.Refused++
	e.hit(clientip.Masked(client, e.ip.IPv4Prefix, e.ip.IPv6Prefix))
}

// by returns the counts of a limit. There are as few as the file has.
func (e *effect) by(a *ruleset.Applied) *By {
	i := slices.IndexFunc(e.By, func(by By) bool { return by.Rule == a.Rule && by.Zone == a.Zone })
	if i < 0 {
		i = len(e.By)
		e.By = append(e.By, By{Rule: a.Rule, Zone: a.Zone})
	}
	return &e.By[i]
}

func (e *effect) hit(client netip.Prefix) {
	if _, known := e.distinct[client]; !known && len(e.distinct) < mostDistinct {
		e.distinct[client] = struct{}{}
	} else if !known {
		e.more = true
	}
	if e.top > 0 {
		e.key = clientip.AppendPrefix(e.key[:0], client)
		e.clients.add(e.key, true)
	}
}

func (e *effect) effect() Effect {
	e.Clients = Clients{Distinct: len(e.distinct), More: e.more}
	for _, c := range e.clients.top(e.top) {
		e.Clients.Top = append(e.Clients.Top, Client{clientip.Describe(c.key), Counted{c.count, c.tooMany}})
	}
	slices.SortStableFunc(e.By, func(a, b By) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Delayed, a.Delayed),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.Zone, b.Zone))
	})
	return e.Effect
}
