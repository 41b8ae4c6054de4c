package keyed_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

const start = 1000 * time.Hour

// leaky returns a limit of a rate as 10r/s, whose burst goes on at once.
func leaky(t testing.TB, text string, burst uint64) limit.Leaky {
	t.Helper()
	r, err := rate.ParseRequests(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := limit.NewLeaky(r, burst, burst)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// share returns limits of one rate that share states.
func share(t testing.TB, text string, bursts ...uint64) []limit.Leaky {
	t.Helper()
	r, err := rate.ParseRequests(text)
	if err != nil {
		t.Fatal(err)
	}
	var specs []limit.LeakySpec
	for _, burst := range bursts {
		specs = append(specs, limit.LeakySpec{Rate: r, Burst: burst, Delay: burst})
	}
	all, err := limit.CompileLeaky(specs)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// allowed returns how many of n single units pass at now.
func allowed(l keyed.Limiter[string], key string, n int, now time.Duration) int {
	passed := 0
	for range n {
		if l.Take(key, 1, now).Allowed {
			passed++
		}
	}
	return passed
}
