package prometheus_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// dashboard is what of Grafana's JSON is for Prometheus.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/grafana/headgate.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// asSent returns a query with Grafana's variables replaced as Grafana does it.
func asSent(query string) string {
	return strings.NewReplacer("$job", "headgate", "$instance", "a|b", "$__rate_interval", "1m0s").Replace(query)
}

// Each query of the dashboard is one that Prometheus takes, and returns series.
func TestDashboard(t *testing.T) {
	d, queries := readDashboard(t), 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			checkKind(t, p.Title, asSent(target.Expr), parser.ValueTypeVector)
			queries++
		}
	}
	for _, a := range d.Annotations.List {
		checkKind(t, a.Name, asSent(a.Expr), parser.ValueTypeVector)
		queries++
	}
	if queries == 0 {
		t.Error("the dashboard has no queries")
	}
}

// Variables are filled by labels of series that a selector finds.
func TestDashboardVariables(t *testing.T) {
	for _, v := range readDashboard(t).Templating.List {
		if v.Definition == "" {
			continue // the data source
		}
		inner, isCall := strings.CutPrefix(strings.TrimSuffix(v.Definition, ")"), "label_values(")
		comma := strings.LastIndex(inner, ", ")
		if !isCall || comma < 0 || inner[comma+2:] != v.Name {
			t.Errorf("%s is %s", v.Name, v.Definition)
			continue
		}
		if _, err := newParser().ParseMetricSelector(asSent(inner[:comma])); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
}
