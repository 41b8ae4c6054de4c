package ruleset_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/ruleset"
)

const plans = `
http:
  zones:
    plan:
      key: ["header:plan", ip]
      rate: 1r/h
      overrides:
        - {value: [gold, 192.0.2.7],     rate: 2r/h}
        - {value: [gold, 192.0.2.0/24],  rate: 3r/h}
        - {value: [gold, 0.0.0.0/0],     rate: 4r/h}
        - {value: [gold, 192.0.2.8],     rate: 5r/h}
        - {value: [gold, 2001:db8::/32], rate: 6r/h}
        - {value: [gold, 2001:db8::1],   rate: 7r/h}
      allow:
        - [free, 192.0.2.0/24]
      algorithm: window
  rules:
    - limits: [{zone: plan}]
`

// TestOverrides: the first value that matches decides.
func TestOverrides(t *testing.T) {
	s := newSet(t, plans)
	for _, c := range []struct {
		plan, client, want string
		limit              uint64
	}{
		{"gold", "192.0.2.7", "2r/h", 2},
		{"gold", "192.0.2.8", "3r/h", 3},
		{"gold", "::ffff:192.0.2.9", "3r/h", 3},
		{"gold", "198.51.100.1", "4r/h", 4},
		{"gold", "2001:db8::1", "6r/h", 6},
		{"gold", "2001:db9::1", "1r/h", 1},
		{"silver", "192.0.2.7", "1r/h", 1},
		{"free", "198.51.100.1", "1r/h", 1},
	} {
		d := s.Explain(with(from(c.client, "/"), "plan", c.plan), start)
		equal(t, fmt.Sprint(c, " quota"), d.Limits[0].Quota, c.want)
		equal(t, fmt.Sprint(c, " limit"), d.Limits[0].Result.Limit, c.limit)
		equal(t, fmt.Sprint(c, " allowed"), passes(s, with(from(c.client, "/"), "plan", c.plan), 20, start), int(c.limit))
	}
}

// TestStoresAreCountedTogether: what windows of different lengths forget, too.
func TestStoresAreCountedTogether(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    z: {key: ip, rate: 1r/s, algorithm: window, max_keys: 1, overrides: [{value: 192.0.2.0/24, rate: 1r/h}]}
  rules:
    - limits: [{zone: z}]
`)
	for _, prefix := range []string{"192.0.2.", "198.51.100."} {
		for i := range 5 {
			equal(t, prefix, passes(s, from(prefix+fmt.Sprint(i), "/"), 2, start), 1)
		}
	}
	want := keyed.Counters{Keys: 2, Allowed: 10, Refused: 10, EvictedLive: 8}
	equal(t, "keyed", s.Counters().Zones[0].Keyed, want)
}

// TestOverrideOfAnotherTime: a key whose window is longer than that of others is not forgotten when
// theirs would be over, and is counted as one that is remembered.
func TestOverrideOfAnotherTime(t *testing.T) {
	for _, algorithm := range []string{"leaky", "window", "sliding", "sketch"} {
		s := newSet(t, `
http:
  zones:
    z: {key: ip, rate: 10r/s, algorithm: `+algorithm+`, overrides: [{value: 192.0.2.1, rate: 5r/h}, {value: 192.0.2.2, rate: 5r/s}]}
  rules:
    - limits: [{zone: z}]
`)
		first := passes(s, get("/"), 10, start)
		equal(t, algorithm+": second", passes(s, from("192.0.2.2", "/"), 10, start), first)
		const later = start + 5*time.Second
		for i := range 2000 {
			passes(s, from(fmt.Sprintf("198.51.%d.%d", i/256, i%256), "/"), 1, later)
		}
		equal(t, algorithm+": again", passes(s, get("/"), 10, later), 0)
		keys := s.Counters().Zones[0].Keyed
		equal(t, algorithm+": allowed", keys.Allowed, uint64(2*first+2000))
		equal(t, algorithm+": refused", keys.Refused, uint64(30-2*first))
		if algorithm != "sketch" && (keys.Keys < 2001 || keys.Keys+keys.EvictedDrained != 2002) {
			t.Errorf("%s: %+v, want 2002 keys, of which one may be forgotten", algorithm, keys)
		}
	}
}

func TestZoneAllows(t *testing.T) {
	s := newSet(t, plans)
	r := with(from("192.0.2.3", "/"), "plan", "free")
	equal(t, "allowed", passes(s, r, 20, start), 20)
	equal(t, "zone", zoneCounts(t, s, "plan"), ruleset.Counts{Exempt: 20})
	equal(t, "why", s.Decide(r, start).Skipped[0].Why, ruleset.Exempt)
}

// TestOverridesAreAsKeysAre: a value is matched however the client writes it.
func TestOverridesAreAsKeysAre(t *testing.T) {
	long := strings.Repeat("v", 300)
	s := newSet(t, `
http:
  zones:
    z:
      key: [host, path, "query:q"]
      rate: 1r/h
      overrides: [{value: [Example.com, /b, `+long+`], rate: 9r/h}]
  rules:
    - limits: [{zone: z}]
`)
	r := get("/./b")
	r.Host, r.RawQuery = "EXAMPLE.COM:80", "q=%76"+long[1:]
	equal(t, "quota", s.Decide(r, start).Limits[0].Quota, "9r/h")
}

func TestClientsThatNoRuleIsAskedAbout(t *testing.T) {
	s := newSet(t, `
http:
  allow: [10.0.0.0/8, 2001:db8::/32, 192.0.2.1]
  zones:
    perip: {key: ip, rate: 1r/h}
  rules:
    - limits: [{zone: perip}]
`)
	for _, c := range []struct {
		client string
		want   int
	}{
		{"10.1.2.3", 5}, {"::ffff:10.1.2.3", 5}, {"2001:db8:ffff::1", 5}, {"192.0.2.1", 5},
		{"11.0.0.1", 1}, {"2001:db9::1", 1}, {"192.0.2.2", 1},
	} {
		equal(t, c.client, passes(s, from(c.client, "/"), 5, start), c.want)
	}
	equal(t, "exempt", s.Counters().Exempt, 20)
	equal(t, "requests", s.Counters().Requests, 35)
}

// TestFirstOverrideOfMany compares with asking one value after the other.
func TestFirstOverrideOfMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"a", "b", "c"})
		addr := rapid.Custom(func(t *rapid.T) netip.Addr {
			last := byte(rapid.IntRange(0, 15).Draw(t, "last"))
			if rapid.Bool().Draw(t, "v6") {
				return netip.AddrFrom16([16]byte{15: last})
			}
			return netip.AddrFrom4([4]byte{3: last})
		})
		h := config.HTTP{
			Zones: []config.Zone{{Name: "z", Key: []config.KeyPart{{Kind: config.KeyHeader, Name: "a"}, {Kind: config.KeyIP}},
				Algorithm: config.Window, Quota: config.Quota{Count: 1, Per: 1, Text: "none"}}},
			Rules: []config.Rule{{Limits: []config.Use{{}}}},
		}
		z := &h.Zones[0]
		for i := range rapid.IntRange(0, 12).Draw(t, "overrides") {
			a := addr.Draw(t, "prefix")
			prefix := netip.PrefixFrom(a, a.BitLen()-rapid.IntRange(0, 5).Draw(t, "host bits"))
			z.Overrides = append(z.Overrides, config.Override{
				Value: config.Value{{Text: text.Draw(t, "value")}, {Prefix: prefix}},
				Quota: config.Quota{Count: uint64(i + 2), Per: 1, Text: fmt.Sprint(i)},
			})
		}
		s, err := ruleset.New(h)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			value, client := text.Draw(t, "header"), addr.Draw(t, "client")
			want := "none"
			for _, o := range z.Overrides {
				if o.Value[0].Text == value && o.Value[1].Prefix.Contains(client) {
					want = o.Quota.Text
					break
				}
			}
			d := s.Explain(with(from(client.String(), "/"), "a", value), start)
			if got := d.Limits[0].Quota; got != want {
				t.Fatalf("%s of %v: override %s, want %s", value, client, got, want)
			}
		}
	})
}
