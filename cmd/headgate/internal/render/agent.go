package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/admin"
)

// Agent says what an agent is and does.
type Agent struct{ admin.Status }

// hashDigits is how much of a file's hash people are shown.
const hashDigits = 12

// Table writes facts, listeners and servers.
func (a Agent) Table(p *Page) {
	p.Facts(a.facts()...)
	p.Section()
	a.listeners(p)
	if len(a.Upstream) > 0 {
		p.Section()
		a.upstream(p)
	}
}

func (a Agent) facts() []Fact {
	facts := []Fact{
		{"version", a.Version},
		{"process", strconv.Itoa(a.PID) + ", up " + span(a.UptimeSeconds) + a.draining()},
		{"file", fmt.Sprintf("%s (%.*s), read %s", a.Config.File, hashDigits, a.Config.SHA256, moment(a.Config.LoadedAt))},
	}
	if a.Config.Error != "" {
		failed := "changed nothing: " + a.Config.Error
		if a.Config.FailedAt != nil {
			failed = "of " + moment(*a.Config.FailedAt) + " " + failed
		}
		facts = append(facts, Fact{"last reload", failed})
	}
	facts = append(facts, Fact{"interfaces", a.interfaces()}, Fact{"hand-down", onOff(a.HandDown)})
	for _, l := range a.NginxLogs {
		text := l.Path
		if l.Error != "" {
			text = "not read: " + l.Error
		}
		facts = append(facts, Fact{"nginx's log", text})
	}
	return append(facts, Fact{"adaptive", a.adaptive()})
}

// interfaces says of each interface what is not as it should be.
func (a Agent) interfaces() string {
	if len(a.Interfaces) == 0 {
		return "not limited by this agent"
	}
	var all []string
	for _, i := range a.Interfaces {
		all = append(all, i.Name+interfaceState(i))
	}
	return strings.Join(all, ", ")
}

func interfaceState(i admin.Interface) string {
	switch i.State {
	case admin.Attached:
		return ""
	case admin.Missing:
		return " (missing, will be attached when it appears)"
	case admin.Detached:
		return " (detached by hand; headgate reload attaches it again)"
	case admin.Failed:
		return " (not attached: " + i.Error + ")"
	default:
		return " (" + i.State + ")"
	}
}

func (a Agent) draining() string {
	if a.Draining {
		return "; it ends when the requests under way have"
	}
	return ""
}

func (a Agent) adaptive() string {
	s := a.Adaptive
	if s == nil {
		return "off"
	}
	value, target := plainNumber(s.Value), plainNumber(s.Target)
	if s.Signal == "latency" {
		value, target = span(s.Value), span(s.Target)
	}
	text := fmt.Sprintf("rates times %s (%s to %s), as %s is %s, and should be at most %s",
		plainNumber(s.Factor), plainNumber(s.Floor), plainNumber(s.Ceiling), strings.ReplaceAll(s.Signal, "_", " "), value, target)
	if s.Observe {
		text += "; observed only"
	}
	return text
}

func (a Agent) listeners(p *Page) {
	var rows [][]string
	for _, l := range a.Listeners {
		rows = append(rows, []string{l.Serves, l.Network, l.Address, yesNo(l.TLS), strconv.FormatUint(l.Requests, 10)})
	}
	p.Grid([]Column{left("SERVES"), left("NETWORK"), left("ADDRESS"), left("TLS"), right("REQUESTS")}, rows)
}

func (a Agent) upstream(p *Page) {
	var rows [][]string
	for _, s := range a.Upstream {
		rows = append(rows, []string{s.URL, strings.ReplaceAll(s.Health, "_", " "), strconv.FormatInt(s.InFlight, 10), orDash(s.Error)})
	}
	p.Grid([]Column{left("SERVER"), left("HEALTH"), right("IN FLIGHT"), left("ERROR")}, rows)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// span writes a number of seconds as a duration, in milliseconds where it is short.
func span(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < time.Minute {
		return Duration(d.Round(time.Millisecond))
	}
	return Duration(d.Round(time.Second))
}

// plainNumber writes a measured number with up to two decimals.
func plainNumber(n float64) string {
	text := strings.TrimRight(strconv.FormatFloat(n, 'f', 2, 64), "0")
	return strings.TrimSuffix(text, ".")
}

func moment(t time.Time) string { return t.Format(time.DateTime) }
