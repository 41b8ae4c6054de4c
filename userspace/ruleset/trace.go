package ruleset

import (
	"fmt"
	"strings"

	"github.com/headgate/headgate/userspace/limit"
)

// String returns the decision as people read it, in a line, and in another line each limit
// in the order in which they were asked, with the key that was charged, and each that was skipped.
func (d *Decision) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; client %s\n", d.verdict(), d.clientText())
	for i := range d.Limits {
		a := &d.Limits[i]
		fmt.Fprintf(&b, "  %s%s, zone %s, key %s: %s\n", a.Rule, dryRunText(a.DryRun), a.Zone, a.Key(), a.text())
	}
	for _, s := range d.Skipped {
		fmt.Fprintf(&b, "  %s, zone %s: skipped, %s\n", s.Rule, s.Zone, s.Why)
	}
	return b.String()
}

func (d *Decision) verdict() string {
	by := fmt.Sprintf(" by zone %s of %s, excess %d.%03d", d.Zone, d.Rule, d.Excess/1000, d.Excess%1000)
	switch {
	case !d.Allowed && d.RetryAfter == limit.Never:
		return fmt.Sprintf("refused with %d%s, no waiting helps", d.Status, by)
	case !d.Allowed:
		return fmt.Sprintf("refused with %d%s, retry after %v", d.Status, by, d.RetryAfter)
	case d.Delay > 0:
		return fmt.Sprintf("delayed for %v%s", d.Delay, by)
	case d.DryRun:
		return "allowed as dry run, else held up" + by
	case d.exempt:
		return "allowed, no rule is asked"
	}
	return "allowed"
}

func (d *Decision) clientText() string {
	if !d.Client.IsValid() {
		return "unknown"
	}
	return fmt.Sprintf("%s (%s)", d.Client, d.ClientFrom)
}

func dryRunText(dryRun bool) string {
	if dryRun {
		return " (dry run)"
	}
	return ""
}

// text says what a limit found, and who decided where machines share it.
func (a *Applied) text() string {
	switch a.Store {
	case NotShared:
		return resultText(a.Result)
	case Redis:
		if a.Unknown {
			return "not looked at, as another limit refused"
		}
		return resultText(a.Result) + " over all machines"
	case Local:
		return resultText(a.Result) + " of this machine's part, as the store does not answer"
	case Open:
		return "allowed, as the store does not answer"
	case Closed:
		return "refused, as the store does not answer"
	default:
		return "not asked, as another limit refused"
	}
}

func resultText(r limit.Result) string {
	verdict := "allowed"
	switch {
	case !r.Allowed:
		verdict = "refused"
	case r.Delay > 0:
		verdict = fmt.Sprintf("delayed for %v", r.Delay)
	}
	return fmt.Sprintf("%s, %d of %d remain", verdict, r.Remaining, r.Limit)
}
