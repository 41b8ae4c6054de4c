package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// groupsOf returns the groups of a file with these rules as people read them: "a,b by ip; c".
func groupsOf(t *testing.T, rules string) string {
	t.Helper()
	h := parse(t, `
redis: {addrs: "127.0.0.1:6379"}
http:
  zones:
    ip: {key: ip, rate: 1r/s, store: redis}
    login: {key: [path, ip], rate: 1r/s, store: redis}
    app: {key: "header:appid", rate: 1r/s, store: redis}
    appip: {key: ["header:appid", ip], rate: 1r/s, store: redis}
    pair: {key: [ip, "header:appid"], rate: 1r/s, store: redis}
    wide: {key: ip, ipv4_prefix: 24, rate: 1r/s, store: redis}
    same: {key: ip, ipv4_prefix: 32, ipv6_prefix: 64, rate: 1r/s, store: redis}
    mine: {key: host, rate: 1r/s}
  rules:
`+rules).HTTP
	return describe(h, h.Groups())
}

// describe names groups of more than one zone, and their parts.
func describe(h config.HTTP, groups []config.Group) string {
	var all []string
	for _, g := range groups {
		var zones, parts []string
		for _, i := range g.Zones {
			zones = append(zones, h.Zones[i].Name)
		}
		for _, p := range g.Parts {
			parts = append(parts, p.String())
		}
		switch {
		case len(zones) > 1:
			all = append(all, strings.Join(zones, ",")+" by "+strings.Join(parts, "+"))
		case len(parts) > 0:
			all = append(all, fmt.Sprint(zones, " alone, by ", parts))
		}
	}
	return strings.Join(all, "; ")
}

// TestGroupsOfZones: zones are in one group if a request can have limits of both, and no others.
func TestGroupsOfZones(t *testing.T) {
	for _, c := range []struct{ name, rules, want string }{
		{"none of several", "[{match: {path: /a}, limits: [{zone: ip}]}, {limits: [{zone: login}]}]", ""},
		{"one rule", "[{limits: [{zone: ip}, {zone: login}]}]", "ip,login by ip"},
		{"in memory", "[{limits: [{zone: ip}, {zone: mine}]}]", ""},
		{"over continue", "[{continue: true, limits: [{zone: ip}]}, {limits: [{zone: login}]}]", "ip,login by ip"},
		{"over dry run", "[{continue: true, dry_run: true, limits: [{zone: ip}]}, {limits: [{zone: login}]}]", "ip,login by ip"},
		{"nothing in common", "[{limits: [{zone: ip}, {zone: app}]}]", "ip,app by "},
		{"all parts, in any order", "[{limits: [{zone: pair}, {zone: appip}]}]", "appip,pair by header:Appid+ip"},
		{"another prefix", "[{limits: [{zone: ip}, {zone: wide}]}]", "ip,wide by "},
		{"the same prefix", "[{limits: [{zone: ip}, {zone: same}]}]", "ip,same by ip"},
		{"through a third", "[{match: {path: /a}, limits: [{zone: app}, {zone: appip}]}, {limits: [{zone: appip}, {zone: ip}]}]", "ip,app,appip by "},
		{"two of them", "[{match: {path: /a}, limits: [{zone: app}, {zone: appip}]}, {limits: [{zone: ip}, {zone: login}]}]",
			"ip,login by ip; app,appip by header:Appid"},
		{"other hosts", "[{continue: true, match: {host: a.example}, limits: [{zone: ip}]}, {match: {host: b.example}, limits: [{zone: login}]}]", ""},
		{"hosts below", `[{continue: true, match: {host: "*.example"}, limits: [{zone: ip}]}, {match: {host: b.example}, limits: [{zone: login}]}]`, "ip,login by ip"},
		{"other paths", `[{continue: true, match: {path: "/a/*"}, limits: [{zone: ip}]}, {match: {path: /b}, limits: [{zone: login}]}]`, ""},
		{"paths below", `[{continue: true, match: {path: /a/b}, limits: [{zone: ip}]}, {match: {path: "/a/*"}, limits: [{zone: login}]}]`, "ip,login by ip"},
		{"an expression", `[{continue: true, match: {path: "~ ^/a"}, limits: [{zone: ip}]}, {match: {path: /b}, limits: [{zone: login}]}]`, "ip,login by ip"},
		{"other methods", "[{continue: true, match: {method: GET}, limits: [{zone: ip}]}, {match: {method: [POST, PUT]}, limits: [{zone: login}]}]", ""},
		{"a method of several", "[{continue: true, match: {method: PUT}, limits: [{zone: ip}]}, {match: {method: [POST, PUT]}, limits: [{zone: login}]}]", "ip,login by ip"},
		{"behind the last", `[{continue: true, match: {path: /a}, limits: [{zone: ip}]}, {match: {path: "/*"}, limits: [{zone: login}]}, {match: {path: /a}, limits: [{zone: app}]}]`, "ip,login by ip"},
	} {
		if got := groupsOf(t, "    "+c.rules); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestGroupsOfManyRules: more rules than are compared are taken for rules that meet behind the first with continue.
func TestGroupsOfManyRules(t *testing.T) {
	h := parse(t, `
redis: {addrs: "127.0.0.1:6379"}
http:
  zones:
    a: {key: ip, rate: 1r/s, store: redis}
    b: {key: [ip, path], rate: 1r/s, store: redis}
    c: {key: [ip, host], rate: 1r/s, store: redis}
  rules: [{limits: [{zone: a}], match: {path: /a}}, {limits: [{zone: b}], match: {path: /b}, continue: true}, {limits: [{zone: c}]}]
`).HTTP
	if got := describe(h, h.Groups()); got != "b,c by ip" {
		t.Errorf("of three rules: %q", got)
	}
	h.Rules = append(slices.Repeat(h.Rules[:1], 3000), h.Rules[1:]...)
	if got := describe(h, h.Groups()); got != "b,c by ip" {
		t.Errorf("of many rules: %q", got)
	}
}
