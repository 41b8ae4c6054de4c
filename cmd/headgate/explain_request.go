package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// requestFlags are a request, and the file with the rules that it meets.
type requestFlags struct {
	configFlag
	ip, method, host, path, query string
	headers                       []string
}

func requestFlagNames() []string { return []string{"ip", "method", "host", "path", "query", "header"} }

func (f *requestFlags) register(cmd *cobra.Command) {
	f.configFlag.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.ip, "ip", "", "address of the TCP peer that sends the request")
	flags.StringVar(&f.method, "method", http.MethodGet, "method of the request")
	flags.StringVar(&f.host, "host", "", "host of the request")
	flags.StringVar(&f.path, "path", "/", "path of the request, decoded")
	flags.StringVar(&f.query, "query", "", "query of the request, as a=1&b=2")
	flags.StringArrayVar(&f.headers, "header", nil, "header field of the request, as 'appid: 1'; may be given again")
	placeholders(cmd, map[string]string{
		"ip": "ADDRESS", "method": "METHOD", "host": "HOST", "path": "PATH", "query": "QUERY", "header": "FIELD",
	})
}

// check checks what was given with a file.
func (f *requestFlags) check(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("explain -c takes a request by its flags, and there is %q; leave it out, or leave out -c", args[0])
	}
	if name := changed(cmd, []string{"burst", "delay", "nodelay", "algorithm"}); name != "" {
		return usagef("--%s is of a limit, and -c has its own; leave it out", name)
	}
	_, err := f.parse()
	return usage(err)
}

// parse returns the request.
func (f *requestFlags) parse() (*ruleset.Request, error) {
	method := strings.ToUpper(f.method) // as the file has it
	r := &ruleset.Request{Method: method, Host: f.host, Path: f.path, RawQuery: f.query, Header: http.Header{}}
	if err := checkPath(method, f.path); err != nil {
		return nil, err
	}
	if f.ip == "" {
		return nil, fmt.Errorf("name the address that sends the request: --ip 203.0.113.7, or --ip unix: for a Unix socket")
	}
	if f.ip != "unix:" && f.ip != "unix" {
		addr, err := netip.ParseAddr(f.ip)
		if err != nil {
			return nil, fmt.Errorf("--ip %q: use an address such as 203.0.113.7 or 2001:db8::1, or unix: for a Unix socket", f.ip)
		}
		r.Peer = addr
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || name == "" {
			return nil, fmt.Errorf("--header %q: use 'NAME: VALUE'", h)
		}
		r.Header.Add(name, strings.TrimSpace(value))
	}
	return r, nil
}

// checkPath returns an error for a path that no request has.
func checkPath(method, path string) error {
	if path == "*" && method == http.MethodOptions {
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("--path %q does not begin with a slash; use /%s", path, path)
	}
	if before, query, has := strings.Cut(path, "?"); has {
		return fmt.Errorf("--path %q has a query; use --path %s --query %s", path, before, query)
	}
	return nil
}

func (e *env) explainRequest(g *global, f *requestFlags) error {
	r, err := f.parse()
	if err != nil {
		return usage(err)
	}
	file, err := f.used(e)
	if err != nil {
		return err
	}
	view, err := explainedRequest(file.HTTP, r)
	if err != nil {
		return err
	}
	return e.print(g, view)
}

// explainedRequest returns what the rules of h make of r.
func explainedRequest(h config.HTTP, r *ruleset.Request) (render.ExplainedRequest, error) {
	set, err := ruleset.New(h)
	if err != nil {
		return render.ExplainedRequest{}, err
	}
	matching, err := matchingRules(h, r)
	if err != nil {
		return render.ExplainedRequest{}, err
	}
	d := set.Explain(r, 0)
	view := render.ExplainedRequest{
		Client: "unknown", ClientFrom: string(d.ClientFrom),
		Rules: []render.ExplainedRule{}, Limits: explainedLimits(h, d), Skipped: []render.SkippedLimit{},
	}
	if d.Client.IsValid() {
		view.Client = d.Client.String()
	}
	for i, rule := range h.Rules {
		view.Rules = append(view.Rules, render.ExplainedRule{RuleInForce: ruleInForce(h, rule), Matches: matching[i]})
	}
	for _, s := range d.Skipped {
		view.Skipped = append(view.Skipped, render.SkippedLimit{Rule: s.Rule, Zone: s.Zone, Why: string(s.Why)})
	}
	view.Instant = sendAtOnce(set, r)
	view.Exempt = set.Counters().Exempt > 0
	return view, nil
}

// matchingRules returns for each rule whether it matches r, also where one above it has decided already. It
// asks rules with the same matches, each with a limit, that all go on.
func matchingRules(h config.HTTP, r *ruleset.Request) ([]bool, error) {
	probe := config.HTTP{Zones: []config.Zone{{
		Name: "probe", Key: []config.KeyPart{{Kind: config.KeyConst, Name: "probe"}},
		Quota: config.Quota{Count: 1, Per: time.Second},
	}}}
	for _, rule := range h.Rules {
		probe.Rules = append(probe.Rules, config.Rule{
			Name: rule.Name, Match: rule.Match, Limits: []config.Use{{}}, Continue: true,
		})
	}
	set, err := ruleset.New(probe)
	if err != nil {
		return nil, err
	}
	matching := make([]bool, len(h.Rules))
	for _, a := range set.Explain(r, 0).Limits {
		i := slices.IndexFunc(h.Rules, func(rule config.Rule) bool { return rule.Name == a.Rule })
		matching[i] = true
	}
	return matching, nil
}

// explainedLimits returns the limits that were asked, each in the words of the quota that the key has.
func explainedLimits(h config.HTTP, d *ruleset.Decision) []render.ExplainedLimit {
	limits := []render.ExplainedLimit{}
	for i := range d.Limits {
		a := &d.Limits[i]
		view := render.ExplainedLimit{Rule: a.Rule, Key: a.Key(), DryRun: a.DryRun}
		r, z, u := useOf(h, a.Rule, a.Zone)
		quota, slots := z.Quota, z.Slots
		if o, has := overrideOf(z, a); has {
			quota, slots, view.Override = o.Quota, o.Slots, true
		}
		view.Limit = limitInForce(z, u, quota, slots)
		view.Limit.Shared = sharedInForce(r, z, quota, slots)
		limits = append(limits, view)
	}
	return limits
}

// overrideOf returns an override with the quota that a limit was asked with, if it is not that of the zone.
func overrideOf(z config.Zone, a *ruleset.Applied) (config.Override, bool) {
	i := slices.IndexFunc(z.Overrides, func(o config.Override) bool {
		if z.Algorithm == config.Concurrent {
			return o.Slots == a.Result.Limit && o.Slots != z.Slots
		}
		return o.Quota.Text == a.Quota && o.Quota != z.Quota
	})
	if i < 0 {
		return config.Override{}, false
	}
	return z.Overrides[i], true
}

// useOf returns a rule and a zone, and how it uses that. Names of both are unique.
func useOf(h config.HTTP, rule, zone string) (config.Rule, config.Zone, config.Use) {
	for _, r := range h.Rules {
		for _, u := range r.Limits {
			if r.Name == rule && h.Zones[u.Zone].Name == zone {
				return r, h.Zones[u.Zone], u
			}
		}
	}
	return config.Rule{}, config.Zone{}, config.Use{}
}

// mostAtOnce is how many requests explain sends.
const mostAtOnce = 10_000

// sendAtOnce sends the request again and again at one instant, and returns what becomes of it.
func sendAtOnce(set *ruleset.Set, r *ruleset.Request) render.AtOnce {
	var sent render.AtOnce
	for n := uint64(1); n <= mostAtOnce; n++ {
		d := set.Decide(r, 0)
		switch {
		case !d.Allowed:
			sent.Refused = &render.RefusedAtOnce{Number: n, Rule: d.Rule, Zone: d.Zone, Status: d.Status}
			switch d.RetryAfter {
			case limit.Never:
			case unknownWait:
				sent.Refused.WhenOneEnds = true
			default:
				after := render.Milliseconds(d.RetryAfter)
				sent.Refused.RetryAfter = &after
			}
			return sent
		case d.Delay > 0 && sent.Delayed == nil:
			sent.Delayed = &render.DelayedAtOnce{Number: n, Rule: d.Rule, Zone: d.Zone, Delay: render.Milliseconds(d.Delay)}
		case d.DryRun && sent.DryRun == nil:
			sent.DryRun = &render.DelayedAtOnce{Number: n, Rule: d.Rule, Zone: d.Zone}
		}
		sent.Passed = n
	}
	return sent
}
