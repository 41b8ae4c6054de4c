package packets

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/theory"
)

// record is what is known of one source in one phase.
type record struct {
	source
	sent, through uint64
	theory        *theory.Theory // nil where nothing is limited

	first, last int64   // when its packets arrived at the earliest and at the latest
	credit      float64 // packets that it could send at once at first
}

// note takes down what was sent in a window, of which between least and most packets were asked
// about their limit, and what got through.
func (r *record) note(sent, least, most int, through uint64, w theory.Window) {
	if r.sent == 0 {
		r.begin(w.Start)
	}
	r.sent += uint64(sent)
	r.through += through
	r.last = w.End
	if r.theory != nil {
		r.theory.Arrive(least, most, w)
	}
}

func (r *record) begin(at int64) {
	r.first = at
	if r.theory != nil {
		r.credit = r.theory.Credit(at)
	}
}

// check compares the record of a phase with theory and with what headgate counted.
func (r *record) check(p *phase, limit string, counted *Counted) Check {
	c := Check{
		Phase: p.short, Source: r.name(),
		Sent: r.sent, Through: r.through, Lost: r.sent - r.through,
		Theory: theory.Exactly(r.sent), Why: r.why(p, limit), Headgate: counted,
	}
	if r.theory != nil {
		c.Theory = r.theory.Bounds()
	}
	c.judge()
	return c
}

func (r *record) why(p *phase, limit string) string {
	switch {
	case r.theory == nil:
		return "nothing limits it"
	case p.action == block && r.theory.Bounds().Most == 0:
		return "blocked"
	case r.theory.Bounds().Least == r.sent:
		return "never over its limit"
	}
	lasted := time.Duration(r.last - r.first).Seconds()
	if r.credit < 1 {
		return fmt.Sprintf("%s for %.3f s", limit, lasted)
	}
	return fmt.Sprintf("up to %.0f at once, %s for %.3f s", r.credit, limit, lasted)
}
