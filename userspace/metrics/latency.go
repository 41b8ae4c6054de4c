package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// classes are the labels for the first digit of a status; anything else is "none".
const classes = 6

// latencies is how long the backend took. Nobody else keeps that, so it is counted here.
type latencies struct {
	vec     *prometheus.HistogramVec
	byClass [classes]prometheus.Observer
}

func newLatencies() *latencies {
	l := &latencies{vec: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace,
		Name:      "upstream_response_duration_seconds",
		Help:      "Seconds until the header of the backend's answer was there, by class of status; none for no answer.",
		Buckets:   []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},

		NativeHistogramBucketFactor:    1.1,
		NativeHistogramMaxBucketNumber: 160,
	}, []string{"class"})}
	for i, class := range [classes]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"} {
		l.byClass[i] = l.vec.WithLabelValues(class)
	}
	return l
}

func (l *latencies) observe(status int, latency time.Duration) {
	class := status / 100
	if class < 0 || class >= classes {
		class = 0
	}
	l.byClass[class].Observe(latency.Seconds())
}
