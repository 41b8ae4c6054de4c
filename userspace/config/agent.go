package config

import (
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"github.com/headgate/headgate/userspace/rate"
)

// Kernel is the kernel section: what the XDP program limits.
type Kernel struct {
	Interfaces []string // at least one; no name twice
	Mode       string   // ModeAuto, ModeNative or ModeGeneric
	// IPv4Prefix (0 to 32) and IPv6Prefix (0 to 128) are how many bits of an address make a source.
	IPv4Prefix, IPv6Prefix int
	// Overflow is what becomes of packets of sources near their limit that there is no bucket for:
	// OverflowEstimate, OverflowPass or OverflowDrop. Policies that say it have their own.
	Overflow string
	DryRun   bool
	// MaxSources and MaxRules are the sizes of a new instance; 0 for the loader's defaults.
	MaxSources, MaxRules uint32
	// HeatMemory is the size in bytes of a new instance's heat table; 0 for one that fits the limits.
	HeatMemory uint64
	// VerifiedFor is for how long a client counts as verified whose request was allowed; 0 for never.
	VerifiedFor time.Duration
	Default     KernelLimit // zero for no limit
	Policies    []Policy    // without the default one; their names are unique
	Rules       []PrefixRule
	RuleFiles   []RuleFile
}

// The values of Kernel.Mode, Kernel.Overflow and Policy.Overflow.
const (
	ModeAuto    = "auto"
	ModeNative  = "native"
	ModeGeneric = "generic"

	OverflowEstimate = "estimate"
	OverflowPass     = "pass"
	OverflowDrop     = "drop"
)

// KernelLimit is what a source may send. A zero rate does not limit, and its burst is 0; of others it is at least 1, by
// default rate.Rate.DefaultBurst. Both can be compiled by package limit.
type KernelLimit struct {
	Rate           rate.Rate // packets
	Burst          uint64    // packets
	Bandwidth      rate.Rate // bytes
	BandwidthBurst uint64    // bytes
}

// IsZero reports whether nothing is limited.
func (l KernelLimit) IsZero() bool { return l.Rate.IsZero() && l.Bandwidth.IsZero() }

// Policy says which packets are counted, by what, and how many may pass.
type Policy struct {
	Name  string
	Proto string // as written: tcp, udp, icmp, icmpv6 or a number; empty for any
	// Protocol is the number of Proto; meaningless if that is empty.
	Protocol uint8
	// FirstPort and LastPort are the range of destination ports; 0 for any.
	FirstPort, LastPort uint16
	SYN                 bool // only packets that open a TCP connection
	Unverified          bool // only packets of sources that are not verified
	Shared              bool // one bucket for all that match, not one for each source
	DryRun              bool
	Overflow            string      // as Kernel.Overflow; of a policy that is set live, empty for what it was
	Limit               KernelLimit // not zero
	Line                int
}

// Action is what a rule for a prefix does.
type Action string

// The actions. At one prefix allow goes before block before limit.
const (
	Allow Action = "allow"
	Block Action = "block"
	Limit Action = "limit"
)

// PrefixRule is what is said of an address prefix.
type PrefixRule struct {
	Prefix netip.Prefix // canonical: masked, and not an IPv4-mapped one
	Action Action
	Limit  KernelLimit // of action Limit; not zero there
	Policy string      // of action Limit: whose limit it takes the place of; empty for the default
	Line   int
}

// RuleFile names a file with a prefix a line ("#" begins a comment), all of which have one rule.
type RuleFile struct {
	Path   string // absolute, or relative to the configuration file (File.MakeAbsolute)
	Action Action
	Limit  KernelLimit
	Policy string
	Line   int
}

// Listener is an address that is listened on.
type Listener struct {
	// Network is NetworkTCP or NetworkUnix, or NetworkSystemd: a socket that systemd has opened.
	Network string
	// Address is HOST:PORT, the socket's absolute path, or the name of systemd's socket (FileDescriptorName). HOST is
	// an IP address, or empty for all of both families; 0.0.0.0 is for IPv4 only, and :: for IPv6 only.
	Address string
	// TLS is used if set.
	TLS *TLS
	// ProxyProtocol lists the peers that must send a PROXY protocol header (v1 or v2); nobody else's is read.
	ProxyProtocol []netip.Prefix
	Access        Access // of NetworkUnix
	Line          int
}

// Access says who may connect to a unix socket, which takes the right to write to its file.
type Access struct {
	Mode  uint32 // the file's permissions; 0 for DefaultSocketMode
	Group string // the file's, a name or a number; empty for the one that it gets by itself
}

// DefaultSocketMode lets in who the agent runs as, and the group of the file.
const DefaultSocketMode = 0o660

// TLS names the files of a certificate, in PEM. They are read again when they change.
type TLS struct {
	Certificate, Key string // absolute, or relative to the configuration file
}

// Upstream is the servers that the proxy sends requests to.
type Upstream struct {
	Servers []*url.URL // http or https, without path; at least one
	Health  Health
	// Timeout is how long a server may take until its response begins.
	Timeout time.Duration
	// PreserveHost sends the client's Host; otherwise the server's.
	PreserveHost bool
}

// Health says when a server of an upstream is left out.
type Health struct {
	// Path is asked at each Interval if set; a server that does not answer 2xx or 3xx
	// within Timeout is left out after Failures times, and taken back after Successes.
	Path                string
	Interval, Timeout   time.Duration
	Failures, Successes int
}

// Timeouts bound how long a client may take. None is 0.
type Timeouts struct {
	Header time.Duration // until a request's header is there
	Read   time.Duration // for the next bytes of a body
	Write  time.Duration // until the client takes the next bytes of a response
	Idle   time.Duration // between two requests of a connection
	Tunnel time.Duration // in which nothing goes through a connection that was taken over, as of a websocket
	Drain  time.Duration // for requests under way when the agent ends
}

// Auth is the auth section: fronts for gateways that ask whether a request may pass.
type Auth struct {
	// Listen is for nginx's auth_request, and for the forward-auth of Traefik and Caddy.
	Listen []Listener
	// GRPC is for Envoy's ext_authz and ratelimit services.
	GRPC []Listener
	// Gateways are the peers that may ask, beside those on unix sockets. By default those of loopback.
	Gateways []netip.Prefix
	// Domain is the only domain of Envoy's rate limit requests that is limited; empty for all.
	Domain string
}

// HandDown is the handdown section: when the kernel takes over a source that is refused again and again.
type HandDown struct {
	After  int           // offences
	Within time.Duration // in this time
	Action Action        // Block or Limit
	Limit  KernelLimit   // of action Limit
	// For is how long the first rule of a source holds. It doubles with each, up to Max.
	For, Max time.Duration
	// IPv4Prefix and IPv6Prefix are how much of the offender's address the rule is for, in bits.
	IPv4Prefix, IPv6Prefix int
	MaxRules               int      // that are in force at once
	DryRun                 bool     // all is decided, logged and counted, and no rule made
	Private                bool     // also private, loopback and link-local addresses
	NginxLogs              []string // paths, absolute or relative to the configuration file
}

// Adaptive is the adaptive section: how the backend's health moves the rates.
type Adaptive struct {
	Observe  bool // decide, log and export, and change nothing
	Interval time.Duration
	// Exactly one of these signals is set.
	Latency  Latency
	Errors   float64 // share of 5xx answers, above 0 and at most 1
	InFlight int     // requests
	// Floor and Ceiling bound the factor on all rates, 1 being as configured: 0 < Floor <= 1 <= Ceiling.
	Floor, Ceiling float64
	Increase       float64 // what is added to the factor at each healthy interval
	Decrease       float64 // what the factor is multiplied with at an unhealthy one, below 1
	// Recover is the part of the signal's target below which an interval is healthy: between it and
	// the target nothing changes. Above 0, at most 1.
	Recover float64
	// Kernel and HTTP say which rates are scaled: the default limit of the kernel, and those of zones.
	Kernel, HTTP bool
}

// Latency is a percentile of the backend's answers, and where it becomes too long.
type Latency struct {
	Percentile float64 // above 0, at most 100
	Target     time.Duration
}

// Metrics is the metrics section: where Prometheus, /healthz and /readyz are served.
type Metrics struct {
	Listen Listener
}

// Admin is the admin section.
type Admin struct {
	Socket string // path of a unix socket; empty for none
	Access Access // of the socket's file; its mode is 0600 by default
	// Listen is a loopback address where TokenFile's content is asked for as a bearer token.
	Listen    *Listener
	TokenFile string // absolute, or relative to the configuration file
	Pprof     bool   // serve /debug/pprof on the socket
}

// Log is the log section.
type Log struct {
	Format string // "text" or "json"
	Level  slog.Level
	File   string // appended to, and opened again at SIGHUP; absolute, or relative to the configuration file; empty for stderr
}

// Tracing is the tracing section: spans of decisions for OpenTelemetry.
type Tracing struct {
	Endpoint string  // URL of a collector that speaks OTLP over HTTP
	Ratio    float64 // of requests that carry no trace yet, 0 to 1
}
