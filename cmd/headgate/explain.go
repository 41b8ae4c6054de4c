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

type explainFlags struct {
	burst, delay, algorithm string
	nodelay                 bool
	request                 requestFlags
}

func newExplainCmd(e *env, g *global) *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain {LIMIT | -c FILE --ip ADDRESS}",
		Short: "Say in plain words what a limit means, or which limits a request meets",
		Long: `explain says what a limit lets pass of one source. LIMIT is a rate of packets (500pps, 10kpps,
30ppm, 6pph), a bandwidth (100Mbit/s, 12MB/s, 64KiB/s) or a rate of HTTP requests (10r/s, 30r/m,
100r/h). Without --burst it takes the default: what the rate lets pass in one second, at least 1
packet or 64KiB; for requests 0, as in nginx.

Of requests it also says what the algorithms of a zone make of the same rate. Without --delay the whole burst
passes at once (nodelay).

With -c it takes a request instead, and says by the rules of the file which of them match it, which limits are
asked in which order, by which key each of them counts it, and how many such requests pass at one instant.`,
		Example: `  headgate explain 1000pps --burst 100
  headgate explain 100Mbit/s --burst 1MB
  headgate explain 10r/s --burst 20 --delay 8
  headgate explain 60r/m --algorithm window
  headgate explain -c headgate.yaml --ip 203.0.113.7 --method POST --host example.com --path /login`,
		Args: f.args,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.request.file != "" {
				return e.explainRequest(g, &f.request)
			}
			x, err := explain(args[0], f)
			if err != nil {
				return usage(err)
			}
			return e.print(g, x)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.burst, "burst", "", "packets, bytes or requests that may come at once, as 20k or 1MB")
	flags.StringVar(&f.delay, "delay", "", "requests of the burst that pass at once; those beyond wait for their turn")
	flags.BoolVar(&f.nodelay, "nodelay", false, "the whole burst of requests passes at once")
	flags.StringVar(&f.algorithm, "algorithm", "", "how requests are counted: leaky, nginx, window or sliding (default leaky)")
	placeholders(cmd, map[string]string{"burst": "BURST", "delay": "NUMBER", "algorithm": "NAME"})
	f.request.register(cmd)
	return cmd
}

// args checks that there is a limit, or a request, and no flags of the other.
func (f *explainFlags) args(cmd *cobra.Command, args []string) error {
	if f.request.file != "" {
		return f.request.check(cmd, args)
	}
	if name := changed(cmd, requestFlagNames()); name != "" {
		return usagef("--%s is of a request, and needs the rules that it meets: -c headgate.yaml", name)
	}
	if len(args) != 1 {
		return usagef("explain needs one limit, not %d: `headgate explain 1000pps --burst 100`", len(args))
	}
	return nil
}

// changed returns the first of some flags that was given.
func changed(cmd *cobra.Command, names []string) string {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

func explain(limitText string, f *explainFlags) (render.Explanation, error) {
	r, err := parseLimit(limitText)
	if errors.Is(err, rate.ErrZero) {
		return render.Explanation{}, fmt.Errorf("%w; to let nothing pass, use `headgate block PREFIX`", err)
	}
	if err != nil {
		return render.Explanation{}, err
	}
	if r.Unit == rate.Requests {
		return explainRequests(limitText, r, f)
	}
	if f.algorithm != "" || f.delay != "" || f.nodelay {
		return render.Explanation{}, fmt.Errorf("limit %q: --algorithm, --delay and --nodelay are for requests; use a limit such as 10r/s", limitText)
	}
	burst := r.DefaultBurst()
	if f.burst != "" {
		if burst, err = parseBurst(f.burst, r.Unit); err != nil {
			return render.Explanation{}, err
		}
	}
	x, err := explanation(r, burst, burst)
	x.DefaultBurst = f.burst == ""
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

// explanation explains a rate and a burst, by which so many may come at once.
func explanation(r rate.Rate, burst, atOnce uint64) (render.Explanation, error) {
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
	if unit != rate.Bytes || burst >= math.MaxUint16 {
		return []string{}
	}
	return []string{fmt.Sprintf("A packet of more than %d bytes never passes: it is larger than the burst.", burst)}
}
