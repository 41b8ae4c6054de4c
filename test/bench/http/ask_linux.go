package main

import (
	"fmt"
	"net/http"
	"time"
)

// Ask is to ask as fast as is answered.
type Ask struct {
	Addr, Path string
	Conns      int
	Status     int // that all answers have
	For        time.Duration
}

// Asked is how that went.
type Asked struct {
	Requests int
	Took     time.Duration
}

// rate returns the requests a second.
func (a Asked) rate() float64 { return float64(a.Requests) / a.Took.Seconds() }

// ask is roleAsk.
func ask(a Ask) (Asked, error) {
	return together(a.Conns, func(begin time.Time) (int, error) { return a.askOn(begin.Add(a.For)) })
}

// askOn asks on a connection of its own, and returns how many requests were answered.
func (a Ask) askOn(end time.Time) (n int, err error) {
	c, err := dial(a.Addr, a.Path, slowest)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for ; time.Now().Before(end); n++ {
		got, err := c.ask(end.Add(slowest))
		if err != nil {
			return n, err
		}
		if got.status != a.Status || a.Status == http.StatusTooManyRequests && !got.marked {
			return n, fmt.Errorf("an answer is not as it should be, with status %d: %q", a.Status, got.text)
		}
	}
	return n, nil
}
