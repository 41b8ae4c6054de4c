package admin

import (
	"net/http"
	"strings"
	"unicode"
)

// ReportBody is a report that a source has offended.
type ReportBody struct {
	Prefix string `json:"prefix" doc:"an address, or a prefix that is no wider than those that are handed down"`
	Reason string `json:"reason,omitempty" doc:"in words, of at most 200 bytes"`
	Count  int    `json:"count,omitempty" doc:"of offences, 1 to 1000000; by default 1"`
}

// Nothing is the body of a request that has nothing to say.
type Nothing struct{}

// Reloaded is the answer to a reload.
type Reloaded struct {
	Config ConfigStatus `json:"config"`
}

// Drained is the answer to a drain.
type Drained struct {
	Draining bool `json:"draining"`
}

// Bounds of a report.
const (
	maxReason = 200
	maxCount  = 1_000_000
)

func agentOperations() []operation {
	refused := []int{http.StatusConflict, http.StatusUnprocessableEntity}
	return []operation{
		reads(operation{
			method: http.MethodGet, path: "/v1/status", id: "status", summary: "What the agent is and does",
		}, func(a Agent, _ *http.Request) (Status, error) { return a.Status(), nil }),
		reads(operation{
			method: http.MethodGet, path: "/v1/offenders", id: "listOffenders",
			summary: "The sources that were refused again and again", query: []parameter{shown()}, failures: refused[:1],
		}, func(a Agent, r *http.Request) ([]Offender, error) { return a.Offenders(number(r)) }),
		takes(operation{
			method: http.MethodPost, path: "/v1/reports", id: "report", failures: refused,
			summary: "Report a source that has offended",
			details: "It counts like requests that were refused: with enough of them the source is handed down to the kernel.",
		}, report),
		takes(operation{
			method: http.MethodPost, path: "/v1/reload", id: "reload", failures: refused[1:], told: true,
			summary: "Read the configuration again", details: "The whole new file is in force after it, or none of it.",
		}, func(a Agent, _ *http.Request, _ Nothing) (Reloaded, error) {
			err := a.Reload()
			return Reloaded{a.Status().Config}, err
		}),
		takes(operation{
			method: http.MethodPost, path: "/v1/drain", id: "drain",
			summary: "End the agent", details: "It takes no new connections, and ends with the requests under way. The kernel's limiter stays in force.",
		}, func(a Agent, _ *http.Request, _ Nothing) (Drained, error) {
			a.Drain()
			return Drained{true}, nil
		}),
	}
}

func report(a Agent, _ *http.Request, b ReportBody) (Outcome, error) {
	prefix, err := parsePrefix(b.Prefix)
	if err != nil {
		return Outcome{}, Refusal{err}
	}
	if b.Count == 0 {
		b.Count = 1
	}
	if b.Count < 1 || b.Count > maxCount {
		return Outcome{}, problem(http.StatusUnprocessableEntity, "count %d: use 1 to %d", b.Count, maxCount)
	}
	if err := checkReason(b.Reason); err != nil {
		return Outcome{}, err
	}
	return a.Report(Report{Prefix: prefix, Reason: b.Reason, Origin: "report", Count: b.Count})
}

// checkReason returns an error for a reason that cannot be logged.
func checkReason(reason string) error {
	switch {
	case len(reason) > maxReason:
		return problem(http.StatusUnprocessableEntity, "the reason is longer than %d bytes; shorten it", maxReason)
	case strings.ContainsFunc(reason, unicode.IsControl):
		return problem(http.StatusUnprocessableEntity, "the reason has characters that do not print; leave them out")
	}
	return nil
}
