package metrics_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"

	"github.com/headgate/headgate/userspace/metrics"
)

// exported returns all that a scrape with every source has, as Prometheus stores it.
func exported(t *testing.T) known {
	t.Helper()
	families, err := metrics.Registry(metrics.New(full())).Gather()
	if err != nil {
		t.Fatal(err)
	}
	k := make(known)
	add := func(name string, kind dto.MetricType, labels ...string) {
		e := k[name]
		e.kind = kind
		e.labels = slices.Sorted(slices.Values(append([]string{"instance", "job"}, labels...)))
		k[name] = e
	}
	add("up", dto.MetricType_GAUGE)
	for _, f := range families {
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		if f.GetType() != dto.MetricType_HISTOGRAM {
			add(f.GetName(), f.GetType(), labels...)
			continue
		}
		add(f.GetName()+"_bucket", dto.MetricType_COUNTER, append(slices.Clone(labels), "le")...)
		add(f.GetName()+"_sum", dto.MetricType_COUNTER, slices.Clone(labels)...)
		add(f.GetName()+"_count", dto.MetricType_COUNTER, slices.Clone(labels)...)
	}
	return k
}

// dashboard is what is checked of Grafana's JSON.
type dashboard struct {
	UID    string
	Panels []struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ H, W, X, Y int }
		Datasource               *struct{ UID string }
		Targets                  []struct{ RefID, Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Annotations struct {
		List []struct{ Expr, TitleFormat string }
	}
}

var reference = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z_0-9]+)\s*\}\}`)

// wantLabels checks that a text only refers to labels that there are.
func wantLabels(t *testing.T, where, text string, v value) {
	t.Helper()
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(v.labels, m[1]) {
			t.Errorf("%s: %q refers to %s, of %v", where, text, m[1], v.labels)
		}
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("../../deploy/grafana/headgate.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Each query of the dashboard is about metrics and labels that are exported, and each metric of ours is on it.
func TestDashboardQueries(t *testing.T) {
	k, used := exported(t), make(map[string]bool)
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			v, err := k.parse(target.Expr, used)
			if err != nil {
				t.Errorf("%s: %v", p.Title, err)
				continue
			}
			wantLabels(t, p.Title, target.LegendFormat, v)
			if !strings.Contains(target.Expr, `job=~"$job",instance=~"$instance"`) {
				t.Errorf("%s does not heed the variables: %s", p.Title, target.Expr)
			}
		}
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("%s: %d targets", p.Title, len(p.Targets))
		}
	}
	for _, a := range d.Annotations.List {
		v, err := k.parse(a.Expr, used)
		if err != nil {
			t.Error(err)
		}
		wantLabels(t, "annotation", a.TitleFormat, v)
	}
	for name := range maps.Keys(k) {
		if strings.HasPrefix(name, "headgate_") && !used[name] {
			t.Errorf("%s is on no panel", name)
		}
	}
}

// Panels tell what they show, and do not lie on each other.
func TestDashboardLayout(t *testing.T) {
	d := readDashboard(t)
	ids, cells := make(map[int]bool), make(map[[2]int]string)
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q: its number is not its own, or it has no title", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && (p.Description == "" || p.Datasource == nil || p.Datasource.UID != "${datasource}") {
			t.Errorf("%s: no description, or another data source", p.Title)
		}
		g := p.GridPos
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, is := cells[[2]int{x, y}]; is || x >= 24 {
					t.Fatalf("%s lies on %q", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
	}
	if !slices.Equal(names, []string{"datasource", "job", "instance"}) {
		t.Errorf("variables %v", names)
	}
}

// alerts is a file of rules as Prometheus reads it.
type alerts struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr string
			For         time.Duration
			Labels      struct{ Severity string }
			Annotations struct{ Summary, Description, Runbook string }
		}
	}
}

func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file alerts
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	k, seen := exported(t), make(map[string]bool)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Headgate") || r.For < time.Minute && !strings.HasPrefix(r.Expr, "changes(") {
				t.Errorf("%s: another one has its name, it has none of ours, or it fires at once", r.Alert)
			}
			seen[r.Alert] = true
			if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels.Severity) {
				t.Errorf("%s: severity %q", r.Alert, r.Labels.Severity)
			}
			v, err := k.parse(r.Expr, map[string]bool{})
			if err != nil {
				t.Errorf("%s: %v", r.Alert, err)
			}
			for _, text := range []string{r.Annotations.Summary, r.Annotations.Description, r.Annotations.Runbook} {
				if text == "" {
					t.Errorf("%s: an annotation is missing", r.Alert)
				}
				wantLabels(t, r.Alert, text, v)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d alerts", len(seen))
	}
}
