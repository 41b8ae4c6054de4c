package config_test

import (
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// TestSourcesOfRules: a limit may be for whole sources only, and link-local addresses are sources each.
func TestSourcesOfRules(t *testing.T) {
	for _, tt := range []struct {
		prefix string
		whole  bool
	}{
		{"192.0.2.0/24", true}, {"192.0.2.0/25", false}, {"0.0.0.0/0", true}, {"2001:db8::/56", true}, {"2001:db8::/57", false},
		{"fe80::1", true}, {"fe80::/64", true}, {"fe80:0:0:1::1", false}, {"::ffff:192.0.2.0/120", true}, {"::ffff:192.0.2.1", false},
	} {
		const file = "kernel: {interfaces: [eth0], ipv4_prefix: 24, ipv6_prefix: 56, rules: [{prefix: 'PREFIX', ACTION}]}"
		for action, right := range map[string]bool{"limit: {rate: 1pps}": tt.whole, "block: true": true, "allow: true": true} {
			_, err := config.Parse("FILE", []byte(strings.NewReplacer("PREFIX", tt.prefix, "ACTION", action).Replace(file)))
			if (err == nil) != right {
				t.Errorf("%s, %s: %v", tt.prefix, action, err)
			}
		}
	}
}

// TestPoliciesThatDiffer: two policies are not one if they differ in what they match, in whom, in their key, or in dry run.
func TestPoliciesThatDiffer(t *testing.T) {
	for _, differs := range []string{"syn: true", "key: shared", "dry_run: true", "port: 80", "unverified: true"} {
		k := parse(t, "kernel: {interfaces: [a], policies: [{name: a, rate: 1pps, proto: tcp}, {name: b, rate: 1pps, proto: tcp, "+differs+"}]}").Kernel
		if len(k.Policies) != 2 {
			t.Errorf("%s: %+v", differs, k.Policies)
		}
	}
}

// TestRuleOfAnyPolicy: a rule may name a policy of the file, or the default one.
func TestRuleOfAnyPolicy(t *testing.T) {
	k := parse(t, `kernel: {interfaces: [eth0], rules: [{prefix: 192.0.2.1, limit: {rate: 1pps}, policy: default}, {prefix: 192.0.2.2, limit: {rate: 1pps}, policy: dns}],
  policies: [{name: dns, proto: UDP, rate: 1pps}]}`).Kernel
	if k.Rules[0].Policy != "" || k.Rules[1].Policy != "dns" || k.Policies[0].Protocol != 17 {
		t.Errorf("%+v", k)
	}
}

// A policy for unverified sources is right where requests tell who is who.
func TestUnverifiedWhereRequestsAreSeen(t *testing.T) {
	const kernel = "kernel: {interfaces: [eth0], default: {rate: 1kpps}, policies: [{name: strangers, unverified: true, rate: 1kpps}]}\n"
	for _, front := range []string{
		"listen: [\"127.0.0.1:8080\"]\nupstream: [\"http://127.0.0.1:9000\"]\n",
		"auth: {listen: [\"127.0.0.1:8081\"]}\n",
		"auth: {grpc: [\"127.0.0.1:8082\"]}\n", // ext_authz tells; the rate limit service does not
	} {
		f, err := config.Read("test.yaml", strings.NewReader(kernel+front))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range f.Warnings {
			if strings.Contains(w.Text, "verified") {
				t.Errorf("%q: %s", front, w)
			}
		}
	}
}
