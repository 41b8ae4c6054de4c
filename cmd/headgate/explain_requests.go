package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/nginx"
	"github.com/headgate/headgate/userspace/rate"
)

// explainRequests explains a limit of requests, as its algorithm has it.
func explainRequests(text string, r rate.Rate, f *explainFlags) (render.Explanation, error) {
	algorithm := config.Algorithm(cmp.Or(f.algorithm, string(config.Leaky)))
	known := []config.Algorithm{config.Leaky, config.Nginx, config.Window, config.Sliding}
	if !slices.Contains(known, algorithm) {
		return render.Explanation{}, fmt.Errorf("algorithm %q: use leaky, nginx, window or sliding", algorithm)
	}
	if algorithm == config.Window || algorithm == config.Sliding {
		return explainWindow(text, algorithm, f)
	}
	burst, delay, err := f.bursts()
	if err != nil {
		return render.Explanation{}, err
	}
	var x render.Explanation
	if algorithm == config.Nginx {
		x, err = explainNginx(text, burst)
	} else {
		x, err = explanation(r, burst, burst+1)
	}
	x.Algorithm, x.DefaultBurst = string(algorithm), f.burst == ""
	x.Prompt, x.LongestDelay = delay+1, float64(burst-delay)*x.Interval
	x.Notes = append(x.Notes, burstNote(burst, delay, f.delay == ""))
	return x, err
}

// bursts returns the burst of a limit of requests, and how many of it do not wait.
func (f *explainFlags) bursts() (burst, delay uint64, err error) {
	if f.burst != "" {
		if burst, err = rate.ParseCount(f.burst); err != nil {
			return 0, 0, err
		}
	}
	if burst == math.MaxUint64 {
		return 0, 0, fmt.Errorf("burst %d: too large", burst)
	}
	if f.delay == "" {
		return burst, burst, nil
	}
	if f.nodelay {
		return 0, 0, fmt.Errorf("--delay %s: --nodelay says the same of the whole burst; use one of them", f.delay)
	}
	if delay, err = rate.ParseCount(f.delay); err != nil {
		return 0, 0, err
	}
	if delay > burst {
		return 0, 0, fmt.Errorf("--delay %d is more than the burst of %d; use at most that", delay, burst)
	}
	return burst, delay, nil
}

// burstNote tells what nginx calls it.
func burstNote(burst, delay uint64, nodelay bool) string {
	note := "As nginx has it, a burst of N admits N+1 requests at one instant: " +
		"the one that the rate allows, and N before their time.\n"
	switch {
	case nodelay:
		return note + fmt.Sprintf("That is `limit_req burst=%d nodelay`; without nodelay those N wait for their turn.", burst)
	case delay == 0:
		return note + fmt.Sprintf("That is `limit_req burst=%d`: those N wait for their turn.", burst)
	}
	return note + fmt.Sprintf("That is `limit_req burst=%d delay=%d`: beyond %d those N wait for their turn.", burst, delay, delay)
}

// explainNginx explains a rate as nginx keeps it.
func explainNginx(text string, burst uint64) (render.Explanation, error) {
	count, per, err := rate.ParseQuota(text)
	if err != nil {
		return render.Explanation{}, err
	}
	kept, err := nginx.RateOf(count, per)
	if err != nil {
		return render.Explanation{}, fmt.Errorf("rate %.40q: %w", text, err)
	}
	asked, eachMillisecond := float64(count)/per.Seconds(), burst+1
	perSecond := min(float64(kept)/1000, float64(eachMillisecond)*1000)
	most := func(seconds uint64) uint64 { return burst + 1 + uint64(perSecond*1000)*seconds/1000 }
	return render.Explanation{
		Limit: text, Unit: rate.Requests.String(), Burst: burst, AtOnce: burst + 1,
		Interval: 1 / perSecond, Refill: float64(burst+1) / perSecond,
		InSecond: most(1), InMinute: most(60),
		PerSecond: perSecond, Error: max(0, 1-perSecond/asked) * 100,
		Notes: kept.Warnings(count, per, burst),
	}, nil
}

// explainWindow explains a limit that counts in windows.
func explainWindow(text string, algorithm config.Algorithm, f *explainFlags) (render.Explanation, error) {
	if f.burst != "" || f.delay != "" || f.nodelay {
		return render.Explanation{}, fmt.Errorf("algorithm %s counts in windows and has no burst: all requests of the rate may come at one instant; leave out --burst, --delay and --nodelay", algorithm)
	}
	count, per, err := rate.ParseQuota(text)
	if err != nil {
		return render.Explanation{}, err
	}
	if _, err := limit.NewWindow(count, per); err != nil {
		return render.Explanation{}, err
	}
	x := render.Explanation{
		Limit: text, Unit: rate.Requests.String(), Algorithm: string(algorithm),
		AtOnce: count, Prompt: count, Interval: per.Seconds() / float64(count),
		InSecond: mostInWindows(count, per, time.Second), InMinute: mostInWindows(count, per, time.Minute),
		PerSecond: float64(count) / per.Seconds(),
	}
	if algorithm == config.Sliding {
		x.Refill = 2 * per.Seconds()
		x.Notes = []string{fmt.Sprintf("It estimates what came in the last %s from two counters, of this %s and the one before, as if what came before had come evenly.\n"+
			"Where it did not, up to twice the limit may pass in some %[1]s; over a longer time the limit holds.", render.Duration(per), render.Duration(per))}
		return x, nil
	}
	x.Refill = per.Seconds()
	x.Notes = []string{fmt.Sprintf("A window begins with the first request of a key and lasts %s. At the end of one and the start of the next twice the limit may pass within an instant: %d.\n"+
		"leaky (%s --burst %d) admits no more than %d at one instant there, and after that as the rate allows.", render.Duration(per), 2*count, text, count-1, count)}
	return x, nil
}

// mostInWindows returns how many requests pass at most in any period, if each time per has so many. At one end of
// the period is the end of such a time, and the next ones follow.
func mostInWindows(count uint64, per, period time.Duration) uint64 {
	return count * (2 + uint64((period-1)/per))
}
