package main

import (
	"fmt"
	"strconv"
	"time"
)

// burstOfDelays is the burst of the limits whose delays are drawn.
const burstOfDelays = 5

// way is how a limit lets its burst wait.
type way struct {
	name, class string
	delay       uint64
}

// drawDelays draws how long each of the requests waits, which are told apart by their number.
func drawDelays(title string, arrivals []time.Duration) []byte {
	ways := []way{
		{"delay not given: all of the burst waits", "waits", 0},
		{"delay: 2", "sliding", 2},
		{"nodelay: true", "leaky", burstOfDelays},
	}
	p := newPlot(title, "milliseconds that each request waits, by its number; a cross is a refusal",
		axis{0.5, float64(len(arrivals)) + 0.5, 0, ""}, axis{0, 600, 100, "%.0f"})
	for n := range arrivals {
		p.text(p.x(float64(n+1)), height-bottom+18, "small middle", strconv.Itoa(n+1))
	}
	for i, w := range ways {
		p.legend(i, w.class+" cross", w.name)
		limiter := leaky(burstOfDelays, w.delay)
		for n, now := range arrivals {
			r := limiter.Take("key", 1, now)
			p.mark(float64(n+1)+float64(i-1)*0.2, float64(r.Delay.Milliseconds()), w.class, r.Allowed)
		}
	}
	return p.bytes()
}

// mark draws a bar of that height, or a cross for what is refused.
func (p *plot) mark(x, y float64, class string, allowed bool) {
	center, foot := p.x(x), p.y(0)
	if !allowed {
		fmt.Fprintf(&p.out, `<path class="line %s cross" d="M%.1f %.1fl8 -8m0 8l-8 -8"/>`+"\n", class, center-4, foot-4)
		return
	}
	fmt.Fprintf(&p.out, `<path class="line %s bar" d="M%.1f %.1fV%.1f"/>`+"\n", class, center, foot, min(p.y(y), foot-2))
}
