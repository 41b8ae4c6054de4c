package config

import (
	"errors"
	"slices"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

// largestPacket is the size up to which packets come on an ordinary link.
const largestPacket = 1500

// dimension is how a limit is written in packets, or in bytes.
type dimension struct {
	rate, burst string // the fields
	example     string // of a rate
	lowest      string // rate
	parseRate   func(string) (rate.Rate, error)
	parseBurst  func(string) (uint64, error)
}

func packetDimension() dimension {
	return dimension{"rate", "burst", "10kpps", "1pph", rate.ParsePackets, rate.ParseCount}
}

func byteDimension() dimension {
	return dimension{"bandwidth", "bandwidth_burst", "100Mbit/s", "1B/s", rate.ParseBandwidth, rate.ParseSize}
}

// limit returns a limit of the kernel, which limits something unless it is wrong.
func (v value) limit() KernelLimit {
	m, ok := v.mapping(limitFields())
	if !ok {
		return KernelLimit{}
	}
	l := m.limit()
	m.checkLimited()
	return l
}

// limit returns what the fields of m say of a limit of the kernel.
func (m mapping) limit() (l KernelLimit) {
	l.Rate, l.Burst = m.quota(packetDimension())
	l.Bandwidth, l.BandwidthBurst = m.quota(byteDimension())
	if l.BandwidthBurst > 0 && l.BandwidthBurst < largestPacket {
		m.field("bandwidth_burst").warn("no packet larger than %s can ever pass; use %d or more",
			rate.FormatSize(l.BandwidthBurst), largestPacket)
	}
	return l
}

// checkLimited adds an error if nothing is said of a limit.
func (m mapping) checkLimited() {
	said := func(f Field) bool { return m.has(f.Path) }
	if !slices.ContainsFunc(limitFields(), said) {
		m.lack(m.value, "no limit; add rate: 10kpps, bandwidth: 100Mbit/s, or both")
	}
}

// quota returns a rate and its burst, both 0 where there is no rate or something is wrong.
func (m mapping) quota(d dimension) (rate.Rate, uint64) {
	at, burstAt := m.field(d.rate), m.field(d.burst)
	r, ok := at.rate(d)
	burst := r.DefaultBurst()
	if burstAt.given() {
		var right bool
		burst, right = burstAt.burst(d)
		if ok = ok && right; ok && !at.given() {
			m.lack(burstAt, "a burst of what? add "+d.rate+": "+d.example)
		}
	}
	if !ok || r.IsZero() {
		return rate.Rate{}, 0
	}
	if _, err := limit.Compile(r, burst); err != nil {
		m.field(d.burst).fail("%s", bare(err))
		return rate.Rate{}, 0
	}
	return r, burst
}

// rate returns a rate, zero if there is none; it reports false if it is wrong.
func (v value) rate(d dimension) (rate.Rate, bool) {
	if !v.given() {
		return rate.Rate{}, true
	}
	text, ok := v.text()
	if !ok {
		return rate.Rate{}, false
	}
	r, err := d.parseRate(text)
	switch {
	case text == "off":
		v.fail("no limit is said by leaving it out; remove %s", d.rate)
	case negative(text):
		v.fail("%.40q is negative; use %s or more", text, d.lowest)
	case errors.Is(err, rate.ErrZero):
		v.fail("%s; use %s or more, or a rule with block: true to keep a prefix out", bare(err), d.lowest)
	case err != nil:
		v.fail("%s", bare(err))
	default:
		return r, true
	}
	return rate.Rate{}, false
}

func (v value) burst(d dimension) (uint64, bool) {
	n, ok := v.number(d.parseBurst, "1")
	if ok && n == 0 {
		v.fail("0 would let nothing pass; use 1 or more")
		return 0, false
	}
	return n, ok
}
