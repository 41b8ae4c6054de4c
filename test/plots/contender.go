package main

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/nginx"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/sketch"
)

// perSecond is the rate of all limits that are compared.
const perSecond = 10

// contender is a limit of perSecond.
type contender struct {
	name    string
	class   string // of its line
	limiter keyed.Limiter[string]
}

// contenders returns fresh limits, those with a burst with that one.
func contenders(burst uint64) []contender {
	return []contender{
		{fmt.Sprintf("window: %d in each second", perSecond), "window", store(check(limit.NewWindow(perSecond, time.Second)))},
		{fmt.Sprintf("sliding: %d in any second, estimated", perSecond), "sliding", store(check(limit.NewSliding(perSecond, time.Second)))},
		{fmt.Sprintf("leaky, nginx, sketch: burst %d, nodelay", burst), "leaky", leaky(burst, burst)},
		{fmt.Sprintf("leaky: burst %d, which waits", burst), "waits", leaky(burst, 0)},
	}
}

// likeLeaky returns limits that decide as leaky with nodelay does.
func likeLeaky(burst uint64) []contender {
	zone := check(nginx.NewZone[string](perSecond*1000, nginx.Options[string]{}))
	l := check(limit.NewLeaky(requests(), burst, burst))
	return []contender{
		{"leaky", "leaky", leaky(burst, burst)},
		{"nginx", "leaky", zone.Limiter(burst, nginx.NoDelay)},
		{"sketch", "leaky", sketch.NewLimiter(l, sketch.Options[string]{})},
	}
}

func leaky(burst, delay uint64) keyed.Limiter[string] {
	return store(check(limit.NewLeaky(requests(), burst, delay)))
}

func requests() rate.Rate { return check(rate.ParseRequests(fmt.Sprintf("%dr/s", perSecond))) }

func store[A limit.Algorithm[S], S any](a A) keyed.Limiter[string] {
	return keyed.New[string](a, keyed.Options[string]{})
}

// check returns v. The limits are constants of this program, so that an error is one of it.
func check[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
