package ruleset

import (
	"net/netip"
	"slices"

	"github.com/headgate/headgate/userspace/config"
)

// tag is what the limits have in common that may be asked about one request, by which a store finds the place of their keys: what the
// keys of all of their zones have in common, else the name of one of them; of a zone that no other is asked with, its
// whole key.
//
// It follows from the rules alone. So machines that have other rules for a while, as during a rollout, may look for a
// key elsewhere, and count apart as long as that lasts.
type tag struct {
	group int    // other groups' limits are asked in another call
	parts []int  // which of the zone's parts, in the same order in all zones of the group
	name  string // in place of parts, where the zones have none in common; empty for the whole key
}

// tagIn returns the tag of z, which is in group g of h, the i-th.
func (z *zone) tagIn(i int, g config.Group, h config.HTTP) tag {
	t := tag{group: i}
	for _, c := range g.Parts {
		p, _ := newPart(c) // an error was returned before, for the zone
		t.parts = append(t.parts, slices.IndexFunc(z.parts, func(q part) bool { return q.kind == p.kind && q.name == p.name }))
	}
	if len(g.Zones) == 1 || len(t.parts) > 0 {
		return t
	}
	t.name = h.Zones[g.Zones[0]].Name
	for _, n := range g.Zones {
		t.name = min(t.name, h.Zones[n].Name) // not the first: their order says nothing
	}
	return t
}

// of returns the tag of a key of z, as a view of what is appended to buf. texts and client are what the key was made of.
func (t *tag) of(z *zone, key string, texts []string, client netip.Prefix, buf []byte) (string, []byte) {
	switch {
	case t.name != "":
		return t.name, buf
	case len(t.parts) == 0:
		return key, buf
	}
	from := len(buf)
	for _, i := range t.parts {
		buf = appendKey(buf, z.parts[i:i+1], texts[i:i+1], client)
	}
	return text(buf[from:]), buf
}
