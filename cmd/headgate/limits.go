package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/rate"
)

// off removes a dimension of a limit.
const off = "off"

// largestPacket is the size up to which packets come on an ordinary link.
const largestPacket = 1500

// limitFlags are the flags that say how much may pass.
type limitFlags struct {
	rate, burst, bandwidth, bandwidthBurst string
}

func (f *limitFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.rate, "rate", "", "packets a second: 500pps, 10kpps, 30ppm (a minute), 6pph (an hour), or off")
	flags.StringVar(&f.burst, "burst", "", "packets that may pass at once, as 100 or 20k (default one second of the rate)")
	flags.StringVar(&f.bandwidth, "bandwidth", "", "bytes a second: 100Mbit/s, 12MB/s, 64KiB/s, or off")
	flags.StringVar(&f.bandwidthBurst, "bandwidth-burst", "", "bytes that may pass at once, as 64KiB or 1MB (default one second of the bandwidth)")
	placeholders(cmd, map[string]string{
		"rate": "RATE", "burst": "PACKETS", "bandwidth": "RATE", "bandwidth-burst": "BYTES",
	})
}

func (f *limitFlags) given() bool { return *f != limitFlags{} }

// check finds what is wrong with the flags whatever limit they will change.
func (f *limitFlags) check() error {
	sample := wire.Quota{Rate: rate.Rate{Count: 1, Per: time.Second}, Burst: 1}
	_, err1 := changeQuota(sample, f.rate, f.burst, packetForms)
	_, err2 := changeQuota(sample, f.bandwidth, f.bandwidthBurst, byteForms)
	return usage(cmp.Or(err1, err2))
}

// apply changes what the flags name in a limit and leaves the rest.
func (f *limitFlags) apply(l wire.Limit) (wire.Limit, error) {
	packets, err := changeQuota(l.Packets, f.rate, f.burst, packetForms)
	if err != nil {
		return wire.Limit{}, usage(err)
	}
	bytes, err := changeQuota(l.Bytes, f.bandwidth, f.bandwidthBurst, byteForms)
	if err != nil {
		return wire.Limit{}, usage(err)
	}
	changed := wire.Limit{Packets: packets, Bytes: bytes}
	if _, err := changed.Compile(); err != nil {
		return wire.Limit{}, usage(err)
	}
	return changed, nil
}

// forms are how a dimension is written.
type forms struct {
	rateFlag, burstFlag string
	parseRate           func(string) (rate.Rate, error)
	parseBurst          func(string) (uint64, error)
}

var (
	packetForms = forms{"--rate", "--burst", rate.ParsePackets, rate.ParseCount}
	byteForms   = forms{"--bandwidth", "--bandwidth-burst", rate.ParseBandwidth, rate.ParseSize}
)

func changeQuota(q wire.Quota, rateText, burstText string, f forms) (wire.Quota, error) {
	switch rateText {
	case "":
	case off:
		if burstText != "" {
			return q, fmt.Errorf("%s needs a rate, and %s is off", f.burstFlag, f.rateFlag)
		}
		return wire.Quota{}, nil
	default:
		r, err := f.parseRate(rateText)
		if errors.Is(err, rate.ErrZero) {
			return q, fmt.Errorf("%s %s: %w; to keep a source out use `headgate block`, to lift a limit %s off",
				f.rateFlag, rateText, err, f.rateFlag)
		}
		if err != nil {
			return q, fmt.Errorf("%s: %w%s", f.rateFlag, err, orOff(rateText))
		}
		q = wire.Quota{Rate: r, Burst: r.DefaultBurst()}
	}
	if burstText == "" {
		return q, nil
	}
	if q.Rate.IsZero() {
		return q, fmt.Errorf("%s needs a rate: give %s too", f.burstFlag, f.rateFlag)
	}
	burst, err := f.parseBurst(burstText)
	if err != nil {
		return q, fmt.Errorf("%s: %w", f.burstFlag, err)
	}
	if burst == 0 {
		return q, fmt.Errorf("%s 0 would let nothing pass; the least is 1, and to keep a source out use `headgate block`",
			f.burstFlag)
	}
	q.Burst = burst
	return q, nil
}

// orOff returns, for an error about a rate, the word that is meant where a word is in its place: none, unlimited.
func orOff(rateText string) string {
	if strings.ContainsAny(rateText, "0123456789") {
		return ""
	}
	return ", or off for none"
}

// noticeSmallBurst warns of a limit that no packet of full size can pass.
func (e *env) noticeSmallBurst(l wire.Limit) {
	if l.Bytes.Burst > 0 && l.Bytes.Burst < largestPacket {
		e.notice("note: with a bandwidth burst of %s no packet larger than that can pass",
			rate.FormatSize(l.Bytes.Burst))
	}
}
