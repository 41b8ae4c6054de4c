package e2e_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// metric returns the sum of all series of a metric that have the labels, as `name="value"`.
func (s *site) metric(name string, labels ...string) (sum float64) {
	s.tb.Helper()
	r := s.local("9090").get("/metrics")
	if r.status != http.StatusOK {
		s.tb.Fatalf("/metrics has %d: %s", r.status, r.body)
	}
	found := false
	for line := range strings.Lines(r.body) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if before, _, _ := strings.Cut(series, "{"); before != name || !hasAll(series, labels) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			s.tb.Fatalf("%s: %v", line, err)
		}
		sum, found = sum+n, true
	}
	if !found {
		s.tb.Fatalf("no %s with %q is in the metrics", name, labels)
	}
	return sum
}

func hasAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// After a flood the kernel's drops stand beside what HTTP has refused, both exact.
func TestAgentMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	s.start(serving + `
kernel:
  interfaces: [IFACE]
  max_sources: 4096
  policies: [{name: dns, proto: udp, port: 53, rate: 6pph, burst: 5}]
  rules: [{prefix: 198.18.0.0/15, block: true}]
`)
	s.wantPassed(flooder, 105, 5)
	s.wantPassed("198.18.0.1", 7, 0)
	s.browser(modest).wantStatuses(9, 2)
	for _, want := range []struct {
		n      float64
		name   string
		labels []string
	}{
		{100, "headgate_kernel_packets_total", []string{`verdict="drop"`, `reason="over_packet_limit"`}},
		{7, "headgate_kernel_packets_total", []string{`verdict="drop"`, `reason="blocked"`}},
		{100, "headgate_kernel_policy_packets_total", []string{`policy="dns"`, `verdict="drop"`}},
		{2, "headgate_http_zone_requests_total", []string{`zone="perip"`, `outcome="allowed"`}},
		{7, "headgate_http_zone_requests_total", []string{`zone="perip"`, `outcome="refused"`}},
		{1, "headgate_kernel_rules", []string{`action="block"`, `origin="config"`}},
		{1, "headgate_build_info", nil},
	} {
		if got := s.metric(want.name, want.labels...); got != want.n {
			t.Errorf("%s%q is %v, want %v", want.name, want.labels, got, want.n)
		}
	}
	body := s.local("9090").get("/metrics").body
	for _, address := range []string{flooder, modest, "198.18"} {
		if strings.Contains(body, address) {
			t.Errorf("an address, %s, is in the metrics", address)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if r := s.local("9090").get(path); r.status != http.StatusOK {
			t.Errorf("%s has %d: %s", path, r.status, fmt.Sprint(r.body))
		}
	}
}
