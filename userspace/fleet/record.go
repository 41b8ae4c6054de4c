package fleet

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// slot is where a rule may be: at each prefix one of a person, and one of hand-downs.
type slot struct {
	prefix netip.Prefix
	person bool
}

// class is "p" or "h", as publish.lua has it.
func (s slot) class() string {
	if s.person {
		return "p"
	}
	return "h"
}

func (s slot) String() string { return s.class() + " " + s.prefix.String() }

// readSlot reads what String wrote.
func readSlot(text string) (slot, error) {
	class, rest, _ := strings.Cut(text, " ")
	prefix, err := netip.ParsePrefix(rest)
	if err != nil {
		return slot{}, err
	}
	s := slot{prefix, class == "p"}
	if s.String() != text || canonical(prefix) != prefix {
		return slot{}, fmt.Errorf("%.60q is not a prefix as the fleet writes it", text)
	}
	if err := tooWide(prefix); err != nil {
		return s, fmt.Errorf("%s: %w", prefix, err)
	}
	return s, nil
}

// canonical returns a prefix masked, and as one of IPv4 if it is a mapped one; it is not valid if that has no sense.
func canonical(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96) // no prefix if it is more than all of IPv4
	}
	return p.Masked()
}

// widest are the shortest prefixes that a rule of the fleet may have.
const widest4, widest6 = 8, 16

func tooWide(p netip.Prefix) error {
	least := widest6
	if p.Addr().Is4() {
		least = widest4
	}
	if p.Bits() < least {
		return fmt.Errorf("it is too much of the internet for a fleet; use prefixes of /%d or longer", least)
	}
	return nil
}

// record is what the fleet says of a slot: a rule, or that it was taken back. That does not change.
type record struct {
	slot
	at   int64     // when it was said, in ms by the clock of Redis; of two, the later is so
	end  time.Time // here; zero for none
	gone bool      // taken back
	rule Rule      // without For

	// What the follower notes of a rule: whether it has asked what protects the prefix here, what that is, empty for nothing,
	// and the same of why it is not in force here, which was said last; and whether the kernel has it.
	asked                 bool
	answer, verdict, said string
	inForce               bool
}

func (r *record) ended(now time.Time) bool { return !r.end.IsZero() && !now.Before(r.end) }

// left returns how long it holds, at least a ms; 0 for no end.
func (r *record) left(now time.Time) time.Duration {
	if r.end.IsZero() {
		return 0
	}
	return max(r.end.Sub(now), time.Millisecond)
}

// readRecord reads what publish.lua keeps in a slot.
func readRecord(slotText, text string, when func(ms int64) time.Time) (*record, error) {
	s, err := readSlot(slotText)
	if err != nil {
		return nil, err
	}
	parts := strings.SplitN(text, " ", 4)
	if len(parts) < 4 || parts[0] != "r" && parts[0] != "t" {
		return nil, fmt.Errorf("%s: no record", s)
	}
	at, atErr := number(parts[1])
	ms, endErr := number(parts[2])
	if err := errors.Join(atErr, endErr); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	r := &record{slot: s, at: at, gone: parts[0] == "t"}
	if ms != 0 {
		r.end = when(ms)
	}
	if r.rule, err = readBody(parts[3], r.gone); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	r.rule.Prefix, r.rule.Person = s.prefix, s.person
	return r, nil
}

// check returns a rule as it is published by a member, or what is wrong with it.
func check(r Rule, by string) (Rule, error) {
	prefix := canonical(r.Prefix)
	if !prefix.IsValid() {
		return r, fmt.Errorf("%s is no prefix", r.Prefix)
	}
	if r.For < 0 {
		return r, fmt.Errorf("%s: a rule cannot hold for %v", prefix, r.For)
	}
	r.Prefix, r.By = prefix, by
	if err := errors.Join(tooWide(prefix), checkAction(r)); err != nil {
		return r, fmt.Errorf("%s: %w", prefix, err)
	}
	if again, err := readBody(bodyOf(r), false); err != nil || again.Limit != r.Limit {
		return r, fmt.Errorf("%s: others would not read its limit as it is: %w", prefix, errors.Join(err, errNonsense))
	}
	return r, nil
}
