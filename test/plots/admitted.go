package main

import (
	"fmt"
	"time"
)

// drawAdmitted draws how many requests have gone on by when.
func drawAdmitted(title string, arrivals []time.Duration, contenders []contender, seconds, requests axis) []byte {
	p := newPlot(title, "requests that have gone on, by seconds", seconds, requests)
	p.steps(arrivals, "offered")
	p.legend(0, "offered", fmt.Sprintf("offered: %d", len(arrivals)))
	for i, c := range contenders {
		gone := passed(c.limiter, arrivals)
		p.steps(gone, c.class)
		p.legend(i+1, c.class, fmt.Sprintf("%s: %d", c.name, len(gone)))
	}
	return p.bytes()
}
