package main

import (
	"fmt"
	"strings"
	"time"
)

// table returns what the pictures show in numbers, as rows of Markdown.
func table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | of %d in 3 s, passed | longest wait | of %d around the edge, passed | in 200 ms there, at most |\n", len(steady()), len(edge()))
	b.WriteString("|---|---:|---:|---:|---:|\n")
	onSteady, onEdge := contenders(5), contenders(9)
	for i := range onSteady {
		gone, around := passed(onSteady[i].limiter, steady()), passed(onEdge[i].limiter, edge())
		name := onSteady[i].name
		if onEdge[i].name != name {
			name += " (at the edge 9)"
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %d |\n",
			name, len(gone), longestWait(contenders(5)[i], steady()), len(around), most(around, 200*time.Millisecond))
	}
	return b.String()
}

func longestWait(c contender, arrivals []time.Duration) string {
	var longest time.Duration
	for _, now := range arrivals {
		longest = max(longest, c.limiter.Take("key", 1, now).Delay)
	}
	if longest == 0 {
		return "none"
	}
	return fmt.Sprintf("%d ms", longest.Milliseconds())
}
