package admin

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// FleetRule is a rule for the kernels of a fleet.
type FleetRule struct {
	Prefix netip.Prefix       // canonical: masked, and not an IPv4-mapped one
	Action config.Action      // Block, Limit or Allow
	Limit  config.KernelLimit // of action Limit; of the default policy
	For    time.Duration      // how long it holds; 0 for no end
	Reason string             // in words; may be empty
}

// KnownRule is a rule of a fleet as the machine has it that is asked.
type KnownRule struct {
	Prefix         netip.Prefix `json:"prefix"`
	Action         string       `json:"action" enum:"allow,block,limit"`
	Rate           string       `json:"rate,omitempty"`
	Burst          uint64       `json:"burst,omitempty" doc:"packets"`
	Bandwidth      string       `json:"bandwidth,omitempty"`
	BandwidthBurst uint64       `json:"bandwidth_burst,omitempty" doc:"bytes"`
	Expires        *time.Time   `json:"expires" doc:"null for never"`
	By             string       `json:"by,omitempty" doc:"the machine that published it; absent where only the kernel knows of it, from before the agent began"`
	Person         bool         `json:"person" doc:"somebody set it, and not a hand-down"`
	Reason         string       `json:"reason,omitempty" doc:"why, in words"`
	InForce        bool         `json:"in_force" doc:"on the machine that is asked"`
	Spared         string       `json:"spared,omitempty" doc:"why it is not in force there"`
}

// SparedPrefix is a prefix that a rule of a fleet is not in force for on the machine that published it.
type SparedPrefix struct {
	Prefix netip.Prefix `json:"prefix"`
	Reason string       `json:"reason" doc:"what protects it"`
}

// Fleet is what is known of the machines that share a Redis.
type Fleet struct {
	Self    string        `json:"self" doc:"the name of this machine"`
	Members []FleetMember `json:"members" doc:"the machines, this one included, by name"`
	SeenAt  *time.Time    `json:"seen_at" doc:"when they were last seen; null for never"`
	Error   string        `json:"error,omitempty" doc:"why not since; absent while they are"`
	Store   FleetStore    `json:"store"`
	Rules   FleetRules    `json:"rules"`
	Limits  []FleetLimit  `json:"limits" doc:"the zones whose keys are in Redis, in the order of the file"`
}

// FleetMember is a machine of a fleet.
type FleetMember struct {
	Name             string    `json:"name"`
	Self             bool      `json:"self" doc:"it is the one that was asked"`
	Version          string    `json:"version" doc:"of headgate"`
	Started          time.Time `json:"started"`
	SeenSeconds      float64   `json:"seen_seconds" doc:"ago, by the clock of Redis"`
	Store            string    `json:"store" enum:"up,partly,probing,down" doc:"Redis as the machine sees it"`
	RoundTripSeconds float64   `json:"round_trip_seconds" doc:"of its calls to Redis, in the mean of the last"`
	Behind           uint64    `json:"behind" doc:"changes of the rules that it has not got yet"`
	DelaySeconds     float64   `json:"delay_seconds" doc:"how late the last change came to it"`
}

// FleetStore is how this machine finds Redis. What is counted is since the agent began.
type FleetStore struct {
	Mode             string     `json:"mode" enum:"single,sentinel,cluster"`
	Addrs            []string   `json:"addrs" doc:"of the servers in the file, or of the sentinels"`
	Health           string     `json:"health" enum:"up,partly,probing,down" doc:"whether requests ask Redis. partly: some slots of the cluster are down; probing: it is tried whether it answers again"`
	Since            *time.Time `json:"since" doc:"when that began; null where nothing was asked yet"`
	Error            string     `json:"error,omitempty" doc:"the last one that was seen; absent while all is well"`
	RoundTripSeconds float64    `json:"round_trip_seconds" doc:"in the mean of the last calls"`
	InFlight         int        `json:"in_flight" doc:"calls that have no answer yet"`
	Calls            uint64     `json:"calls" doc:"that were begun"`
	RoundTrips       uint64     `json:"round_trips" doc:"of calls together"`
	Timeouts         uint64     `json:"timeouts" doc:"calls without an answer in time"`
	Errors           uint64     `json:"errors" doc:"calls that Redis answered with an error"`
	Busy             uint64     `json:"busy" doc:"calls that were not made, as too many had no answer yet"`
	LeftAlone        uint64     `json:"left_alone" doc:"calls that were not made, as Redis was left alone"`
	Opened           uint64     `json:"opened" doc:"how often Redis was left alone, as it did not answer"`
	Probes           uint64     `json:"probes" doc:"how often it was tried whether it answers again"`
}

// FleetRules counts the rules of a fleet for the kernel. What is counted as published, withheld or received is since the
// agent began.
type FleetRules struct {
	Total     int    `json:"total" doc:"that the fleet has"`
	Followed  bool   `json:"followed" doc:"whether they are to be in force here: with fleet: {follow: true} and a kernel section"`
	Spared    int    `json:"spared" doc:"that are not in force here, as something protects the prefix"`
	Published uint64 `json:"published" doc:"by this machine"`
	Withheld  uint64 `json:"withheld" doc:"by this machine, as it had published as many as it may"`
	Received  uint64 `json:"received" doc:"from others"`
}

// FleetLimit is what a zone lets a key do on all machines, and on this one while Redis is away.
type FleetLimit struct {
	Zone           string   `json:"zone"`
	Algorithm      string   `json:"algorithm"`
	Rate           string   `json:"rate,omitempty" doc:"on all machines together; absent for a zone that counts requests at a time"`
	Concurrent     uint64   `json:"concurrent,omitempty" doc:"requests at a time on all machines together; absent for a zone with a rate"`
	Here           string   `json:"here" doc:"on this machine by on_store_failure: local while Redis is away, as 3.33r/s or 2 at a time: the limit divided by the number of machines"`
	OnStoreFailure []string `json:"on_store_failure" doc:"of the rules that use the zone, each word once: local, open or closed"`
}

// FleetSetting is rules of a fleet as they are set: the same for some prefixes.
type FleetSetting struct {
	Prefixes       []string `json:"prefixes" doc:"addresses or prefixes, as 203.0.113.7 or 2001:db8::/32; one or more"`
	Action         string   `json:"action" enum:"allow,block,limit"`
	Rate           string   `json:"rate,omitempty" doc:"of a limit: packets, as 500pps, 10kpps or 30ppm"`
	Burst          uint64   `json:"burst,omitempty" doc:"packets; by default those of a second"`
	Bandwidth      string   `json:"bandwidth,omitempty" doc:"of a limit: as 100Mbit/s or 12MB/s"`
	BandwidthBurst uint64   `json:"bandwidth_burst,omitempty" doc:"bytes; by default those of a second"`
	For            string   `json:"for,omitempty" doc:"how long they hold, as 30s, 10m or 12h; by default they have no end"`
	Reason         string   `json:"reason,omitempty" doc:"in words, of at most 200 bytes"`
}

// rules returns the rules.
func (s *FleetSetting) rules() ([]FleetRule, error) {
	if err := checkReason(s.Reason); err != nil {
		return nil, err
	}
	if len(s.Prefixes) == 0 {
		return nil, problem(http.StatusUnprocessableEntity, "there is no prefix; name one or more")
	}
	all := make([]FleetRule, len(s.Prefixes))
	for n, prefix := range s.Prefixes {
		one := RuleSetting{
			Prefix: prefix, Action: s.Action, Rate: s.Rate, Burst: s.Burst, Bandwidth: s.Bandwidth, BandwidthBurst: s.BandwidthBurst, For: s.For,
		}
		rule, period, err := one.rule()
		if err != nil {
			return nil, Refusal{err}
		}
		all[n] = FleetRule{Prefix: rule.Prefix, Action: rule.Action, Limit: rule.Limit, For: period, Reason: s.Reason}
	}
	return all, nil
}
