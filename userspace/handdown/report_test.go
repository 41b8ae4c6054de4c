package handdown

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

func (l *lab) report(prefix string, count int) Outcome {
	l.Helper()
	o, err := l.Report(l.Context(), netip.MustParsePrefix(prefix), Report, "failed login", count)
	if err != nil {
		l.Error(err)
	}
	return o
}

func TestReport(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		want := func(got Outcome, prefix string, result Result, reason string, offences int, period time.Duration) {
			l.Helper()
			full := Outcome{netip.MustParsePrefix(prefix), result, reason, offences, 3, 10 * time.Second, period, false}
			if got != full {
				l.Errorf("%+v, want %+v", got, full)
			}
		}
		want(l.report("192.0.2.1/32", 1), "192.0.2.1/32", Counted, "", 1, 0)
		want(l.report("192.0.2.1/32", 1), "192.0.2.1/32", Counted, "", 2, 0)
		want(l.report("192.0.2.1/32", 1), "192.0.2.1/32", HandedDown, "", 0, time.Minute)
		l.pass(time.Second)
		want(l.report("192.0.2.1/32", 1), "192.0.2.1/32", HandedDown, "", 0, 59*time.Second)
		want(l.report("2001:db8::1/128", 1000), "2001:db8::/64", HandedDown, "", 0, time.Minute)
		want(l.report("10.0.0.1/32", 1), "10.0.0.1/32", Spared, "private", 0, 0)
		l.kernel.change(func() { l.kernel.protected = func(netip.Prefix) string { return "allow rule" } })
		want(l.report("192.0.2.7/32", 3), "192.0.2.7/32", Spared, "protected: allow rule", 0, 0)
		want(l.report("192.0.2.7/32", 3), "192.0.2.7/32", Spared, "protected", 0, 0)
		l.wantBlocked("192.0.2.1/32", "2001:db8::/64")
		l.wantLog("3 offences within 10s: failed login", 2)
		if n := l.Counters().Offences[Report]; n != 1011 {
			t.Errorf("%d offences", n)
		}
	})
}

func TestReportIsRefused(t *testing.T) {
	h := New(Options{Config: usual(), Kernel: &fakeKernel{}})
	tests := []struct {
		prefix netip.Prefix
		origin Origin
		count  int
		want   string
	}{
		{netip.MustParsePrefix("192.0.2.0/24"), Report, 1, "prefix 192.0.2.0/24 is wider than what offenders are handed down by; report addresses, or prefixes of /32 or longer"},
		{netip.MustParsePrefix("2001:db8::/48"), Report, 1, "prefix 2001:db8::/48 is wider"},
		{netip.MustParsePrefix("0.0.0.0/0"), Report, 1, "is wider"},
		{netip.Prefix{}, Report, 1, "no prefix"},
		{netip.MustParsePrefix("::ffff:192.0.2.1/128"), Report, 1, "use the IPv4 address"},
		{netip.MustParsePrefix("192.0.2.1/32"), "fail2ban", 1, `origin "fail2ban" is not known; use http, nginx or report`},
		{netip.MustParsePrefix("192.0.2.1/32"), Report, 0, "0 offences; use 1 or more"},
	}
	for _, test := range tests {
		_, err := h.Report(t.Context(), test.prefix, test.origin, "", test.count)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.prefix, err, test.want)
		}
	}
	if c := h.Counters(); c.Offences[Report] != 0 {
		t.Errorf("%+v", c)
	}
}

func TestReportWhileTheKernelIsAway(t *testing.T) {
	k := &fakeKernel{}
	run(t, Options{Kernel: k}, func(l *lab) {
		k.change(func() { k.err = errRefused })
		_, err := l.Report(l.Context(), netip.MustParsePrefix("192.0.2.1/32"), Report, strings.Repeat("\xff", 3*mostReason), 3)
		if !errors.Is(err, ErrWaits) {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithTimeout(l.Context(), time.Second)
		defer cancel()
		if _, err = l.Report(ctx, netip.MustParsePrefix("192.0.2.1/32"), Report, "", 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		k.change(func() { k.err = nil })
		l.pass(mostWait)
		l.wantBlocked("192.0.2.1/32")
		if n := len(l.waiters.of); n != 0 {
			t.Errorf("%d still wait", n)
		}
		if l.kernel.made[0].Action != config.Block {
			t.Error(l.kernel.made)
		}
	})
}
