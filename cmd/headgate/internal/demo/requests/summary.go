package requests

import "github.com/headgate/headgate/cmd/headgate/internal/demo/theory"

// Check is what became of one client's requests in one phase.
type Check struct {
	Phase      string       `json:"phase"`
	Client     string       `json:"client"`
	Attempts   uint64       `json:"attempts"` // requests, and connections that were asked for
	Passed     uint64       `json:"passed"`
	Theory     theory.Range `json:"theory"`  // of what passes
	Backend    uint64       `json:"backend"` // what it counted
	Refused    uint64       `json:"refused"`
	Unanswered uint64       `json:"unanswered"` // that the kernel has dropped
	Entered    uint64       `json:"entered"`    // connections that it should have
	Why        string       `json:"why"`
	Latency    *Latency     `json:"latency,omitempty"` // of the visitor
	OK         bool         `json:"ok"`
}

// judge says whether all parties agree.
func (c *Check) judge() {
	c.OK = c.Theory.Contains(c.Passed) && c.Backend == c.Passed && c.Entered == 0
}

// Fact is something beside that two parties have to agree on.
type Fact struct {
	What     string `json:"what"`
	Measured string `json:"measured"`
	Expected string `json:"expected"`
	By       string `json:"by"` // whose word is expected
	OK       bool   `json:"ok"`
}

// same returns the fact that two numbers are the same, if they are.
func same(what string, measured, expected uint64, by string) Fact {
	return Fact{what, count(measured), count(expected), by, measured == expected}
}

// Cost is the CPU time of what was done many times, in seconds.
type Cost struct {
	Of    string  `json:"of"`
	Times uint64  `json:"times"`
	Agent float64 `json:"agent_seconds"`   // of its process, user and system, without visits
	Soft  float64 `json:"softirq_seconds"` // of the whole machine
}

// each returns how long one of them took.
func (c Cost) each(seconds float64) float64 { return seconds / float64(max(c.Times, 1)) }

// Summary is the result of the act.
type Summary struct {
	Checks []Check `json:"checks"`
	Facts  []Fact  `json:"facts"`
	Costs  []Cost  `json:"costs"`
	// Visit is how much CPU time of the agent a visitor's request takes while nobody floods, in seconds.
	Visit float64 `json:"visit_seconds"`
	// FirstDrop is how long it took at most from the refusal that was one too many to the first dropped packet, in
	// seconds.
	FirstDrop float64 `json:"first_drop_seconds"`
}

// Lines returns how many lines of the summary there are to check.
func (s Summary) Lines() int { return len(s.Checks) + len(s.Facts) }

// Off returns how many of them are not what they should be.
func (s Summary) Off() int {
	off := 0
	for _, c := range s.Checks {
		if !c.OK {
			off++
		}
	}
	for _, f := range s.Facts {
		if !f.OK {
			off++
		}
	}
	return off
}
