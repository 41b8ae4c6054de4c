package admin

import (
	"net/http"
	"net/netip"
)

// mostFleetBody bounds the body of rules for a fleet, in bytes: a list of some ten thousand prefixes.
const mostFleetBody = 1 << 20

func fleetOperations() []operation {
	prefixes := []parameter{{name: "prefix", doc: "an address or prefix; again for each", repeated: true, required: true}}
	refused := kernelFailures(http.StatusUnprocessableEntity, http.StatusServiceUnavailable)
	return []operation{
		reads(operation{
			method: http.MethodGet, path: "/v1/fleet", id: "fleet", failures: kernelFailures(),
			summary: "The machines that share a Redis, how Redis is, and which limits hold",
			details: "Where Redis does not answer it is what was last seen.",
		}, func(a Agent, _ *http.Request) (Fleet, error) { return a.Fleet() }),
		reads(operation{
			method: http.MethodGet, path: "/v1/fleet/rules", id: "listFleetRules", failures: kernelFailures(),
			summary: "The rules of the fleet, who published them and why, and whether they are in force on this machine",
			details: "Where Redis does not answer they are those that are known here.",
		}, func(a Agent, _ *http.Request) ([]KnownRule, error) { return a.FleetRules() }),
		takes(operation{
			method: http.MethodPut, path: "/v1/fleet/rules", id: "setFleetRules", failures: refused, mostBody: mostFleetBody,
			tooLarge: ", as a list of more than 20000 prefixes may be; a machine publishes fleet.max_published rules a minute: send no more than that at once",
			summary:  "Allow, block or limit prefixes in the kernels of all machines",
			details:  "All of them are published, or none. Their origin is fleet. Where Redis does not answer in time it is not known whether they are published: to set them once more does no harm. On a machine where something protects a prefix its rule is not in force; of this one spared says so.",
		}, setFleetRules),
		reads(operation{
			method: http.MethodDelete, path: "/v1/fleet/rules", id: "unsetFleetRules",
			summary: "Take back the rules of the fleet for some prefixes, whoever made them", query: prefixes, failures: refused,
		}, unsetFleetRules),
	}
}

func setFleetRules(a Agent, _ *http.Request, s FleetSetting) (Done, error) {
	rules, err := s.rules()
	if err != nil {
		return Done{}, err
	}
	prefixes := make([]netip.Prefix, len(rules))
	for n, r := range rules {
		prefixes[n] = r.Prefix
	}
	spared, err := a.SetFleet(rules)
	return Done{Action: s.Action, Prefixes: prefixes, Changed: len(rules), Spared: spared}, err
}

func unsetFleetRules(a Agent, r *http.Request) (Done, error) {
	prefixes, err := prefixesOf(r)
	if err != nil {
		return Done{}, err
	}
	removed, err := a.UnsetFleet(prefixes)
	note(r, "removed", len(removed))
	return Done{Action: "unset", Prefixes: removed, Changed: len(removed)}, err
}
