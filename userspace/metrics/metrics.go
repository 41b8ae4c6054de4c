package metrics

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds on scrapes. A Prometheus and somebody who looks are two; what is more waits for nothing, and is told 503.
const (
	scrapes       = 4
	scrapeTimeout = 10 * time.Second
)

// Metrics is what Prometheus reads. All methods may be called at the same time.
type Metrics struct {
	registry  *prometheus.Registry
	latencies *latencies
	log       *slog.Logger
}

// New returns metrics of s, of the process and of the Go runtime, in a registry of their own.
func New(s Sources) *Metrics {
	c := newCollector(s)
	m := &Metrics{registry: prometheus.NewPedanticRegistry(), latencies: newLatencies(), log: c.sources.Log}
	m.registry.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.Servers != nil {
		m.registry.MustRegister(m.latencies.vec)
	}
	return m
}

// ObserveUpstream counts an answer of the backend, whose header came after latency; status 0 is for no answer.
func (m *Metrics) ObserveUpstream(status int, latency time.Duration) {
	m.latencies.observe(status, latency)
}

// Handler serves /metrics, as text or OpenMetrics, as the scraper asks for. What can be read is
// served also if something else cannot.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            errorLog{m.log},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapes,
		Timeout:             scrapeTimeout,
		EnableOpenMetrics:   true,
	})
}

// errorLog is a promhttp.Logger.
type errorLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l errorLog) Println(v ...any) {
	l.log.Error("metrics are not complete", "error", fmt.Sprint(v...))
}
