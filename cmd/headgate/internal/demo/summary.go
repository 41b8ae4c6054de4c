package demo

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/packets"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/requests"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

// Summary is the result of a demo.
type Summary struct {
	packets.Summary
	HTTP    requests.Summary `json:"http"`
	Seconds float64          `json:"seconds"` // that it took
	OK      bool             `json:"ok"`
}

// conclude judges.
func (s *Summary) conclude(took time.Duration) {
	s.Seconds = took.Seconds()
	s.OK = s.Off() == 0
}

// Lines returns how many lines of the summary there are to check.
func (s Summary) Lines() int { return s.Summary.Lines() + s.HTTP.Lines() }

// Off returns how many of them are not what they should be.
func (s Summary) Off() int { return s.Summary.Off() + s.HTTP.Off() }

// Table writes a line for each check.
func (s Summary) Table(p *render.Page) {
	s.Summary.Table(p)
	p.Section()
	s.HTTP.Table(p)
	p.Section()
	p.Line("%s", s.verdict())
}

func (s Summary) verdict() string {
	if off := s.Off(); off > 0 {
		return fmt.Sprintf("%s %d of %d lines are not what they should be", stage.Mark(false), off, s.Lines())
	}
	return fmt.Sprintf("%s all %d lines are what theory says, and headgate counted what others did, to the packet and the request (%s mode, %.1f s)",
		stage.Mark(true), s.Lines(), s.Mode, s.Seconds)
}
