package redisstore

import (
	"encoding/binary"
	"fmt"

	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
	"github.com/headgate/headgate/userspace/shared/bounds"
)

// ask is a call of the store while it is under way. It is used again for others.
type ask struct {
	each     []asked
	repeated bool   // a key is there more than once
	open     int    // how many the store is asked for
	now      uint64 // µs by Redis' clock, as it answered
	text     []byte
}

// asked is a charge with what is known of it.
type asked struct {
	terms      terms
	id         id
	n          uint64 // units
	group      byte   // 0 for what is enforced, else the same for those that are tried out together
	name, end  int    // what it is called in Redis is text[name:end]
	want, more uint64 // units to take in advance, and how many were taken

	holding *holding // nil for none
	number  uint64   // of the holding
	spent   bool     // from the holding: the store is not asked

	state   state // that was found
	fits    bool
	charged bool
	before  state // the state that was charged
}

// prepare makes a of charges.
func (a *ask) prepare(s *Store, tag string, charges []shared.Charge) error {
	if len(charges) > 255 {
		return fmt.Errorf("%d limits on one request: too many; use at most 255", len(charges))
	}
	for i := range charges {
		c := &charges[i]
		t, err := termsOf(c.Limit)
		switch {
		case err != nil:
			return fmt.Errorf("zone %s: %w", c.Zone, err)
		case t.kind == concurrent && c.N > bounds.MostPlaces:
			return fmt.Errorf("zone %s: %d places for a request: too many; use at most %d", c.Zone, c.N, bounds.MostPlaces)
		}
		one := asked{terms: t, n: c.N, group: group(charges, i), name: len(a.text)}
		a.text = appendName(a.text, s.prefix, tag, t, c.Zone, c.Key)
		one.end = len(a.text)
		one.id = s.seeds.of(a.text[one.name:])
		a.repeated = a.repeated || a.has(one.id)
		a.each = append(a.each, one)
	}
	a.open = len(charges)
	return nil
}

// group returns a number that charges with the same DryRun have in common.
func group(charges []shared.Charge, i int) byte {
	if charges[i].DryRun == 0 {
		return 0
	}
	first := 0
	for charges[first].DryRun != charges[i].DryRun {
		first++
	}
	return byte(first + 1)
}

func (a *ask) has(k id) bool {
	for i := range a.each {
		if a.each[i].id == k {
			return true
		}
	}
	return false
}

// reset makes a ready for another call.
func (a *ask) reset() {
	clear(a.each) // of holdings
	*a = ask{each: a.each[:0], text: a.text[:0]}
}

// The modes of take.lua.
const (
	charging = 't'
	repeated = 'r' // charging, where a key is there more than once
	peeking  = 'p'
)

// call returns the call for what the store is asked. Its texts are one string.
func (a *ask) call(s *scripts, mode byte, lease string) redisconn.Call {
	script, args := s.take, len(a.text)
	if a.repeated && mode == charging {
		mode = repeated
	}
	a.text = append(a.text, mode)
	for i := range a.each {
		if one := &a.each[i]; !one.spent {
			a.text = one.terms.append(a.text, one.group, one.n, one.want)
		}
	}
	text := string(a.text)
	texts := make([]string, 0, a.open+2)
	for i := range a.each {
		if one := &a.each[i]; !one.spent {
			texts = append(texts, text[one.name:one.end])
			if a.open == 1 && mode == charging && one.group == 0 && one.terms.kind != concurrent {
				script = s.one
			}
		}
	}
	texts = append(texts, text[args:])
	if script != s.one {
		texts = append(texts, lease)
	}
	a.text = a.text[:args]
	return redisconn.Call{Script: script.Script, Keys: texts[:a.open:a.open], Args: texts[a.open:]}
}

// append appends what the scripts read of a charge. More units than fit at once are told as one more than that: numbers are exact then.
func (t *terms) append(b []byte, group byte, n, more uint64) []byte {
	b = append(b, byte(t.kind), group)
	for _, field := range [...]uint64{min(n, t.most+1), more, t.p, t.q, t.r} {
		b = binary.LittleEndian.AppendUint64(b, field)
	}
	return b
}
