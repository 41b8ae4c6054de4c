package handdown

import (
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// settings are what a reload replaces, as a whole.
type settings struct {
	config.HandDown
	trusted []netip.Prefix
	// number tells settings apart: who was spared under others is looked at again.
	number uint64
	// mostOffenders is how many sources are remembered.
	mostOffenders int
}

// memory is about how many bytes the offences of all sources may take.
const memory = 128 << 20

func newSettings(c config.HandDown, trusted []netip.Prefix, number uint64, mostOffenders int) *settings {
	const moment, offender = 2 * 16, 256 // a slice may have twice the room that it needs
	affordable := memory / (moment*min(c.After, mostMoments) + offender)
	return &settings{
		HandDown:      c,
		trusted:       masked(trusted),
		number:        number,
		mostOffenders: max(1, min(mostOffenders, affordable)),
	}
}

// masked returns prefixes without those that are not valid, and IPv4-mapped ones as IPv4.
func masked(prefixes []netip.Prefix) []netip.Prefix {
	var all []netip.Prefix
	for _, p := range prefixes {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		if p.IsValid() {
			all = append(all, p.Masked())
		}
	}
	return all
}

// period returns how long the rule of a source's n-th strike holds, n being 1 for the first.
func (s *settings) period(n int) time.Duration {
	period := s.For
	for range n - 1 {
		if period >= s.Max {
			break
		}
		period *= 2 // For and Max are at most years, so that nothing overflows
	}
	return min(period, max(s.Max, s.For))
}

// strikes returns the least number of strikes that a rule of which so much is left can be of.
func (s *settings) strikes(left time.Duration) int {
	n := 1
	for s.period(n) < left && s.period(n) < s.Max {
		n++
	}
	return n
}
