package packets

import (
	"fmt"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

// intro says what the act is about.
func intro() string {
	return fmt.Sprintf("Real packets go from one network namespace of this demo to another. The first has %d sources, the\n"+
		"second limits them in the driver, and counts behind that, with a socket, what gets through.", len(cast()))
}

// picture is a table of what became of the packets so far.
type picture []*record

// Table writes a line for each source.
func (records picture) Table(p *render.Page) {
	var rows [][]string
	for _, r := range records {
		rows = append(rows, []string{r.name(), r.role, count(r.sent), count(r.through), count(r.sent - r.through)})
	}
	p.Grid([]render.Column{
		{Name: "SOURCE"}, {Name: "WHAT IT DOES"},
		{Name: "  SENT", Right: true}, {Name: "GOT THROUGH", Right: true}, {Name: "  LOST", Right: true},
	}, rows)
}
