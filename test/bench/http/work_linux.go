package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Work is what the client does that works.
type Work struct {
	Addr, Path string
	Conns      int
	Pause      time.Duration // between an answer and the next request of a connection
	For        time.Duration
}

// Worked is how that went.
type Worked struct {
	Requests int
	Took     time.Duration
	Median   time.Duration // of the time until an answer
	P99      time.Duration
}

// rate returns the requests a second.
func (w Worked) rate() float64 { return float64(w.Requests) / w.Took.Seconds() }

// slowest is how long the client that works waits for an answer.
const slowest = 10 * time.Second

// work is roleWork. An answer other than 200 is an error.
func work(w Work) (Worked, error) {
	latencies := make([][]time.Duration, w.Conns)
	errs := make([]error, w.Conns)
	begin := time.Now()
	var all sync.WaitGroup
	for i := range w.Conns {
		all.Go(func() { latencies[i], errs[i] = w.workOn(begin.Add(w.For)) })
	}
	all.Wait()
	took := time.Since(begin)
	sorted := slices.Concat(latencies...)
	slices.Sort(sorted)
	if err := errors.Join(errs...); err != nil || len(sorted) == 0 {
		return Worked{}, errors.Join(err, fmt.Errorf("%d requests were answered", len(sorted)))
	}
	return Worked{len(sorted), took, percentile(sorted, 50), percentile(sorted, 99)}, nil
}

// workOn works on a connection of its own.
func (w Work) workOn(end time.Time) ([]time.Duration, error) {
	c, err := dial(w.Addr, w.Path, slowest)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var latencies []time.Duration
	for now := time.Now(); now.Before(end); {
		a, err := c.ask(now.Add(slowest))
		if err != nil {
			return latencies, err
		}
		if a.status != http.StatusOK {
			return latencies, fmt.Errorf("an answer is not 200: %q", a.text)
		}
		latencies = append(latencies, time.Since(now))
		time.Sleep(w.Pause)
		now = time.Now()
	}
	return latencies, nil
}

// percentile returns a percentile of values in order, by the nearest rank.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}
