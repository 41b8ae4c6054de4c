package config_test

import (
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/rate"
)

// contract is the file that the agent's first specification promises to read, to the letter.
const contract = `kernel:
  interfaces: [eth0]
  mode: auto
  default: {rate: 10kpps, burst: 20k, bandwidth: 100Mbit/s}
  policies: [{name: dns, proto: udp, port: 53, rate: 50pps, burst: 100}]
  rules: [{prefix: 203.0.113.0/24, limit: {rate: 100pps}}, {prefix: 10.0.0.0/8, allow: true}, {prefix: 192.0.2.0/24, block: true}]
listen: ["0.0.0.0:8080"]
upstream: ["http://127.0.0.1:9000"]
handdown: {after: 20, within: 10s, action: block, for: 1m}
metrics: {listen: "127.0.0.1:9090"}
admin: {socket: /run/headgate/admin.sock}
http: {zones: {perip: {key: ip, rate: 10r/s}}, rules: [{limits: [{zone: perip, burst: 20, nodelay: true}]}]}
`

func pps(count uint64) rate.Rate {
	return rate.Rate{Count: count, Per: time.Second, Unit: rate.Packets}
}

func bps(count uint64) rate.Rate {
	return rate.Rate{Count: count, Per: time.Second, Unit: rate.Bytes}
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func server(text string) *url.URL {
	scheme, host, _ := strings.Cut(text, "://")
	return &url.URL{Scheme: scheme, Host: host}
}

// TestContract: the file of the specification is read, without a warning, as it says.
func TestContract(t *testing.T) {
	want := fileOf(parse(t, contract).HTTP)
	want.Kernel = &config.Kernel{
		Interfaces: []string{"eth0"}, Mode: config.ModeAuto, IPv4Prefix: 32, IPv6Prefix: 64, Overflow: config.OverflowEstimate, VerifiedFor: config.DefaultVerifiedFor,
		Default: config.KernelLimit{Rate: pps(10_000), Burst: 20_000, Bandwidth: bps(12_500_000), BandwidthBurst: 12_500_000},
		Policies: []config.Policy{{
			Name: "dns", Proto: "udp", Protocol: 17, FirstPort: 53, LastPort: 53, Overflow: config.OverflowEstimate, Limit: config.KernelLimit{Rate: pps(50), Burst: 100}, Line: 5,
		}},
		Rules: []config.PrefixRule{
			{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Action: config.Limit, Limit: config.KernelLimit{Rate: pps(100), Burst: 100}, Line: 6},
			{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: config.Allow, Line: 6},
			{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Action: config.Block, Line: 6},
		},
	}
	want.Listen = []config.Listener{{Network: config.NetworkTCP, Address: "0.0.0.0:8080", Line: 7}}
	want.Upstream = &config.Upstream{
		Servers: []*url.URL{server("http://127.0.0.1:9000")}, Timeout: time.Minute, PreserveHost: true,
		Health: config.Health{Interval: 5 * time.Second, Timeout: time.Second, Failures: 3, Successes: 2},
	}
	want.HandDown = &config.HandDown{
		After: 20, Within: 10 * time.Second, Action: config.Block, For: time.Minute, Max: 24 * time.Hour,
		IPv4Prefix: 32, IPv6Prefix: 64, MaxRules: 100_000,
	}
	want.Metrics = &config.Metrics{Listen: config.Listener{Network: config.NetworkTCP, Address: "127.0.0.1:9090", Line: 10}}
	want.Admin = &config.Admin{Socket: "/run/headgate/admin.sock", Access: config.Access{Mode: 0o600}}
	compare(t, parse(t, contract), want)
}

// TestFullAgent: what a file with every field says. The http section has tests of its own.
func TestFullAgent(t *testing.T) {
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := parse(t, string(text))
	want := fileOf(got.HTTP)
	want.Kernel = fullKernel()
	want.Listen = []config.Listener{
		{Network: config.NetworkTCP, Address: "0.0.0.0:8080", Line: 50},
		{Network: config.NetworkUnix, Address: "/run/headgate/http.sock", Access: config.Access{Mode: 0o666}, Line: 51},
		{Network: config.NetworkSystemd, Address: "headgate.socket", Line: 52},
		{Network: config.NetworkTCP, Address: "[::]:8443", TLS: &config.TLS{Certificate: "tls.crt", Key: "/etc/headgate/tls.key"},
			ProxyProtocol: prefixes("127.0.0.1/32"), Line: 53},
	}
	want.Upstream = &config.Upstream{
		Servers: []*url.URL{server("http://127.0.0.1:9000"), server("https://app.internal")}, Timeout: 30 * time.Second,
		Health: config.Health{Path: "/healthz?deep=1", Interval: 2 * time.Second, Timeout: 500 * time.Millisecond, Failures: 2, Successes: 1},
	}
	want.Timeouts = config.Timeouts{
		Header: 5 * time.Second, Read: 30 * time.Second, Write: 31 * time.Second, Idle: 75 * time.Second, Tunnel: 10 * time.Minute, Drain: 20 * time.Second,
	}
	want.Auth = &config.Auth{
		Listen:   []config.Listener{{Network: config.NetworkUnix, Address: "/run/headgate/auth.sock", Access: config.Access{Group: "www-data"}, Line: 61}},
		GRPC:     []config.Listener{{Network: config.NetworkTCP, Address: "127.0.0.1:8081", TLS: &config.TLS{Certificate: "tls.crt", Key: "tls.key"}, Line: 62}},
		Gateways: prefixes("::1/128", "127.0.0.2/32"), Domain: "edge",
	}
	want.HandDown = &config.HandDown{
		After: 10, Within: 5 * time.Second, Action: config.Limit,
		Limit: config.KernelLimit{Rate: pps(10), Burst: 20, Bandwidth: bps(8000), BandwidthBurst: 64 << 10},
		For:   2 * time.Minute, Max: 12 * time.Hour, IPv4Prefix: 24, IPv6Prefix: 48, MaxRules: 10_000, DryRun: true, Private: true,
		NginxLogs: []string{"/var/log/nginx/error.log"},
	}
	want.Redis = &config.Redis{
		Addrs: []string{"192.0.2.1:26379", "redis.internal:26379"}, Mode: config.RedisSentinel, Master: "limits", Database: 3,
		Username: "headgate", PasswordFile: "redis.password",
		SentinelUsername: "watcher", SentinelPasswordFile: "/etc/headgate/sentinel.password",
		TLS:    &config.RedisTLS{CA: "ca.crt", Certificate: "redis.crt", Key: "redis.key", ServerName: "redis.internal"},
		Prefix: "edge", Name: "edge-1", Timeout: 50 * time.Millisecond, MaxInFlight: 2000,
	}
	want.Fleet = &config.Fleet{Follow: true, MaxPublished: 30, MaxRules: 50_000}
	want.Adaptive = &config.Adaptive{
		Observe: true, Interval: 2 * time.Second, Latency: config.Latency{Percentile: 99.9, Target: 200 * time.Millisecond},
		Floor: 0.2, Ceiling: 1.5, Increase: 0.1, Decrease: 0.5, Recover: 0.9, Kernel: true, HTTP: true,
	}
	want.Metrics = &config.Metrics{Listen: config.Listener{Network: config.NetworkTCP, Address: "127.0.0.1:9090", Line: 91}}
	want.Admin = &config.Admin{
		Socket: "/run/headgate/admin.sock", Access: config.Access{Mode: 0o660, Group: "adm"}, TokenFile: "token", Pprof: true,
		Listen: &config.Listener{Network: config.NetworkTCP, Address: "127.0.0.1:9091", Line: 92},
	}
	want.Log = config.Log{Format: config.LogJSON, Level: slog.LevelDebug, File: "/var/log/headgate.log"}
	want.Tracing = &config.Tracing{Endpoint: "http://127.0.0.1:4318", Ratio: 0.5}
	want.Warnings = []config.Problem{{
		File: "FILE", Line: 61, Column: 3, Path: "auth",
		Text: "gateways do not tell when a response has ended: zone slots counts their requests only while they ask",
	}}
	compare(t, got, want)
}

func fullKernel() *config.Kernel {
	return &config.Kernel{
		Interfaces: []string{"eth0", "eth1.100"}, Mode: config.ModeNative, IPv4Prefix: 24, IPv6Prefix: 56,
		Overflow: config.OverflowDrop, DryRun: true, MaxSources: 2_000_000, MaxRules: 500_000, HeatMemory: 2 << 20, VerifiedFor: 5 * time.Minute,
		Default: config.KernelLimit{Rate: pps(10_000), Burst: 20_000, Bandwidth: bps(12_500_000), BandwidthBurst: 1_000_000},
		Policies: []config.Policy{
			{Name: "dns", Proto: "udp", Protocol: 17, FirstPort: 53, LastPort: 53, Overflow: config.OverflowDrop, Limit: config.KernelLimit{Rate: pps(50), Burst: 100}, Line: 12},
			{Name: "syn", Proto: "tcp", Protocol: 6, FirstPort: 80, LastPort: 443, SYN: true, Overflow: config.OverflowPass, Limit: config.KernelLimit{Rate: pps(20), Burst: 20}, Line: 13},
			{Name: "ping", Proto: "icmp", Protocol: 1, Shared: true, Unverified: true, DryRun: true, Overflow: config.OverflowDrop, Limit: config.KernelLimit{Bandwidth: bps(64 << 10), BandwidthBurst: 2000}, Line: 14},
		},
		Rules: []config.PrefixRule{
			{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Action: config.Limit, Limit: config.KernelLimit{Rate: pps(100), Burst: 100}, Line: 16},
			{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: config.Allow, Line: 17},
			{Prefix: netip.MustParsePrefix("fd00::/8"), Action: config.Allow, Line: 17},
			{Prefix: netip.MustParsePrefix("192.0.2.7/32"), Action: config.Block, Line: 18},
			{Prefix: netip.MustParsePrefix("2001:db8::/32"), Action: config.Limit, Policy: "dns", Line: 19, Limit: config.KernelLimit{
				Rate: rate.Rate{Count: 30, Per: time.Minute, Unit: rate.Packets}, Burst: 1, Bandwidth: bps(1_000_000), BandwidthBurst: 1_000_000,
			}},
		},
		RuleFiles: []config.RuleFile{
			{Path: "/etc/headgate/blocked.txt", Action: config.Block, Line: 21},
			{Path: "partners.txt", Action: config.Limit, Limit: config.KernelLimit{Bandwidth: bps(125_000_000), BandwidthBurst: 125_000_000}, Line: 21},
		},
	}
}

// TestMakeAbsolute: every path that may be relative is made to begin at the file's directory, and no other is touched.
func TestMakeAbsolute(t *testing.T) {
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, want := parse(t, string(text)), parse(t, string(text))
	f.MakeAbsolute("/etc/headgate")
	want.Kernel.RuleFiles[1].Path = "/etc/headgate/partners.txt"
	want.Listen[3].TLS.Certificate = "/etc/headgate/tls.crt"
	want.Auth.GRPC[0].TLS = &config.TLS{Certificate: "/etc/headgate/tls.crt", Key: "/etc/headgate/tls.key"}
	want.Admin.TokenFile = "/etc/headgate/token"
	want.Redis.PasswordFile = "/etc/headgate/redis.password"
	tls := want.Redis.TLS
	tls.CA, tls.Certificate, tls.Key = "/etc/headgate/ca.crt", "/etc/headgate/redis.crt", "/etc/headgate/redis.key"
	compare(t, f, want)
	withTLS := `
metrics: {listen: {address: "127.0.0.1:9090", tls: {certificate: /m.crt, key: m.key}}}
admin: {listen: {address: "127.0.0.1:9091", tls: {certificate: a.crt, key: a.key}}, token_file: t}`
	f, want = parse(t, withTLS), parse(t, withTLS)
	f.MakeAbsolute("/d")
	want.Metrics.Listen.TLS.Key = "/d/m.key"
	want.Admin.TokenFile, want.Admin.Listen.TLS = "/d/t", &config.TLS{Certificate: "/d/a.crt", Key: "/d/a.key"}
	compare(t, f, want)
	empty := parse(t, "")
	empty.MakeAbsolute("/etc/headgate")
	compare(t, empty, parse(t, ""))
}

// TestDefaultsFollow: what nothing is said of fits what something is said of.
func TestDefaultsFollow(t *testing.T) {
	h := parse(t, "{kernel: {interfaces: eth0, ipv4_prefix: 24, max_rules: 10}, handdown: {action: limit, rate: 1pps, for: 48h}, admin: {socket: /a}}").HandDown
	if h.IPv4Prefix != 24 || h.IPv6Prefix != 64 || h.MaxRules != 10 || h.Max != 48*time.Hour {
		t.Errorf("%+v, want /24, which is a source, /64, 10 rules and 48h", h)
	}
	h = parse(t, "{kernel: {interfaces: eth0, ipv4_prefix: 24}, handdown: {}, admin: {socket: /a}}").HandDown
	if h.IPv4Prefix != 32 || h.After != 20 || h.Action != config.Block {
		t.Errorf("%+v, want a block of /32 after 20", h)
	}
	u := parse(t, "{listen: ':80', upstream: {servers: 'http://a', health: {path: /, interval: 500ms}}}").Upstream
	if u.Health.Timeout != 500*time.Millisecond || !u.PreserveHost {
		t.Errorf("%+v, want a timeout of the interval, and the client's host", u)
	}
	const proxy = "listen: ':80'\nupstream: http://a\nadaptive: {in_flight: 7}\n"
	for text, want := range map[string][2]bool{
		"kernel: {interfaces: [eth0], default: {rate: 1pps}}":                                                  {true, false},
		"http: {zones: {a: {key: ip, rate: 1r/s}}}":                                                            {false, true},
		"kernel: {interfaces: [eth0], default: {rate: 1pps}}\nhttp: {zones: {a: {key: ip, rate: 1r/s}}}":       {true, true},
		"kernel: {interfaces: [eth0]}\nhttp: {zones: {a: {key: ip, rate: 1r/s}, b: {key: ip, concurrent: 1}}}": {false, true},
		"kernel: {interfaces: [eth0], default: {rate: 1pps}}\nhttp: {zones: {b: {key: ip, concurrent: 1}}}":    {true, false},
	} {
		if a := parse(t, proxy+text).Adaptive; a.Kernel != want[0] || a.HTTP != want[1] || a.InFlight != 7 {
			t.Errorf("%s: %+v, want kernel and http %v", text, a, want)
		}
	}
}

// TestShares: a share of errors is a number, or one with %.
func TestShares(t *testing.T) {
	for text, want := range map[string]float64{"5%": 0.05, "0.05": 0.05, "100%": 1, "1": 1, "0.1%": 0.001, "2.5%": 0.025} {
		f := parse(t, "{listen: ':80', upstream: 'http://a', http: {zones: {a: {key: ip, rate: 1r/s}}}, adaptive: {errors: "+text+"}}")
		if got := f.Adaptive.Errors; got != want {
			t.Errorf("errors: %s = %v, want %v", text, got, want)
		}
	}
}

// TestSectionsAreAllRead: of each section what is wrong is told, in one go.
func TestSectionsAreAllRead(t *testing.T) {
	sections := []string{"kernel", "http", "timeouts", "auth", "handdown", "adaptive", "metrics", "admin", "log", "tracing"}
	var text strings.Builder
	for _, s := range sections {
		text.WriteString(s + ": {wrong: 1}\n")
	}
	_, err := config.Parse("FILE", []byte(text.String()))
	problems, _ := errors.AsType[config.Errors](err)
	for _, s := range sections {
		if !slices.ContainsFunc(problems, func(p config.Problem) bool { return p.Path == s+".wrong" }) {
			t.Errorf("nothing is told of %s.wrong", s)
		}
	}
	if n := len(sections) + 1; len(problems) != n { // and adaptive without listen
		t.Errorf("%d problems, want %d:\n%v", len(problems), n, err)
	}
}
