package prometheus_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// newParser returns the parser of a Prometheus whose configuration switches nothing on.
func newParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// The file of alerts is one that Prometheus loads: its queries, labels and templates.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(text, false, model.LegacyValidation, newParser(), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		return
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			checkKind(t, r.Alert, r.Expr, parser.ValueTypeVector)
		}
	}
}

// checkKind checks that an expression is one, of the kind.
func checkKind(t *testing.T, where, text string, want parser.ValueType) {
	t.Helper()
	e, err := newParser().ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	if got := e.Type(); got != want {
		t.Errorf("%s: %s is a %s, not a %s", where, text, got, want)
	}
}
