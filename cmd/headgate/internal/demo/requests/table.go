package requests

import (
	"fmt"
	"strconv"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

func left(name string) render.Column  { return render.Column{Name: name} }
func right(name string) render.Column { return render.Column{Name: name, Right: true} }

// picture is a table of what became of the requests so far.
type picture []*record

// Table writes a line for each client.
func (records picture) Table(p *render.Page) {
	var rows [][]string
	for _, r := range records {
		rows = append(rows, []string{
			r.addr.String(), r.role, count(r.sent()), count(r.passed), count(r.refused), count(r.unanswered()),
		})
	}
	p.Grid([]render.Column{
		left("CLIENT"), left("WHAT IT DOES"), right("ATTEMPTS"), right("PASSED"), right("  429"), right("NO ANSWER"),
	}, rows)
}

// Table writes a line for each check, and the numbers that nothing is to be compared with.
func (s Summary) Table(p *render.Page) {
	p.Line("PASSED and 429 are answers that the client got, NO ANSWER are requests on open connections and connections asked")
	p.Line("for of which it heard nothing. BACKEND is what the backend counted.")
	p.Section()
	s.checks(p)
	p.Section()
	s.facts(p)
	p.Section()
	s.latencies(p)
	p.Section()
	s.costs(p)
}

func (s Summary) checks(p *render.Page) {
	var rows [][]string
	for n, c := range s.Checks {
		phase := c.Phase
		if n > 0 && s.Checks[n-1].Phase == phase {
			phase = ""
		}
		rows = append(rows, []string{
			stage.Mark(c.OK), phase, c.Client, count(c.Attempts), count(c.Passed), c.Theory.String(), count(c.Backend),
			count(c.Refused), count(c.Unanswered), c.Why,
		})
	}
	p.Grid([]render.Column{
		left(" "), left("PHASE"), left("CLIENT"), right("ATTEMPTS"), right("PASSED"), right("THEORY"), right("BACKEND"),
		right("429"), right("NO ANSWER"), left("WHY"),
	}, rows)
}

func (s Summary) facts(p *render.Page) {
	var rows [][]string
	for _, f := range s.Facts {
		rows = append(rows, []string{stage.Mark(f.OK), f.What, f.Measured, f.Expected, f.By})
	}
	p.Grid([]render.Column{left(" "), left("WHAT"), right("MEASURED"), right("EXPECTED"), left("BY")}, rows)
}

func (s Summary) latencies(p *render.Page) {
	var rows [][]string
	for _, c := range s.Checks {
		if l := c.Latency; l != nil {
			rows = append(rows, []string{c.Phase, count(c.Passed), millis(l.Median), millis(l.P99), millis(l.Worst)})
		}
	}
	p.Grid([]render.Column{
		left("OTHER CLIENT, WHILE"), right("REQUESTS"), right("MEDIAN"), right("99 %"), right("WORST"),
	}, rows)
}

func (s Summary) costs(p *render.Page) {
	var rows [][]string
	for _, c := range s.Costs {
		rows = append(rows, []string{
			c.Of, count(c.Times), micros(c.each(c.Agent)), micros(c.each(c.Soft)), micros(c.each(c.Agent + c.Soft)),
		})
	}
	p.Grid([]render.Column{
		left("CPU TIME OF EACH"), right("TIMES"), right("AGENT"), right("SOFTIRQ"), right("TOGETHER"),
	}, rows)
	p.Line("AGENT is user and system time of its process, in which it also reads samples of dropped packets, up to 100 a second from")
	p.Line("each CPU. The other client's requests, %s each while nobody floods, are taken off. SOFTIRQ is that of the whole", millis(s.Visit))
	p.Line("machine, as the kernel samples it: packets that the server receives, that the clients receive, and whatever else goes on.")
	p.Line("From the refusal that was one too many to the first dropped packet it took at most %s.", millis(s.FirstDrop))
}

func millis(seconds float64) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }

func micros(seconds float64) string { return fmt.Sprintf("%.2f µs", seconds*1e6) }

func count(n uint64) string { return strconv.FormatUint(n, 10) }
