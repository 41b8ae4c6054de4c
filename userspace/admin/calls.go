package admin

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
)

// Status returns what the agent is and does.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return call[Status](ctx, c, http.MethodGet, "/v1/status", nil, nil)
}

// Zones returns all zones, in the order of the file.
func (c *Client) Zones(ctx context.Context) ([]Zone, error) {
	return call[[]Zone](ctx, c, http.MethodGet, "/v1/zones", nil, nil)
}

// Zone returns one zone.
func (c *Client) Zone(ctx context.Context, name string) (Zone, error) {
	return call[Zone](ctx, c, http.MethodGet, zonePath(name, ""), nil, nil)
}

// SetZone changes a zone's limit until the configuration is read again, and returns the zone as it is then.
func (c *Client) SetZone(ctx context.Context, name string, s ZoneSetting) (Zone, error) {
	return call[Zone](ctx, c, http.MethodPatch, zonePath(name, ""), nil, s)
}

// Peek returns the state of a key for each use of a zone.
func (c *Client) Peek(ctx context.Context, zone string, key []string) ([]KeyState, error) {
	return call[[]KeyState](ctx, c, http.MethodGet, zonePath(zone, "/key"), url.Values{"part": key}, nil)
}

// Reset forgets a key, and returns whether it was known.
func (c *Client) Reset(ctx context.Context, zone string, key []string) (bool, error) {
	reset, err := call[KeyReset](ctx, c, http.MethodDelete, zonePath(zone, "/key"), url.Values{"part": key}, nil)
	return reset.Reset, err
}

// TopKeys returns the keys of a zone that owe most, at most n, which is 1 to 1000.
func (c *Client) TopKeys(ctx context.Context, zone string, n int) ([]KeyState, error) {
	return call[[]KeyState](ctx, c, http.MethodGet, zonePath(zone, "/keys"), most(n), nil)
}

func zonePath(name, below string) string { return "/v1/zones/" + url.PathEscape(name) + below }

func most(n int) url.Values { return url.Values{"n": {strconv.Itoa(n)}} }

// Offenders returns the sources that were refused again and again, at most n, which is 1 to 1000.
func (c *Client) Offenders(ctx context.Context, n int) ([]Offender, error) {
	return call[[]Offender](ctx, c, http.MethodGet, "/v1/offenders", most(n), nil)
}

// Report reports a source that has offended.
func (c *Client) Report(ctx context.Context, b ReportBody) (Outcome, error) {
	return call[Outcome](ctx, c, http.MethodPost, "/v1/reports", nil, b)
}

// Reload has the agent read its configuration again, and returns what is in force.
func (c *Client) Reload(ctx context.Context) (ConfigStatus, error) {
	reloaded, err := call[Reloaded](ctx, c, http.MethodPost, "/v1/reload", nil, Nothing{})
	return reloaded.Config, err
}

// Drain has the agent begin to end.
func (c *Client) Drain(ctx context.Context) error {
	_, err := call[Drained](ctx, c, http.MethodPost, "/v1/drain", nil, Nothing{})
	return err
}

// Rules returns the kernel's rules.
func (c *Client) Rules(ctx context.Context) ([]KernelRule, error) {
	return call[[]KernelRule](ctx, c, http.MethodGet, "/v1/rules", nil, nil)
}

// SetRule sets a rule of the kernel, of origin cli.
func (c *Client) SetRule(ctx context.Context, s RuleSetting) (Done, error) {
	return call[Done](ctx, c, http.MethodPut, "/v1/rules", nil, s)
}

// Unset removes all rules of some prefixes of the kernel.
func (c *Client) Unset(ctx context.Context, prefixes []netip.Prefix) (Done, error) {
	return call[Done](ctx, c, http.MethodDelete, "/v1/rules", queryOf(prefixes), nil)
}

// Fleet returns what is known of the machines that share a Redis.
func (c *Client) Fleet(ctx context.Context) (Fleet, error) {
	return call[Fleet](ctx, c, http.MethodGet, "/v1/fleet", nil, nil)
}

// FleetRules returns the rules of a fleet as the agent has them.
func (c *Client) FleetRules(ctx context.Context) ([]KnownRule, error) {
	return call[[]KnownRule](ctx, c, http.MethodGet, "/v1/fleet/rules", nil, nil)
}

// SetFleet publishes rules for the kernels of a fleet, all of them or none.
func (c *Client) SetFleet(ctx context.Context, s FleetSetting) (Done, error) {
	return call[Done](ctx, c, http.MethodPut, "/v1/fleet/rules", nil, s)
}

// mostInQuery is how many prefixes are named in one request: a server takes no header of any length.
const mostInQuery = 500

// UnsetFleet takes back the rules of a fleet for some prefixes. Where it returns an error, some may be taken back, as Done says.
func (c *Client) UnsetFleet(ctx context.Context, prefixes []netip.Prefix) (all Done, err error) {
	for part := range slices.Chunk(prefixes, mostInQuery) {
		done, err := call[Done](ctx, c, http.MethodDelete, "/v1/fleet/rules", queryOf(part), nil)
		if err != nil {
			return all, err
		}
		all.Action, all.Changed = done.Action, all.Changed+done.Changed
		all.Prefixes = append(all.Prefixes, done.Prefixes...)
	}
	return all, nil
}

// queryOf names prefixes.
func queryOf(prefixes []netip.Prefix) url.Values {
	query := url.Values{}
	for _, p := range prefixes {
		query.Add("prefix", p.String())
	}
	return query
}

// Policies returns the kernel's policies.
func (c *Client) Policies(ctx context.Context) ([]KernelPolicy, error) {
	return call[[]KernelPolicy](ctx, c, http.MethodGet, "/v1/policies", nil, nil)
}

// SetPolicy makes a policy of the kernel, or replaces the one of its name.
func (c *Client) SetPolicy(ctx context.Context, name string, s PolicySetting) (Done, error) {
	return call[Done](ctx, c, http.MethodPut, "/v1/policies/"+url.PathEscape(name), nil, s)
}

// DeletePolicy deletes a policy of the kernel.
func (c *Client) DeletePolicy(ctx context.Context, name string) (Done, error) {
	return call[Done](ctx, c, http.MethodDelete, "/v1/policies/"+url.PathEscape(name), nil, nil)
}

// Top returns the sources that lost most packets, at most n, which is 1 to 1000.
func (c *Client) Top(ctx context.Context, n int) ([]KernelSource, error) {
	return call[[]KernelSource](ctx, c, http.MethodGet, "/v1/top", most(n), nil)
}
