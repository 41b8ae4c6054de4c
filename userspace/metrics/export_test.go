package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Registry returns what m is made of.
func Registry(m *Metrics) *prometheus.Registry { return m.registry }

// Described returns the names of all families that are read at a scrape.
func Described() []string {
	descs := make(chan *prometheus.Desc, 1000)
	newCollector(Sources{}).Describe(descs)
	close(descs)
	var names []string
	for d := range descs {
		_, rest, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ := strings.Cut(rest, `"`)
		names = append(names, name)
	}
	return names
}
