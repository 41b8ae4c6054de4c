package config

import (
	"net/netip"
	"regexp"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/keyed"
)

// File is a configuration file. Sections that it does not have are nil, but for HTTP,
// Timeouts and Log, which then have what applies by default.
type File struct {
	Redis    *Redis
	Fleet    *Fleet // only where Redis is set
	Kernel   *Kernel
	HTTP     HTTP
	Listen   []Listener // of the proxy
	Upstream *Upstream  // where Listen has any, and only there
	Timeouts Timeouts
	Auth     *Auth
	HandDown *HandDown
	Adaptive *Adaptive
	Metrics  *Metrics
	Admin    *Admin
	Log      Log
	Tracing  *Tracing
	// Warnings are what is allowed, but probably not meant.
	Warnings []Problem
}

// HTTP is the http section: how requests are limited.
type HTTP struct {
	ClientIP ClientIP
	// Allow lists clients that no rule is asked about.
	Allow   []netip.Prefix
	Headers HeaderStyle
	Zones   []Zone // in the order of the file; their names are unique
	Rules   []Rule // in the order of the file
}

// ClientIP says whose address a request is charged to.
type ClientIP struct {
	// Header names where a trusted proxy writes the client's address:
	// X-Forwarded-For, Forwarded, X-Real-IP or another with one address. Empty
	// for the address of the TCP peer.
	Header string
	// TrustedProxies are the peers whose header is believed, and the hops in it
	// that are passed over.
	TrustedProxies []netip.Prefix
	// TrustUnix says that peers on a unix socket are trusted too: "unix" among the
	// trusted proxies.
	TrustUnix bool
	// Hops, if not 0, is how many proxies write into the header: the client is the Hops-th value
	// from the right. TrustedProxies then only say which peers are believed; without any, all are.
	Hops int
	// IPv4Prefix and IPv6Prefix are how much of an address tells clients apart, in bits:
	// DefaultIPv4Prefix and DefaultIPv6Prefix where the file says nothing.
	IPv4Prefix, IPv6Prefix int
}

// What applies where the file says nothing.
const (
	DefaultIPv4Prefix = clientip.DefaultIPv4Prefix
	DefaultIPv6Prefix = clientip.DefaultIPv6Prefix
	DefaultMaxKeys    = keyed.DefaultMaxKeys
	DefaultStatus     = 429
	DefaultFailStatus = 503
	DefaultHeaders    = HeadersDraft10
)

// HeaderStyle is the family of header fields that tell clients their limit.
type HeaderStyle string

// The families of header fields.
const (
	HeadersDraft10    HeaderStyle = "draft10"      // RateLimit-Policy and RateLimit: draft-ietf-httpapi-ratelimit-headers-10
	HeadersPolli      HeaderStyle = "polli"        // RateLimit-Limit, -Remaining, -Reset: the first drafts
	HeadersXRateLimit HeaderStyle = "x-ratelimit"  // X-RateLimit-Limit, ...
	HeadersXRate      HeaderStyle = "x-rate-limit" // X-Rate-Limit-Limit, ...
	HeadersOff        HeaderStyle = "off"
)

// Algorithm names how a zone counts.
type Algorithm string

// The algorithms of a zone.
const (
	Leaky      Algorithm = "leaky"  // the default where there is a rate
	Nginx      Algorithm = "nginx"  // limit_req, bit for bit
	Window     Algorithm = "window" // fixed, from a key's first request
	Sliding    Algorithm = "sliding"
	Sketch     Algorithm = "sketch"
	Concurrent Algorithm = "concurrent" // requests at a time; said by `concurrent: N`
)

// Zone is a named key and what each of its values may do.
type Zone struct {
	Name      string
	Key       []KeyPart // at least one
	Algorithm Algorithm
	Quota     Quota  // zero for Concurrent
	Slots     uint64 // requests at a time, for Concurrent
	// MaxKeys bounds the keys that are remembered, in windows of different lengths those of each
	// length; 0 for Concurrent, which remembers those of requests under way.
	MaxKeys int
	// IPv4Prefix and IPv6Prefix, if not 0, are used for the ip part of this zone's key in
	// place of those of ClientIP, so that a zone can limit whole networks.
	IPv4Prefix, IPv6Prefix int
	Overrides              []Override // the first that matches decides; none for Nginx
	// Store is StoreMemory, or StoreRedis for a limit that all machines share. Lease is how many requests of a busy key may be
	// taken from Redis at once, 0 for none; of StoreRedis only.
	Store string
	Lease uint64
	Allow []Value // keys that the zone does not limit
	Line  int     // in the file, of the zone's name
}

// Quota is a number of requests and the time that it is for, as written: 60r/m
// is not 1r/s to a window.
type Quota struct {
	Count uint64
	Per   time.Duration
	// Text is how it was written.
	Text string
}

// KeyPart is one of the things that a key is made of.
type KeyPart struct {
	Kind KeyKind
	Name string // of the header, cookie or query argument; the text of a constant
}

// KeyKind is what a KeyPart takes from a request.
type KeyKind string

// The kinds of parts of keys.
const (
	KeyIP     KeyKind = "ip" // the client's address, cut to its prefix
	KeyHeader KeyKind = "header"
	KeyCookie KeyKind = "cookie"
	KeyQuery  KeyKind = "query"
	KeyHost   KeyKind = "host"
	KeyPath   KeyKind = "path"
	KeyMethod KeyKind = "method"
	KeyConst  KeyKind = "const"
)

// Override is another limit for some values of a zone's key.
type Override struct {
	Value Value
	Quota Quota  // zero for Concurrent
	Slots uint64 // for Concurrent
}

// Value matches values of a zone's key: one element for each part.
type Value []ValuePart

// ValuePart matches a part of a key. For an ip it is a prefix, else a text.
type ValuePart struct {
	Prefix netip.Prefix // valid for an ip only
	Text   string
}

// Rule says which limits apply to which requests.
type Rule struct {
	Name     string // optional; by default its number in the file, from 1, as "rule 3"
	Match    Match
	Limits   []Use
	Status   int // of a rejection: 400 to 599
	DryRun   bool
	Continue bool // the rules behind it are looked at too
	// OnStoreFailure is for the limits of StoreRedis, FailLocal by default.
	OnStoreFailure OnStoreFailure
	FailStatus     int // of a rejection by FailClosed, as Status; 0 for Status
	Line           int
}

// Match is what a rule applies to: all that is set must match. The zero value
// matches every request.
type Match struct {
	Host   Pattern
	Path   Pattern
	Method []string // any of them; upper case
}

// Pattern matches a text. Only one of its fields is set; none matches all.
type Pattern struct {
	Exact  string
	Prefix string         // "/api/*": what begins with /api/; "*" is all
	Suffix string         // "*.example.com", for hosts: what ends with .example.com
	Regexp *regexp.Regexp // "~ ..."
	// Text is how it was written.
	Text string
}

// Use is a zone as a rule uses it.
type Use struct {
	Zone int // index in HTTP.Zones
	// Burst is how many requests more than one pass at one instant, as in nginx.
	// Only for leaky, nginx and sketch.
	Burst uint64
	// Delay is how many of the burst pass at once; those beyond wait for their
	// turn. As in nginx it is 0 by default, and Burst with nodelay.
	Delay uint64
	// Cost is how many units a request takes; 1 by default.
	Cost uint64
	Line int
}
