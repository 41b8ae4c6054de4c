package admin

import (
	"errors"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

// Agent is what the API shows and changes. Its methods may be called at the same time. An error that is the
// caller's fault is wrapped in a Refusal, or it is an ErrNotFound or an ErrOff; any other but ErrAway is the agent's. A list
// inside of what is returned is not nil, so that JSON has one.
type Agent interface {
	// Status tells what the agent is and does.
	Status() Status
	// Zones returns the zones in the order of the file, with the limits in force.
	Zones() []Zone
	// SetZone changes a zone's rate, live, until the configuration is read again. It returns the zone as it is
	// then. ErrNotFound if there is none of the name.
	SetZone(name string, change ZoneChange) (Zone, error)
	// Peek returns the state of a key for each use of the zone, and charges nothing. The parts of the key
	// are as people write them. A key that was never seen has the state of an idle one.
	Peek(zone string, key []string) ([]KeyState, error)
	// Reset forgets a key. It returns whether it was known.
	Reset(zone string, key []string) (bool, error)
	// TopKeys returns the keys that owe most, at most n.
	TopKeys(zone string, n int) ([]KeyState, error)
	// Offenders returns the sources nearest to being handed down, or that are, at most n. ErrOff without
	// a handdown section.
	Offenders(n int) ([]Offender, error)
	// Report counts offences that somebody else saw. ErrOff without a handdown section.
	Report(r Report) (Outcome, error)
	// Fleet tells what is known of the machines that share a Redis. ErrOff without a redis section.
	Fleet() (Fleet, error)
	// FleetRules returns the rules of the fleet that are known here, by prefix. ErrOff without a redis section.
	FleetRules() ([]KnownRule, error)
	// SetFleet publishes rules for the kernels of the fleet, all of them or none. They are in force here when it returns, but
	// for those that it returns: something protects their prefixes here. An error that is a Refusal says how many fit, if they were too many. ErrAway where
	// Redis does not answer: then they may be published or not. ErrOff without the sections redis and fleet.
	SetFleet(rules []FleetRule) ([]SparedPrefix, error)
	// UnsetFleet takes rules of the fleet back, whoever made them, and returns the prefixes that had one. ErrAway and ErrOff as
	// of SetFleet.
	UnsetFleet(prefixes []netip.Prefix) ([]netip.Prefix, error)
	// Reload reads the configuration again: all of it is in force then, or none and an error.
	Reload() error
	// Drain begins to end the agent, and returns at once.
	Drain()
	// Events returns a new listener, which the caller closes.
	Events() *event.Listener
	// Kernel returns the kernel's limiter, or nil if the configuration has no kernel section.
	Kernel() Kernel
}

// Errors of an Agent.
var (
	// ErrNotFound is of what does not exist by that name.
	ErrNotFound = errors.New("not found")
	// ErrOff is of what the configuration has no section for.
	ErrOff = errors.New("not configured")
	// ErrAway is of what Redis has to do, and did not: it does not answer, or with an error.
	ErrAway = errors.New("redis does not answer")
)

// ZoneChange is a zone's new limit: one of the two.
type ZoneChange struct {
	Quota config.Quota // of a zone with a rate
	Slots uint64       // of a zone that counts requests at a time; 0 if Quota is set
}

// Report is somebody's word that a source has offended.
type Report struct {
	Prefix netip.Prefix // canonical: masked, and not an IPv4-mapped one
	Reason string       // in words; may be empty
	Origin string       // as of package event
	Count  int          // of offences, 1 or more
}

// Status is what the agent is and does.
type Status struct {
	Version       string       `json:"version" doc:"of headgate"`
	PID           int          `json:"pid" doc:"the process"`
	Started       time.Time    `json:"started"`
	UptimeSeconds float64      `json:"uptime_seconds"`
	Draining      bool         `json:"draining" doc:"the agent takes no new connections and ends with those it has"`
	Config        ConfigStatus `json:"config"`
	Listeners     []Listener   `json:"listeners"`
	Upstream      []Server     `json:"upstream" doc:"the servers behind the proxy"`
	Interfaces    []Interface  `json:"interfaces" doc:"where packets are limited now, and what the kernel section names beside; empty without one"`
	HandDown      bool         `json:"handdown" doc:"offenders are handed down to the kernel"`
	NginxLogs     []Log        `json:"nginx_logs" doc:"logs of nginx that offences are read from"`
	Adaptive      *Adaptive    `json:"adaptive" doc:"null without an adaptive section"`
}

// ConfigStatus is which configuration is in force, and why no other.
type ConfigStatus struct {
	File     string     `json:"file"`
	SHA256   string     `json:"sha256" doc:"of the file in force, in hexadecimal"`
	LoadedAt time.Time  `json:"loaded_at"`
	Warnings []string   `json:"warnings,omitempty" doc:"what is doubtful in the file in force"`
	Error    string     `json:"error,omitempty" doc:"why the last reload changed nothing; absent if it did"`
	FailedAt *time.Time `json:"failed_at,omitempty" doc:"when that was"`
}

// Listener is an address that the agent listens on.
type Listener struct {
	Serves  string `json:"serves" doc:"what is served there: proxy, auth, grpc, metrics or admin"`
	Network string `json:"network" enum:"tcp,unix,systemd"`
	Address string `json:"address"`
	TLS     bool   `json:"tls"`
	// Requests is 0 where nobody reaches the listener.
	Requests uint64 `json:"requests" doc:"that have come since it was opened, or since its time-outs were changed"`
}

// Server is one of the servers behind the proxy.
type Server struct {
	URL      string `json:"url"`
	Healthy  bool   `json:"healthy" doc:"not left out"`
	Health   string `json:"health" enum:"healthy,left_out,not_asked" doc:"not_asked: nobody asks it whether it is well, as there is no upstream.health; it gets requests"`
	InFlight int64  `json:"in_flight" doc:"requests that it has not answered yet"`
	Error    string `json:"error,omitempty" doc:"how it failed the last time that it was asked, by a request or for its health; absent if it did not"`
}

// Interface is a network interface as the kernel has it now.
type Interface struct {
	Name  string `json:"name"`
	State string `json:"state" enum:"attached,missing,detached,failed,unknown" doc:"attached: its packets are limited; missing: there is none of the name, and it is attached to when it comes; detached: by hand, a reload attaches to it again; failed: it could not be attached to; unknown: the kernel could not be asked"`
	Mode  string `json:"mode,omitempty" enum:"native,generic" doc:"absent unless it is attached to"`
	Error string `json:"error,omitempty" doc:"why it could not be attached to"`
}

// The states of an Interface.
const (
	Attached = "attached"
	Missing  = "missing"
	Detached = "detached"
	Failed   = "failed"
	NotKnown = "unknown"
)

// The health of a Server.
const (
	Healthy  = "healthy"
	LeftOut  = "left_out"
	NotAsked = "not_asked"
)

// Log is a log of nginx.
type Log struct {
	Path  string `json:"path"`
	Error string `json:"error,omitempty" doc:"why it is not read at present, and what to do; absent if it is"`
}

// Adaptive is what the backend's health has made of the rates.
type Adaptive struct {
	Observe   bool       `json:"observe" doc:"decided and told, but not done"`
	Signal    string     `json:"signal" enum:"latency,errors,in_flight"`
	Value     float64    `json:"value" doc:"of the signal in the last interval: seconds, a share, or requests"`
	Target    float64    `json:"target" doc:"what the signal should stay below"`
	Factor    float64    `json:"factor" doc:"on all rates, 1 being as configured"`
	Floor     float64    `json:"floor"`
	Ceiling   float64    `json:"ceiling"`
	ChangedAt *time.Time `json:"changed_at" doc:"when the factor was last changed; null for never"`
}

// Zone is a zone of HTTP requests with the limit in force.
type Zone struct {
	Name       string   `json:"name"`
	Key        []string `json:"key" doc:"the parts that a key is made of"`
	Algorithm  string   `json:"algorithm"`
	Rate       string   `json:"rate,omitempty" doc:"in force; absent for a zone that counts requests at a time"`
	Concurrent uint64   `json:"concurrent,omitempty" doc:"requests at a time; absent for a zone with a rate"`
	Changed    bool     `json:"changed" doc:"other than configured, until the next reload"`
	Overrides  int      `json:"overrides" doc:"values of the key with another limit"`
	Store      string   `json:"store" enum:"memory,redis" doc:"where the keys are; of redis all machines have them together"`
	Keys       int64    `json:"keys" doc:"that are remembered by this machine; of a zone in redis those that it counts by itself while Redis is away"`
	MaxKeys    int      `json:"max_keys" doc:"that can be remembered; 0 for as many as are under way"`
	// What the zone did since the agent began.
	Allowed     uint64 `json:"allowed" doc:"requests that passed at once"`
	Delayed     uint64 `json:"delayed" doc:"requests that passed later"`
	Refused     uint64 `json:"refused"`
	WouldDelay  uint64 `json:"would_delay" doc:"in dry run"`
	WouldRefuse uint64 `json:"would_refuse" doc:"in dry run"`
	EvictedLive uint64 `json:"evicted_live" doc:"keys that were forgotten while they owed something"`
}

// KeyState is what a key may do now under one use of a zone.
type KeyState struct {
	Zone              string   `json:"zone"`
	Rule              string   `json:"rule,omitempty" doc:"the rule that uses the zone so"`
	Key               string   `json:"key" doc:"in words"`
	Parts             []string `json:"parts" doc:"of the key, as they are given to peek and reset"`
	Rate              string   `json:"rate,omitempty" doc:"absent for a zone that counts requests at a time"`
	Limit             uint64   `json:"limit" doc:"requests of an idle key that pass at one instant"`
	Remaining         uint64   `json:"remaining" doc:"requests that would pass at this instant"`
	Owes              float64  `json:"owes" doc:"requests that the key is ahead of its rate; of a zone that counts requests at a time, those under way"`
	RetryAfterSeconds float64  `json:"retry_after_seconds" doc:"until one more would pass; 0 if it would now, or if nobody can know"`
	ResetSeconds      float64  `json:"reset_seconds" doc:"until the key is as one never seen"`
	Store             string   `json:"store,omitempty" enum:"redis,local" doc:"of a zone in redis, who says so: local for this machine, which knows of its own part alone while Redis is away"`
}

// Offender is a source that was refused again and again.
type Offender struct {
	Source         netip.Prefix `json:"source"`
	Offences       int          `json:"offences" doc:"that count now"`
	Strikes        int          `json:"strikes" doc:"how often it was handed down"`
	Origin         string       `json:"origin,omitempty" doc:"who saw the last offence: http, nginx or report"`
	Action         string       `json:"action,omitempty" doc:"of the kernel's rule in force; absent without one" enum:"block,limit"`
	ExpiresSeconds float64      `json:"expires_seconds,omitempty" doc:"until that rule ends"`
	Spared         string       `json:"spared,omitempty" doc:"why it was not handed down a short time ago"`
}

// Outcome is what became of a report.
type Outcome struct {
	Prefix        netip.Prefix `json:"prefix" doc:"what was reported"`
	Outcome       string       `json:"outcome" enum:"counted,handed_down,spared" doc:"counted as so many offences; handed down to the kernel by this or an earlier report; or spared for a reason"`
	Reason        string       `json:"reason,omitempty" doc:"why it was spared"`
	Offences      int          `json:"offences" doc:"of the source that count now"`
	After         int          `json:"after" doc:"as many offences have it handed down"`
	WithinSeconds float64      `json:"within_seconds" doc:"if they come in this time"`
	ForSeconds    float64      `json:"for_seconds,omitempty" doc:"how long the kernel's rule holds"`
	DryRun        bool         `json:"dry_run" doc:"no rule was made, as hand-down is on trial"`
}
