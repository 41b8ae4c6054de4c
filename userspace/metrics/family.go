package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "headgate"

// family is a metric with all of its labels.
type family struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	labels int
}

func counter(name, help string, labels ...string) *family {
	return newFamily(prometheus.CounterValue, name, help, labels)
}

func gauge(name, help string, labels ...string) *family {
	return newFamily(prometheus.GaugeValue, name, help, labels)
}

func newFamily(kind prometheus.ValueType, name, help string, labels []string) *family {
	return &family{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil), kind, len(labels)}
}

// sample is one series in a scrape.
type sample struct {
	family *family
	labels string // joined
}

// separator is in no label, as it is not valid UTF-8.
const separator = "\xff"

// scrape collects samples. Those with the same labels are added up: one that comes twice would make
// Prometheus' client refuse all of them, and nobody promises that two rules have two names.
type scrape map[sample]float64

func (s scrape) add(f *family, value float64, labels ...string) {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "\uFFFD")
	}
	s[sample{f, strings.Join(labels, separator)}] += value
}

func (s scrape) count(f *family, n uint64, labels ...string) { s.add(f, float64(n), labels...) }

func (s scrape) flag(f *family, is bool, labels ...string) {
	value := 0.0
	if is {
		value = 1
	}
	s.add(f, value, labels...)
}

// send gives all samples to Prometheus' client.
func (s scrape) send(to chan<- prometheus.Metric) {
	for k, value := range s {
		var labels []string
		if k.family.labels > 0 {
			labels = strings.Split(k.labels, separator)
		}
		m, err := prometheus.NewConstMetric(k.family.desc, k.family.kind, value, labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(k.family.desc, err)
		}
		to <- m
	}
}
