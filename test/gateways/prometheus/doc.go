// Package prometheus has only tests: Prometheus' own packages read what deploy has for it and for Grafana.
package prometheus
