package agent_test

import (
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// told returns of whom the kernel was told, and for how long they are verified.
func (k *kernel) told() (all map[netip.Addr]time.Duration) {
	k.do(func() { all = maps.Clone(k.verified) })
	return all
}

// Whose request is allowed is verified, and who is refused is not. The file says for how long, and whether at all.
func TestClientsAreVerified(t *testing.T) {
	upstream := backend(t, ok)
	text := limited(upstream, "0") + "kernel: {interfaces: [lab0], verified_for: 1h}\nmetrics: {listen: \"unix:DIR/metrics.sock\"}\n"
	l := newLab(t, text)
	l.start()
	a, b := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")
	asks := func(addr netip.Addr) { l.get("web.sock", "/", "X-Forwarded-For", addr.String()) }
	asks(a)
	eventually(t, "a is verified", func() bool { return l.kernel.told()[a] == 75*time.Minute })
	l.reload(strings.Replace(text, "1h", "0s", 1))
	asks(b) // is allowed
	l.reload(strings.Replace(text, "1h", "10m", 1))
	asks(b) // is refused
	c := netip.MustParseAddr("203.0.113.3")
	asks(c)
	eventually(t, "c is verified", func() bool { return l.kernel.told()[c] == 12*time.Minute+30*time.Second })
	l.reload(strings.Replace(text, "1h", "4m", 1))
	d := netip.MustParseAddr("203.0.113.4")
	asks(d)
	eventually(t, "d is verified", func() bool { return l.kernel.told()[d] == 5*time.Minute })
	if told := l.kernel.told(); len(told) != 3 {
		t.Errorf("verified are %v", told)
	}
	if metrics := bodyOf(l.get("metrics.sock", "/metrics")); !strings.Contains(metrics, `headgate_verify_sources_total{result="told"} 2`) {
		t.Errorf("the metrics do not say that 2 were told of:\n%s", metrics)
	}
	l.reload(limited(upstream, "0"))
	asks(netip.MustParseAddr("203.0.113.5"))
	if told := l.kernel.told(); len(told) != 3 {
		t.Errorf("without a kernel section too: %v", told)
	}
}
