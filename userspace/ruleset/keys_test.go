package ruleset_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/ruleset"
)

const keysFile = `
http:
  zones:
    perip:  {key: ip, rate: 1r/s, overrides: [{value: 2001:db8::/32, rate: 2r/s}], allow: [198.51.100.0/24]}
    login:  {key: [ip, "const:login", path], rate: 1r/m}
    appid:  {key: "header:appid", algorithm: window, rate: 10r/m, overrides: [{value: gold, rate: 100r/h}]}
    slots:  {key: ip, concurrent: 10}
    sketch: {key: host, algorithm: sketch, rate: 1r/s}
    slide:  {key: ip, algorithm: sliding, rate: 10r/m}
    nginx:  {key: ip, algorithm: nginx, rate: 1r/s}
    unused: {key: ip, rate: 1r/s}
  rules:
    - {name: tried, dry_run: true, continue: true, limits: [{zone: perip, burst: 99, nodelay: true}]}
    - name: all
      limits:
        - {zone: perip, burst: 19, nodelay: true}
        - {zone: login, burst: 9, nodelay: true}
        - {zone: appid}
        - {zone: slots}
        - {zone: sketch, burst: 9, nodelay: true}
        - {zone: slide}
        - {zone: nginx, burst: 9}
`

// state is what a test looks at of a KeyState.
type state struct {
	Zone, Key, Rule, Quota string
	Owed                   uint64
	Reset                  time.Duration
	Remaining              uint64
}

func statesOf(all []ruleset.KeyState) (short []state) {
	for _, s := range all {
		short = append(short, state{s.Zone, s.Key, s.Rule, s.Quota, s.Owed, s.ResetAfter, s.Result.Remaining})
	}
	return short
}

// loaded is rules that have decided about three requests of a client, one of which is under way.
func loaded(t *testing.T) *ruleset.Live {
	l := newLive(t, keysFile)
	r := with(from("2001:db8::7", longPath), "Appid", "gold")
	passes(l, r, 2, start)
	if d := l.Decide(r, start); !d.Allowed {
		t.Fatal(d)
	}
	return l
}

func TestPeek(t *testing.T) {
	l := loaded(t)
	before := l.Counters()
	for range 2 { // to look changes nothing
		for _, c := range []struct {
			zone string
			key  []string
			want []state
		}{
			{"perip", []string{"2001:db8::99"}, []state{
				{"perip", "2001:db8::/64", "tried", "2r/s", 3000, 1500 * time.Millisecond, 97},
				{"perip", "2001:db8::/64", "all", "2r/s", 3000, 1500 * time.Millisecond, 17},
			}},
			{"perip", []string{"192.0.2.1"}, []state{
				{"perip", "192.0.2.1", "tried", "1r/s", 0, 0, 100}, {"perip", "192.0.2.1", "all", "1r/s", 0, 0, 20},
			}},
			{"perip", []string{"198.51.100.7"}, []state{{Zone: "perip", Key: "198.51.100.7"}}},
			{"login", []string{"2001:db8::/64", "/./" + longPath}, []state{{"login", "2001:db8::/64, login, " + longPath, "all", "1r/m", 3000, 3 * time.Minute, 7}}},
			{"login", []string{"2001:db8::1", "login", longPath}, []state{{"login", "2001:db8::/64, login, " + longPath, "all", "1r/m", 3000, 3 * time.Minute, 7}}},
			{"appid", []string{"gold"}, []state{{"appid", "gold", "all", "100r/h", 3000, time.Hour, 97}}},
			{"slots", []string{"2001:db8::1%eth0"}, []state{{"slots", "2001:db8::/64", "all", "", 1000, 0, 9}}},
			{"sketch", []string{"EXAMPLE.com:80"}, []state{{"sketch", "example.com", "all", "1r/s", 3000, 3 * time.Second, 7}}},
			{"slide", []string{"2001:db8::1"}, []state{{"slide", "2001:db8::/64", "all", "10r/m", 3000, 2 * time.Minute, 7}}},
			{"nginx", []string{"2001:db8::1"}, []state{{"nginx", "2001:db8::/64", "all", "1r/s", 3000, 3 * time.Second, 7}}},
			{"unused", []string{"192.0.2.1"}, nil},
		} {
			got, err := l.Peek(c.zone, c.key, start)
			if diff := cmp.Diff(c.want, statesOf(got)); err != nil || diff != "" {
				t.Errorf("%s %q (-want +got):\n%s%v", c.zone, c.key, diff, err)
			}
		}
	}
	if diff := cmp.Diff(before, l.Counters()); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

func TestKeysThatThereAreNot(t *testing.T) {
	l := loaded(t)
	for _, c := range []struct {
		zone string
		key  []string
		want string
	}{
		{"none", []string{"192.0.2.1"}, `zone "none": there is none of that name; use perip, login, appid, slots, sketch, slide, nginx, unused`},
		{"perip", nil, `zone "perip": its key has 1 parts (ip), and not 0`},
		{"perip", []string{"192.0.2.1", "/"}, `zone "perip": its key has 1 parts (ip), and not 2`},
		{"login", []string{"192.0.2.1"}, `zone "login": its key has 3 parts (ip, const:login, path), and not 1`},
		{"perip", []string{"example.com"}, `zone "perip": part 1 of the key, ip, is "example.com", which is no address; write 192.0.2.1 or 2001:db8::1`},
		{"perip", []string{"192.0.2.0/24"}, `zone "perip": part 1 of the key, ip, is "192.0.2.0/24", which has many keys; write an address, or a prefix of /32`},
		{"perip", []string{"2001:db8::/63"}, `zone "perip": part 1 of the key, ip, is "2001:db8::/63", which has many keys; write an address, or a prefix of /64`},
		{"perip", []string{"::ffff:0:0/95"}, `zone "perip": part 1 of the key, ip, is "::ffff:0:0/95", which has many keys; write an address, or a prefix of /32`},
		{"appid", []string{""}, `zone "appid": part 1 of the key, header:Appid, is empty; requests without it are not limited`},
	} {
		_, peeked := l.Peek(c.zone, c.key, start)
		_, reset := l.Reset(c.zone, c.key)
		if peeked == nil || reset == nil || peeked.Error() != c.want || reset.Error() != c.want {
			t.Errorf("%s %q: %v, %v\nwant %s", c.zone, c.key, peeked, reset, c.want)
		}
	}
	if _, err := l.Reset("slots", []string{"192.0.2.1"}); err == nil || err.Error() != `zone "slots": counts requests that are under way; they end by themselves` {
		t.Error(err)
	}
	if _, err := l.Top("none", 1, start); err == nil {
		t.Error("no error")
	}
	if _, err := newLive(t, "http: {zones: {}, rules: []}").Top("z", 1, start); err == nil || err.Error() != `zone "z": there are no zones` {
		t.Error(err)
	}
}

func TestReset(t *testing.T) {
	l := loaded(t)
	for zone, key := range map[string][]string{
		"perip": {"2001:db8::1"}, "login": {"2001:db8::1", longPath}, "appid": {"gold"}, "sketch": {"example.com"},
		"slide": {"2001:db8::1"}, "nginx": {"2001:db8::1"},
	} {
		for _, want := range []bool{true, false} {
			if known, err := l.Reset(zone, key); err != nil || known != want {
				t.Errorf("%s: %t, %v; want %t", zone, known, err, want)
			}
		}
		states, err := l.Peek(zone, key, start)
		if err != nil || states[0].Owed != 0 || states[0].Result.Remaining != states[0].Result.Limit {
			t.Errorf("%s: %+v, %v", zone, states, err)
		}
	}
	if known, err := l.Reset("unused", []string{"192.0.2.1"}); known || err != nil {
		t.Error(known, err)
	}
}

func TestTop(t *testing.T) {
	for _, c := range []struct {
		zone, use string
		key       func(host int) string
		reset     time.Duration // of the first
	}{
		{"key: ip, rate: 1r/s", ", burst: 99, nodelay: true", clientName, 30 * time.Second},
		{"key: ip, rate: 1r/s, algorithm: nginx", ", burst: 99, nodelay: true", clientName, 30 * time.Second},
		{"key: ip, rate: 1r/h, algorithm: sketch, overrides: [{value: 192.0.2.0/24, rate: 1r/s}]", ", burst: 9, nodelay: true", clientName, 10 * time.Second},
		{"key: ip, rate: 99r/m, algorithm: window, overrides: [{value: 192.0.2.30, rate: 99r/h}]", "", clientName, time.Hour},
		{"key: ip, rate: 99r/m, algorithm: sliding", "", clientName, 2 * time.Minute},
		{"key: ip, concurrent: 99", "", clientName, 0},
	} {
		l := newLive(t, "http:\n  zones:\n    z: {"+c.zone+"}\n  rules: [{limits: [{zone: z"+c.use+"}]}]\n")
		for host := range 31 {
			for range host {
				l.Decide(from(fmt.Sprintf("192.0.2.%d", host), "/"), start)
			}
		}
		top, err := l.Top("z", 3, start)
		if err != nil || len(top) != 3 {
			t.Fatalf("%s: %+v, %v", c.zone, top, err)
		}
		equal(t, c.zone+": resets", top[0].ResetAfter, c.reset)
		if c.use == ", burst: 9, nodelay: true" { // many owe as much
			equal(t, c.zone+": owed", top[2].Owed, 10_000)
			continue
		}
		for i, s := range top {
			equal(t, c.zone+": key", s.Key, c.key(30-i))
			equal(t, c.zone+": owed", s.Owed, uint64(30-i)*1000)
		}
	}
	long := newLive(t, zoned("rate: 1r/s", ", burst: 9, nodelay: true"))
	passes(long, get(longPath), 1, start)
	top, err := long.Top("z", 3, start)
	if err != nil || len(top) != 1 || len(top[0].Key) != 47 || top[0].Key[0] != '#' {
		t.Errorf("a long key: %+v, %v", top, err)
	}
	if drained, err := long.Top("z", 3, start+time.Minute); err != nil || len(drained) != 0 {
		t.Errorf("a drained key: %+v, %v", drained, err)
	}
}

func clientName(host int) string { return fmt.Sprintf("192.0.2.%d", host) }

// A decision tells which value of the field the client was, what rules matched, and by which override.
func TestDecisionTellsMore(t *testing.T) {
	l := newLive(t, `
http:
  client_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8]}
  zones:
    z: {key: ip, rate: 1r/s, overrides: [{value: 192.0.2.1, rate: 2r/s}, {value: 192.0.2.2, rate: 3r/s}]}
  rules:
    - {name: limited, continue: true, limits: [{zone: z}]}
    - {name: free, match: {path: "/free"}, limits: []}
`)
	r := with(from("10.0.0.1", "/free"), "X-Forwarded-For", "1.2.3.4, 192.0.2.2, 10.0.0.2")
	r.Conn = netip.MustParseAddr("10.0.0.9")
	d := l.Decide(r, start)
	equal(t, "hop", d.ClientHop, 2)
	equal(t, "override", d.Limits[0].Override, 2)
	if diff := cmp.Diff([]string{"limited", "free"}, d.Rules()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	d = l.Decide(from("10.0.0.1", "/"), start)
	equal(t, "hop of the peer", d.ClientHop, 0)
	equal(t, "no override", d.Limits[0].Override, 0)
}
