package metrics_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// known says what a query may be about: the labels and kinds of all metrics.
type known map[string]struct {
	labels []string
	kind   dto.MetricType
}

// value is what an expression yields.
type value struct {
	labels  []string
	scalar  bool
	ranged  bool // a range vector
	counter bool // an instant vector of a counter, whose value says nothing
}

// parser reads as much of PromQL as the dashboard and the alerts use, and checks that it makes sense.
type parser struct {
	known  known
	tokens []string
	used   map[string]bool // metrics
}

var (
	token      = regexp.MustCompile(`^\s*("(?:[^"\\]|\\.)*"|\[[^\]]*\]|[0-9]+[smhd]\b|[0-9.]+|[a-zA-Z_:][a-zA-Z0-9_:]*|=~|!~|!=|==|>=|<=|[-+*/(){},=<>])`)
	duration   = regexp.MustCompile(`^\[(\d+[smhd]|\$__rate_interval)\]$`)
	offset     = regexp.MustCompile(`^\d+[smhd]$`)
	aggregates = []string{"sum", "min", "max", "count", "topk"}
	operators  = []string{"+", "-", "*", "/", "==", "!=", "<", ">", "<=", ">=", "or", "and", "unless"}
)

// parse returns what query yields, or panics with an error.
func (k known) parse(query string, used map[string]bool) (v value, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v, in %s", r, query)
		}
	}()
	p := &parser{known: k, used: used}
	for rest := strings.TrimSpace(query); rest != ""; rest = strings.TrimSpace(rest) {
		m := token.FindStringSubmatch(rest)
		if m == nil {
			panic("no PromQL: " + rest)
		}
		p.tokens, rest = append(p.tokens, m[1]), rest[len(m[0]):]
	}
	v = p.expression()
	if len(p.tokens) > 0 {
		panic("not read: " + strings.Join(p.tokens, " "))
	}
	p.instant(v)
	return v, nil
}

func (p *parser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *parser) next() string {
	t := p.peek()
	if t == "" {
		panic("ends too early")
	}
	p.tokens = p.tokens[1:]
	return t
}

func (p *parser) expect(want string) {
	if got := p.next(); got != want {
		panic(fmt.Sprintf("%s in place of %s", got, want))
	}
}

func (p *parser) expression() value {
	left := p.primary()
	for slices.Contains(operators, p.peek()) {
		p.next()
		p.instant(left)
		right := p.primary()
		p.instant(right)
		switch {
		case left.scalar:
			left = right
		case !right.scalar && len(left.labels) > 0 && len(right.labels) > 0 && !slices.Equal(left.labels, right.labels):
			panic(fmt.Sprintf("sides that never match: %v and %v", left.labels, right.labels))
		}
	}
	return left
}

// instant checks that v can be shown or calculated with.
func (p *parser) instant(v value) {
	if v.ranged {
		panic("a range without a function")
	}
	if v.counter {
		panic("a counter without rate or increase")
	}
}

func (p *parser) primary() value {
	switch t := p.next(); {
	case t == "(":
		v := p.expression()
		p.expect(")")
		return v
	case offset.MatchString(t):
		panic("a time that nothing is of: " + t)
	case t[0] >= '0' && t[0] <= '9':
		return value{scalar: true}
	case slices.Contains(aggregates, t):
		return p.aggregate(t)
	case p.peek() == "(":
		return p.call(t)
	default:
		return p.selector(t)
	}
}

func (p *parser) aggregate(name string) value {
	var by []string
	if p.peek() == "by" {
		p.next()
		by = p.list()
	}
	p.expect("(")
	if name == "topk" {
		p.number()
	}
	v := p.expression()
	p.expect(")")
	p.instant(v)
	for _, l := range by {
		if !slices.Contains(v.labels, l) {
			panic(fmt.Sprintf("%s by %s, of %v", name, l, v.labels))
		}
	}
	if name == "topk" {
		return v
	}
	slices.Sort(by)
	return value{labels: by}
}

func (p *parser) number() {
	if !p.primary().scalar {
		panic("no number")
	}
	p.expect(",")
}

func (p *parser) list() (names []string) {
	p.expect("(")
	for {
		names = append(names, p.next())
		if p.next() == ")" {
			return names
		}
	}
}

func (p *parser) call(name string) value {
	p.expect("(")
	defer p.expect(")")
	switch name {
	case "rate", "increase", "changes":
		v := p.primary()
		if !v.ranged || v.counter == (name == "changes") {
			panic(name + " of no range, or not of a counter")
		}
		return value{labels: v.labels}
	case "histogram_quantile":
		p.number()
		v := p.expression()
		if !slices.Contains(v.labels, "le") {
			panic("a quantile without le")
		}
		return value{labels: slices.DeleteFunc(v.labels, func(l string) bool { return l == "le" })}
	case "vector":
		p.primary()
		return value{}
	}
	panic("function " + name)
}

func (p *parser) selector(name string) value {
	m, is := p.known[name]
	if !is {
		panic("nothing exports " + name)
	}
	p.used[name] = true
	if p.peek() == "{" {
		p.matchers(m.labels)
	}
	v := value{labels: slices.Clone(m.labels), counter: m.kind == dto.MetricType_COUNTER}
	if strings.HasPrefix(p.peek(), "[") {
		if r := p.next(); !duration.MatchString(r) {
			panic("range " + r)
		}
		v.ranged = true
	}
	if p.peek() == "offset" {
		p.next()
		if o := p.next(); !offset.MatchString(o) {
			panic("offset " + o)
		}
	}
	return v
}

func (p *parser) matchers(labels []string) {
	p.expect("{")
	for {
		if l := p.next(); !slices.Contains(labels, l) {
			panic(fmt.Sprintf("label %s, of %v", l, labels))
		}
		if op := p.next(); !slices.Contains([]string{"=", "!=", "=~", "!~"}, op) {
			panic("matcher " + op)
		}
		if text := p.next(); text[0] != '"' {
			panic("no text: " + text)
		}
		if p.next() == "}" {
			return
		}
	}
}

// The parser refuses what would show nothing.
func TestParser(t *testing.T) {
	k := exported(t)
	for _, right := range []string{
		`up == 0`,
		`sum by (job, reason) (rate(headgate_kernel_packets_total{verdict="drop"}[5m])) > 0.5`,
		`histogram_quantile(0.99, sum by (le) (rate(headgate_upstream_response_duration_seconds_bucket[$__rate_interval])))`,
		`count(headgate_upstream_healthy == 0) or vector(0)`,
		`headgate_fleet_members < headgate_fleet_members offset 1h`, `rate(headgate_store_calls_total[5m] offset 1d)`,
	} {
		if _, err := k.parse(right, map[string]bool{}); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []string{
		`headgate_kernel_packet_total`, `headgate_kernel_packets_total`, `rate(headgate_kernel_packets_total)`,
		`rate(headgate_kernel_rules[5m])`, `rate(headgate_kernel_packets_total{verdit="drop"}[5m])`,
		`sum by (rule) (rate(headgate_kernel_packets_total[5m]))`, `sum(headgate_kernel_rules`, `headgate_kernel_rules[5m]`,
		`headgate_kernel_rules)`, `sum by (verdict) (rate(headgate_kernel_packets_total[5m])) / sum by (job) (up)`,
		`rate(headgate_kernel_packets_total[5])`, `histogram_quantile(0.9, up)`, `nosuch(up)`, `up{job=~5}`, `up > `,
		`up > 5m`, `up offset`, `up offset 5`, `up offset 5m offset 5m`, `offset 5m`,
	} {
		if _, err := k.parse(wrong, map[string]bool{}); err == nil {
			t.Errorf("no error: %s", wrong)
		}
	}
}
