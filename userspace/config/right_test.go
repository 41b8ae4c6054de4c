package config_test

import (
	"log/slog"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
)

func TestExample(t *testing.T) {
	f, err := os.Open("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := config.Read("example.yaml", f)
	if err != nil {
		t.Fatal(err)
	}
	ip := config.KeyPart{Kind: config.KeyIP}
	want := fileOf(config.HTTP{
		ClientIP: config.ClientIP{
			Header: "X-Forwarded-For", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
			IPv4Prefix: 32, IPv6Prefix: 64,
		},
		Headers: config.HeadersDraft10,
		Zones: []config.Zone{
			{Name: "perip", Line: 5, Key: []config.KeyPart{ip}, Algorithm: config.Leaky, MaxKeys: 100_000, Store: config.StoreMemory,
				Quota: config.Quota{Count: 10, Per: time.Second, Text: "10r/s"}},
			{Name: "perapp", Line: 6, Key: []config.KeyPart{{Kind: config.KeyHeader, Name: "Appid"}},
				Algorithm: config.Window, MaxKeys: 100_000, Store: config.StoreMemory, Quota: config.Quota{Count: 1, Per: time.Second, Text: "1r/s"}},
			{Name: "login", Line: 7, Key: []config.KeyPart{ip, {Kind: config.KeyPath}}, Algorithm: config.Leaky,
				MaxKeys: 100_000, Store: config.StoreMemory, Quota: config.Quota{Count: 5, Per: time.Minute, Text: "5r/m"}},
			{Name: "slots", Line: 8, Key: []config.KeyPart{ip}, Algorithm: config.Concurrent, Slots: 10, Store: config.StoreMemory},
		},
		Rules: []config.Rule{
			{
				Name: "rule 1", Line: 10, Status: 429, OnStoreFailure: config.FailLocal,
				Match: config.Match{
					Host:   config.Pattern{Exact: "example.com", Text: "example.com"},
					Path:   config.Pattern{Exact: "/login", Text: "/login"},
					Method: []string{"POST"},
				},
				Limits: []config.Use{
					{Zone: 2, Burst: 5, Delay: 5, Cost: 1, Line: 12},
					{Zone: 0, Burst: 20, Delay: 8, Cost: 1, Line: 13},
				},
			},
			{
				Name: "rule 2", Line: 15, Status: 429, OnStoreFailure: config.FailLocal, DryRun: true,
				Limits: []config.Use{{Zone: 0, Burst: 20, Delay: 20, Cost: 1, Line: 15}, {Zone: 3, Cost: 1, Line: 15}},
			},
		},
	})
	want.Warnings = []config.Problem{{
		File: "example.yaml", Line: 6, Column: 5, Path: "http.zones.perapp",
		Text: "no rule uses the zone; use it in a rule, or remove it",
	}}
	compare(t, got, want)
}

// fileOf returns a file that has only an http section.
func fileOf(h config.HTTP) *config.File {
	return &config.File{
		HTTP: h,
		Timeouts: config.Timeouts{
			Header: 10 * time.Second, Read: time.Minute, Write: time.Minute, Idle: 75 * time.Second, Tunnel: time.Hour, Drain: 30 * time.Second,
		},
		Log: config.Log{Format: config.LogText, Level: slog.LevelInfo},
	}
}

func compare(t *testing.T, got, want *config.File) {
	t.Helper()
	expressions := cmp.Comparer(func(a, b *regexp.Regexp) bool {
		return a == b || a != nil && b != nil && a.String() == b.String()
	})
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, got, expressions, prefixes); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

func TestFilesThatSayNothing(t *testing.T) {
	want := fileOf(config.HTTP{
		ClientIP: config.ClientIP{IPv4Prefix: 32, IPv6Prefix: 64},
		Headers:  config.HeadersDraft10,
	})
	for _, text := range []string{
		"", "\n", "# nothing\n", "---\n", "--- {}\n", "{}", "~", "http:", "http:\n  # zones: {}\n",
		"http: {}", "http: {zones: {}, rules: []}", "\ufeffhttp: {}\n", "http: {}\r\n", "http: {}\n...\n",
		"redis:\nfleet:\nkernel:\nlisten:\nupstream:\ntimeouts:\nauth:\nhanddown:\nadaptive:\nmetrics:\nadmin:\nlog:\ntracing:\n",
		"timeouts: {}\nlog: {}\n",
	} {
		t.Run(text, func(t *testing.T) { compare(t, parse(t, text), want) })
	}
}

func parse(t *testing.T, text string) *config.File {
	t.Helper()
	file, err := config.Parse("FILE", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// zoneOf returns the zone that is written as text.
func zoneOf(t *testing.T, text string) config.Zone {
	t.Helper()
	return parse(t, "http: {zones: {z: "+text+"}}").HTTP.Zones[0]
}

// ruleOf returns the rule that is written as text. It may use the zones a and n, which are leaky
// and nginx, w, a window, and s, concurrent.
func ruleOf(t *testing.T, text string) config.Rule {
	t.Helper()
	return parse(t, `
http:
  zones:
    a: {key: ip, rate: 10r/s}
    n: {key: ip, rate: 10r/s, algorithm: nginx}
    w: {key: ip, rate: 60r/m, algorithm: window}
    s: {key: ip, concurrent: 10}
  rules: [`+text+"]").HTTP.Rules[0]
}

func TestRates(t *testing.T) {
	tests := []struct {
		zone  string
		count uint64
		per   time.Duration
	}{
		{"rate: 10r/s", 10, time.Second},
		{"rate: '10r/s'", 10, time.Second},
		{"rate: 60r/m", 60, time.Minute},
		{"rate: 60r/m, algorithm: window", 60, time.Minute},
		{"rate: 100r/h, algorithm: sliding", 100, time.Hour},
		{"rate: 1.5r/s", 90, time.Minute},
		{"rate: 1.5r/s, algorithm: sketch", 90, time.Minute},
		{"rate: 2.0r/s, algorithm: window", 2, time.Second},
		{"rate: 30r/m, algorithm: nginx", 30, time.Minute},
		{"rate: 100000000r/s", 100_000_000, time.Second},
		{"rate: 1r/h", 1, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.zone, func(t *testing.T) {
			q := zoneOf(t, "{key: ip, "+tt.zone+"}").Quota
			if q.Count != tt.count || q.Per != tt.per {
				t.Errorf("quota = %d per %v, want %d per %v", q.Count, q.Per, tt.count, tt.per)
			}
			if text := strings.Trim(strings.Fields(strings.ReplaceAll(tt.zone, ",", " "))[1], "'"); q.Text != text {
				t.Errorf("text = %q, want %q", q.Text, text)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int{
		"5": 5, `"5"`: 5, "5.0": 5, "100k": 100_000, "2.5k": 2500, "100M": 100_000_000, "1": 1,
	} {
		if got := zoneOf(t, "{key: ip, rate: 1r/s, max_keys: "+text+"}").MaxKeys; got != want {
			t.Errorf("max_keys: %s = %d, want %d", text, got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	tests := []struct {
		key  string
		want []config.KeyPart
	}{
		{"ip", []config.KeyPart{{Kind: config.KeyIP}}},
		{"[ip]", []config.KeyPart{{Kind: config.KeyIP}}},
		{"header:x-api-key", []config.KeyPart{{Kind: config.KeyHeader, Name: "X-Api-Key"}}},
		{"[host, path, method]", []config.KeyPart{{Kind: config.KeyHost}, {Kind: config.KeyPath}, {Kind: config.KeyMethod}}},
		{`["cookie:SID", "query:a:b"]`, []config.KeyPart{{Kind: config.KeyCookie, Name: "SID"}, {Kind: config.KeyQuery, Name: "a:b"}}},
		{`"const:all of it"`, []config.KeyPart{{Kind: config.KeyConst, Name: "all of it"}}},
		{"[header:a, header:b]", []config.KeyPart{{Kind: config.KeyHeader, Name: "A"}, {Kind: config.KeyHeader, Name: "B"}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, zoneOf(t, "{key: "+tt.key+", rate: 1r/s}").Key); diff != "" {
			t.Errorf("key: %s (-want +got):\n%s", tt.key, diff)
		}
	}
}

func TestPatterns(t *testing.T) {
	tests := []struct {
		field, text string
		want        config.Pattern
	}{
		{"path", "/login", config.Pattern{Exact: "/login"}},
		{"path", "/", config.Pattern{Exact: "/"}},
		{"path", "/api/*", config.Pattern{Prefix: "/api/"}},
		{"path", "/.*", config.Pattern{Prefix: "/."}},
		{"path", "*", config.Pattern{}},
		{"path", "/100%", config.Pattern{Exact: "/100%"}},
		{"path", "~ ^/u/[0-9]+$", config.Pattern{Regexp: regexp.MustCompile("^/u/[0-9]+$")}},
		{"host", "Example.COM.", config.Pattern{Exact: "example.com"}},
		{"host", "*.Example.com", config.Pattern{Suffix: ".example.com"}},
		{"host", "*", config.Pattern{}},
		{"host", "[::1]", config.Pattern{Exact: "[::1]"}},
		{"host", "~ (a|b).example", config.Pattern{Regexp: regexp.MustCompile("(a|b).example")}},
	}
	for _, tt := range tests {
		t.Run(tt.field+" "+tt.text, func(t *testing.T) {
			m := ruleOf(t, "{limits: [], match: {"+tt.field+`: '`+tt.text+"'}}").Match
			got, other := m.Path, m.Host
			if tt.field == "host" {
				got, other = m.Host, m.Path
			}
			tt.want.Text = tt.text
			if (got.Regexp == nil) != (tt.want.Regexp == nil) || got.Regexp != nil && got.Regexp.String() != tt.want.Regexp.String() {
				t.Errorf("expression %v, want %v", got.Regexp, tt.want.Regexp)
			}
			got.Regexp, tt.want.Regexp = nil, nil
			if got != tt.want || other != (config.Pattern{}) {
				t.Errorf("got %+v and %+v, want %+v and none", got, other, tt.want)
			}
		})
	}
}

func TestMethods(t *testing.T) {
	for text, want := range map[string][]string{
		"GET": {"GET"}, "post": {"POST"}, "[GET, head]": {"GET", "HEAD"}, "[M-SEARCH]": {"M-SEARCH"},
	} {
		if diff := cmp.Diff(want, ruleOf(t, "{limits: [], match: {method: "+text+"}}").Match.Method); diff != "" {
			t.Errorf("method: %s (-want +got):\n%s", text, diff)
		}
	}
}

func TestUses(t *testing.T) {
	for text, want := range map[string]config.Use{
		"{zone: a}":                                        {Zone: 0, Cost: 1},
		"{zone: a, burst: 20}":                             {Zone: 0, Burst: 20, Cost: 1},
		"{zone: a, burst: 20, nodelay: true}":              {Zone: 0, Burst: 20, Delay: 20, Cost: 1},
		"{zone: a, burst: 20, nodelay: false}":             {Zone: 0, Burst: 20, Cost: 1},
		"{zone: n, burst: 20, delay: 8}":                   {Zone: 1, Burst: 20, Delay: 8, Cost: 1},
		"{zone: a, burst: 20, delay: 20}":                  {Zone: 0, Burst: 20, Delay: 20, Cost: 1},
		"{zone: a, nodelay: true}":                         {Zone: 0, Cost: 1},
		"{zone: w, cost: 60}":                              {Zone: 2, Cost: 60},
		"{zone: s, cost: 10}":                              {Zone: 3, Cost: 10},
		"{zone: a, cost: 21, burst: 20}":                   {Zone: 0, Burst: 20, Cost: 21},
		"{zone: a, burst: '20', nodelay: 'true', cost: 1}": {Zone: 0, Burst: 20, Delay: 20, Cost: 1},
	} {
		got := ruleOf(t, "{limits: ["+text+"]}").Limits[0]
		want.Line = 8
		if got != want {
			t.Errorf("%s = %+v, want %+v", text, got, want)
		}
	}
}

func TestRule(t *testing.T) {
	got := ruleOf(t, "{name: logins, limits: [], status: 503, dry_run: true, continue: false}")
	want := config.Rule{Name: "logins", Status: 503, OnStoreFailure: config.FailLocal, DryRun: true, Line: 8}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ruleOf(t, "{limits: [{zone: a}], continue: true}"); !got.Continue || got.DryRun || got.Name != "rule 1" || got.Status != 429 {
		t.Errorf("got %+v, want rule 1, which goes on, is enforced and answers 429", got)
	}
}

func TestClientIP(t *testing.T) {
	got := parse(t, `http: {allow: [192.0.2.7, "2001:db8::/32"], headers: off,
  client_ip: {header: X-Forwarded-For, trusted_proxies: [unix, "::1", "::ffff:10.0.0.0/104"], hops: 2, ipv4_prefix: 24, ipv6_prefix: 56}}`)
	want := fileOf(config.HTTP{
		Allow:   []netip.Prefix{netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/32")},
		Headers: config.HeadersOff,
		ClientIP: config.ClientIP{
			Header:         "X-Forwarded-For",
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.0.0.0/8")},
			TrustUnix:      true, Hops: 2, IPv4Prefix: 24, IPv6Prefix: 56,
		},
	})
	compare(t, got, want)
}

func TestOverrides(t *testing.T) {
	got := zoneOf(t, `{key: [ip, "header:plan", host, method], rate: 1r/s, overrides: [
  {value: ["2001:db8::1", Gold, Example.com, get], rate: 90r/m},
  {value: [192.0.2.0/24, 1.0, b, PUT], rate: 0.5r/s}], allow: [["::ffff:192.0.2.7", true, "c", POST]]}`)
	prefix := func(s string) config.ValuePart { return config.ValuePart{Prefix: netip.MustParsePrefix(s)} }
	text := func(s string) config.ValuePart { return config.ValuePart{Text: s} }
	want := config.Zone{
		Overrides: []config.Override{
			{Value: config.Value{prefix("2001:db8::/64"), text("Gold"), text("example.com"), text("GET")},
				Quota: config.Quota{Count: 90, Per: time.Minute, Text: "90r/m"}},
			{Value: config.Value{prefix("192.0.2.0/24"), text("1.0"), text("b"), text("PUT")},
				Quota: config.Quota{Count: 30, Per: time.Minute, Text: "0.5r/s"}},
		},
		Allow: []config.Value{{prefix("192.0.2.7/32"), text("true"), text("c"), text("POST")}},
	}
	equal := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, config.Zone{Overrides: got.Overrides, Allow: got.Allow}, equal); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	slots := zoneOf(t, "{key: header:plan, concurrent: 10, overrides: [{value: gold, concurrent: 100}]}")
	if o := slots.Overrides[0]; o.Slots != 100 || o.Quota != (config.Quota{}) {
		t.Errorf("override %+v, want 100 slots", o)
	}
}

func TestAlias(t *testing.T) {
	got := parse(t, `
http:
  zones:
    a: &zone {key: ip, rate: 10r/s}
    b: *zone
  rules:
    - {match: {path: &login /login}, limits: &limits [{zone: a}]}
    - {match: {path: *login, method: POST}, limits: *limits}
`).HTTP
	if len(got.Zones) != 2 || got.Zones[1].Quota.Count != 10 || got.Zones[1].Name != "b" {
		t.Errorf("zones %+v, want a and b alike", got.Zones)
	}
	if got.Rules[1].Match.Path.Exact != "/login" || len(got.Rules[1].Limits) != 1 {
		t.Errorf("rules %+v, want both of /login with one limit", got.Rules)
	}
}
