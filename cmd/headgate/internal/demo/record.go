package demo

import (
	"fmt"
	"time"
)

// record is what is known of one source in one phase.
type record struct {
	source
	sent, through uint64
	theory        *theory // nil where nothing is limited

	first, last int64   // when its packets arrived at the earliest and at the latest
	credit      float64 // packets that it could send at once at first
}

// note takes down what was sent in a window, of which between least and most packets were asked
// about their limit, and what got through.
func (r *record) note(sent, least, most int, through uint64, w window) {
	if r.sent == 0 {
		r.begin(w.start)
	}
	r.sent += uint64(sent)
	r.through += through
	r.last = w.end
	if r.theory != nil {
		r.theory.arrive(least, most, w)
	}
}

func (r *record) begin(at int64) {
	r.first = at
	if r.theory != nil {
		high := &r.theory.high
		r.credit = float64(high.potentialAt(at)-high.admitted*high.cost()) / float64(high.cost())
	}
}

// check compares the record of a phase with theory and with what headgate counted.
func (r *record) check(p *phase, limit string, counted *Counted) Check {
	c := Check{
		Phase: p.short, Source: r.name(),
		Sent: r.sent, Through: r.through, Lost: r.sent - r.through,
		Theory: Range{r.sent, r.sent}, Why: r.why(p, limit), Headgate: counted,
	}
	if r.theory != nil {
		c.Theory.Least, c.Theory.Most = r.theory.bounds()
	}
	c.judge()
	return c
}

func (r *record) why(p *phase, limit string) string {
	switch {
	case r.theory == nil:
		return "nothing limits it"
	case p.action == block && r.theory.high.admitted == 0:
		return "blocked"
	case r.theory.low.admitted == int64(r.sent):
		return "never over its limit"
	}
	lasted := time.Duration(r.last - r.first).Seconds()
	if r.credit < 1 {
		return fmt.Sprintf("%s for %.3f s", limit, lasted)
	}
	return fmt.Sprintf("up to %.0f at once, %s for %.3f s", r.credit, limit, lasted)
}
