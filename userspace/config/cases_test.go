package config_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// TestCase01HeaderNeedsTrust: without trusted proxies or hops no header is believed, and a file
// that asks for that is refused.
func TestCase01HeaderNeedsTrust(t *testing.T) {
	refused(t, "http: {client_ip: {header: X-Real-IP}}", "anybody could forge")
	refused(t, "http: {client_ip: {header: X-Real-IP, trusted_proxies: ['::/0']}}", "anybody could forge")
	if got := parse(t, "").HTTP.ClientIP.Header; got != "" {
		t.Errorf("header %q is believed by default", got)
	}
}

func refused(t *testing.T, text, why string) {
	t.Helper()
	if _, err := config.Parse("FILE", []byte(text)); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%s: error %v, want one that tells %q", text, err, why)
	}
}

// TestCase07PrefixByDefault: who says nothing limits IPv6 by /64 (also case 6).
func TestCase07PrefixByDefault(t *testing.T) {
	c := parse(t, "").HTTP.ClientIP
	if c.IPv4Prefix != 32 || c.IPv6Prefix != 64 {
		t.Errorf("prefixes /%d and /%d, want /32 and /64", c.IPv4Prefix, c.IPv6Prefix)
	}
}

// TestCase08Tiers: one rule limits a /64, the /48 and the /32 that it is in together.
func TestCase08Tiers(t *testing.T) {
	h := parse(t, `
http:
  zones:
    host: {key: ip, rate: 10r/s}
    site: {key: ip, rate: 100r/s, ipv6_prefix: 48, ipv4_prefix: 24, allow: ["2001:db8:1::1"]}
    isp:  {key: ip, rate: 1000r/s, ipv6_prefix: 32, ipv4_prefix: 16}
  rules:
    - limits: [{zone: host, burst: 20}, {zone: site, burst: 200}, {zone: isp, burst: 2000}]
`).HTTP
	for i, want := range [][2]int{{0, 0}, {24, 48}, {16, 32}} {
		if z := h.Zones[i]; z.IPv4Prefix != want[0] || z.IPv6Prefix != want[1] {
			t.Errorf("zone %s: /%d and /%d, want %v", z.Name, z.IPv4Prefix, z.IPv6Prefix, want)
		}
	}
	if got, want := h.Zones[1].Allow[0][0].Prefix, netip.MustParsePrefix("2001:db8:1::/48"); got != want {
		t.Errorf("allowed %v, want %v, which the zone counts together", got, want)
	}
}

// TestCase09OneSpelling: IPv4 in IPv6 is IPv4, and an address has one spelling.
func TestCase09OneSpelling(t *testing.T) {
	a := parse(t, `http: {allow: ["::ffff:192.0.2.7", "2001:DB8:0:0::1"]}`).HTTP.Allow
	if a[0] != netip.MustParsePrefix("192.0.2.7/32") || a[1] != netip.MustParsePrefix("2001:db8::1/128") {
		t.Errorf("allow %v", a)
	}
}

// TestCase31NginxMilliseconds: 3000r/s with burst 0 is 1000r/s to nginx, which is said; the
// default algorithm has no such limit.
func TestCase31NginxMilliseconds(t *testing.T) {
	const file = "http: {zones: {z: {key: ip, rate: 3000r/s, algorithm: ALGORITHM}}, rules: [{limits: [{zone: z, burst: BURST}]}]}"
	for _, tt := range []struct {
		algorithm, burst string
		warnings         int
	}{
		{"nginx", "0", 1}, {"nginx", "1", 1}, {"nginx", "2", 0}, {"leaky", "0", 0},
	} {
		text := strings.NewReplacer("ALGORITHM", tt.algorithm, "BURST", tt.burst).Replace(file)
		if got := parse(t, text).Warnings; len(got) != tt.warnings {
			t.Errorf("%s with burst %s: warnings %v, want %d", tt.algorithm, tt.burst, got, tt.warnings)
		}
	}
}

// TestCase34StatusByDefault: a rejection is 429, by rate and by requests at a time alike.
func TestCase34StatusByDefault(t *testing.T) {
	for _, limits := range []string{"[{zone: a}]", "[{zone: s}]"} {
		if got := ruleOf(t, "{limits: "+limits+"}").Status; got != 429 {
			t.Errorf("limits: %s: status %d, want 429", limits, got)
		}
	}
}

// TestCase35BurstIsWritten: the burst is what the file says, 0 if it says nothing, and never
// follows from the rate.
func TestCase35BurstIsWritten(t *testing.T) {
	if got := ruleOf(t, "{limits: [{zone: a}]}").Limits[0].Burst; got != 0 {
		t.Errorf("burst %d, want 0", got)
	}
	if got := ruleOf(t, "{limits: [{zone: a, burst: 7}]}").Limits[0].Burst; got != 7 {
		t.Errorf("burst %d, want 7", got)
	}
}
