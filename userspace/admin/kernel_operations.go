package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
)

// Done is what a change of the kernel's rules or policies did.
type Done struct {
	Action   string         `json:"action"`
	Prefixes []netip.Prefix `json:"prefixes,omitempty"`
	Policy   string         `json:"policy,omitempty"`
	Changed  int            `json:"changed" doc:"how many things are other than before"`
	Spared   []SparedPrefix `json:"spared,omitempty" doc:"of rules of a fleet: those that are published and not in force on this machine"`
}

// Failures of operations on the kernel's limiter.
func kernelFailures(more ...int) []int { return append([]int{http.StatusConflict}, more...) }

func kernelOperations() []operation {
	chosen := []parameter{
		{name: "action", doc: "only rules of this action", enum: []string{"allow", "block", "limit"}},
		{name: "origin", doc: "only rules of this origin", enum: []string{"cli", "config", "handdown", "fleet"}},
	}
	prefixes := []parameter{{name: "prefix", doc: "an address or prefix; again for each", repeated: true, required: true}}
	refused := kernelFailures(http.StatusUnprocessableEntity)
	return []operation{
		reads(operation{
			method: http.MethodGet, path: "/v1/rules", id: "listRules",
			summary: "The kernel's rules that hold now, by prefix", query: chosen, failures: kernelFailures(),
		}, listRules),
		takes(operation{
			method: http.MethodPut, path: "/v1/rules", id: "setRule", failures: refused,
			summary: "Allow, block or limit a prefix in the kernel",
			details: "It holds from the next packet on, until it is removed or its time is over, and outlives the agent. Its origin is cli.",
		}, setRule),
		reads(operation{
			method: http.MethodDelete, path: "/v1/rules", id: "unsetRules",
			summary: "Remove all rules of some prefixes", query: prefixes, failures: refused,
		}, unsetRules),
		reads(operation{
			method: http.MethodGet, path: "/v1/policies", id: "listPolicies",
			summary: "The kernel's policies and what they counted, the default one first", failures: kernelFailures(),
		}, withKernel(func(k Kernel, _ *http.Request) ([]KernelPolicy, error) { return k.Policies() })),
		takes(operation{
			method: http.MethodPut, path: "/v1/policies/{policy}", id: "setPolicy", failures: refused,
			summary: "Make a policy, or replace the one of its name",
			details: "The policy default matches every packet and has only a limit.",
		}, setPolicy),
		reads(operation{
			method: http.MethodDelete, path: "/v1/policies/{policy}", id: "deletePolicy",
			summary: "Delete a policy", failures: append(refused, http.StatusNotFound),
		}, withKernel(func(k Kernel, r *http.Request) (Done, error) {
			name := r.PathValue("policy")
			notePolicy(k, r, name)
			return Done{Action: "policy delete", Policy: name, Changed: 1}, k.DeletePolicy(name)
		})),
		reads(operation{
			method: http.MethodGet, path: "/v1/top", id: "top",
			summary: "The sources that lost most packets", query: []parameter{shown()}, failures: kernelFailures(),
		}, withKernel(func(k Kernel, r *http.Request) ([]KernelSource, error) { return k.Top(number(r)) })),
	}
}

// withKernel is for operations that need the kernel's limiter.
func withKernel[Out any](do func(Kernel, *http.Request) (Out, error)) func(Agent, *http.Request) (Out, error) {
	return func(a Agent, r *http.Request) (Out, error) {
		k, err := kernelOf(a)
		if err != nil {
			var none Out
			return none, err
		}
		return do(k, r)
	}
}

func kernelOf(a Agent) (Kernel, error) {
	if k := a.Kernel(); k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("the kernel's limiter is %w; add a kernel section to the agent's file", ErrOff)
}

func listRules(a Agent, r *http.Request) ([]KernelRule, error) {
	k, err := kernelOf(a)
	if err != nil {
		return nil, err
	}
	rules, err := k.Rules()
	query := r.URL.Query()
	action, origin := query.Get("action"), query.Get("origin")
	return slices.DeleteFunc(rules, func(rule KernelRule) bool {
		return cmp.Or(action, rule.Action) != rule.Action || cmp.Or(origin, rule.Origin) != rule.Origin
	}), err
}

func setRule(a Agent, _ *http.Request, s RuleSetting) (Done, error) {
	k, err := kernelOf(a)
	if err != nil {
		return Done{}, err
	}
	rule, period, err := s.rule()
	if err != nil {
		return Done{}, Refusal{err}
	}
	return Done{Action: s.Action, Prefixes: []netip.Prefix{rule.Prefix}, Policy: rule.Policy, Changed: 1}, k.SetRule(rule, period)
}

func unsetRules(a Agent, r *http.Request) (Done, error) {
	k, err := kernelOf(a)
	if err != nil {
		return Done{}, err
	}
	prefixes, err := prefixesOf(r)
	if err != nil {
		return Done{}, err
	}
	removed, err := k.Unset(prefixes)
	note(r, "removed", len(removed))
	return Done{Action: "unset", Prefixes: removed, Changed: len(removed)}, err
}

// prefixesOf returns the prefixes that the query of a request names.
func prefixesOf(r *http.Request) (prefixes []netip.Prefix, err error) {
	for _, text := range r.URL.Query()["prefix"] {
		p, err := parsePrefix(text)
		if err != nil {
			return nil, Refusal{err}
		}
		prefixes = append(prefixes, p)
	}
	return prefixes, nil
}

func setPolicy(a Agent, r *http.Request, s PolicySetting) (Done, error) {
	k, err := kernelOf(a)
	if err != nil {
		return Done{}, err
	}
	policy, err := s.policy(r.PathValue("policy"))
	if err != nil {
		return Done{}, Refusal{err}
	}
	notePolicy(k, r, policy.Name)
	return Done{Action: "policy set", Policy: policy.Name, Changed: 1}, k.SetPolicy(policy)
}

// notePolicy has the log tell what a policy was before it is changed.
func notePolicy(k Kernel, r *http.Request, name string) {
	policies, err := k.Policies()
	if err != nil {
		return // it is the change that fails, not this
	}
	i := slices.IndexFunc(policies, func(p KernelPolicy) bool { return p.Name == name })
	if i < 0 {
		note(r, "was", "none")
		return
	}
	p := policies[i]
	note(r, "was", fieldsOf(PolicySetting{
		Proto: p.Proto, Ports: p.Ports, SYN: p.SYN, Unverified: p.Unverified, Key: p.Key, DryRun: p.DryRun, Overflow: p.Overflow,
		Rate: p.Rate, Burst: p.Burst, Bandwidth: p.Bandwidth, BandwidthBurst: p.BandwidthBurst,
	}))
}
