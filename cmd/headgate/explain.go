package main

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

func newExplainCmd(e *env, g *global) *cobra.Command {
	var burst string
	cmd := &cobra.Command{
		Use:   "explain LIMIT",
		Short: "Say in plain words what a limit means",
		Long: `explain says what a limit lets pass of one source. LIMIT is a rate of packets (500pps, 10kpps,
30ppm, 6pph), a bandwidth (100Mbit/s, 12MB/s, 64KiB/s) or a rate of HTTP requests (10r/s, 30r/m,
100r/h). Without --burst it takes the default: what the rate lets pass in one second, at least 1
packet or 64KiB; for requests 0, as in nginx.`,
		Example: `  headgate explain 1000pps --burst 100
  headgate explain 100Mbit/s --burst 1MB
  headgate explain 10r/s --burst 20`,
		Args: oneLimit,
		RunE: func(_ *cobra.Command, args []string) error {
			x, err := explain(args[0], burst)
			if err != nil {
				return usage(err)
			}
			return e.print(g, x)
		},
	}
	cmd.Flags().StringVar(&burst, "burst", "", "packets, bytes or requests that may come at once, as 20k or 1MB")
	placeholders(cmd, map[string]string{"burst": "BURST"})
	return cmd
}

func oneLimit(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("explain needs one limit, not %d: `headgate explain 1000pps --burst 100`", len(args))
	}
	return nil
}

func explain(limitText, burstText string) (render.Explanation, error) {
	r, err := parseLimit(limitText)
	if errors.Is(err, rate.ErrZero) {
		return render.Explanation{}, fmt.Errorf("%w; to let nothing pass, use `headgate block PREFIX`", err)
	}
	if err != nil {
		return render.Explanation{}, err
	}
	burst := impliedBurst(r)
	if burstText != "" {
		if burst, err = parseBurst(burstText, r.Unit); err != nil {
			return render.Explanation{}, err
		}
	}
	x, err := explanation(r, burst)
	x.DefaultBurst = burstText == ""
	return x, err
}

// parseLimit reads a rate in the notation that its unit is of.
func parseLimit(s string) (rate.Rate, error) {
	ends := func(suffixes ...string) bool {
		for _, suffix := range suffixes {
			if strings.HasSuffix(s, suffix) {
				return true
			}
		}
		return false
	}
	switch {
	case s == off:
		return rate.Rate{}, errors.New("off is no limit: everything passes, and is counted; give a rate to explain, as 1000pps")
	case ends("pps", "ppm", "pph"):
		return rate.ParsePackets(s)
	case ends("r/s", "r/m", "r/h"):
		return rate.ParseRequests(s)
	case ends("bit/s", "B/s", "b/s", "bps", "Bps"):
		return rate.ParseBandwidth(s)
	default:
		return rate.Rate{}, fmt.Errorf("limit %.40q: no unit that is known; use 500pps, 30ppm, 100Mbit/s, 12MB/s or 10r/s", s)
	}
}

func parseBurst(s string, unit rate.Unit) (uint64, error) {
	if unit == rate.Bytes {
		return rate.ParseSize(s)
	}
	return rate.ParseCount(s)
}

// impliedBurst is the burst of a rate that is given without one.
func impliedBurst(r rate.Rate) uint64 {
	switch r.Unit {
	case rate.Requests:
		return 0
	case rate.Bytes:
		return max(leastBandwidthBurst, inOneSecond(r))
	default:
		return max(leastBurst, inOneSecond(r))
	}
}

func explanation(r rate.Rate, burst uint64) (render.Explanation, error) {
	atOnce := burst
	if r.Unit == rate.Requests {
		if burst == math.MaxUint64 {
			return render.Explanation{}, fmt.Errorf("burst %d: too large", burst)
		}
		atOnce++
	}
	p, err := limit.Compile(r, atOnce)
	if err != nil {
		return render.Explanation{}, err
	}
	perSecond, loss := effective(r, p)
	interval := 1 / perSecond
	return render.Explanation{
		Limit:     r.String(),
		Unit:      r.Unit.String(),
		Burst:     burst,
		AtOnce:    atOnce,
		Interval:  interval,
		Refill:    interval * float64(atOnce),
		InSecond:  most(p, time.Second),
		InMinute:  most(p, time.Minute),
		PerSecond: perSecond,
		Error:     loss,
		Notes:     explainNotes(r.Unit, burst),
	}, nil
}

// most returns how many units pass at most in any period, from its first moment to its last.
func most(p limit.Params, period time.Duration) uint64 {
	return p.Burst/p.Cost + uint64(period)<<p.Shift/p.Cost
}

// effective returns the rate that p enforces, and by how many percent it is less than r.
func effective(r rate.Rate, p limit.Params) (perSecond, loss float64) {
	ticks := new(big.Int).Lsh(big.NewInt(int64(time.Second)), uint(p.Shift))
	enforced := new(big.Rat).SetFrac(ticks, new(big.Int).SetUint64(p.Cost))
	asked := new(big.Rat).SetFrac(new(big.Int).SetUint64(r.Count), big.NewInt(int64(r.Per)))
	asked.Mul(asked, big.NewRat(int64(time.Second), 1))

	part := new(big.Rat).Quo(enforced, asked)
	loss, _ = part.Sub(big.NewRat(1, 1), part).Float64()
	perSecond, _ = enforced.Float64()
	return perSecond, loss * 100
}

func explainNotes(unit rate.Unit, burst uint64) []string {
	notes := []string{}
	switch {
	case unit == rate.Requests:
		notes = append(notes, fmt.Sprintf("As nginx has it, a burst of N admits N+1 requests at one instant: "+
			"the one that the rate allows, and N before their time.\n"+
			"That is `limit_req burst=%d nodelay`; without nodelay those N wait for their turn.", burst))
	case unit == rate.Bytes && burst < math.MaxUint16:
		notes = append(notes, fmt.Sprintf("A packet of more than %d bytes never passes: it is larger than the burst.", burst))
	}
	return notes
}
