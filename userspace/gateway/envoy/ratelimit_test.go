package envoy

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/headgate/headgate/userspace/config"
)

const (
	ok   = ratelimitv3.RateLimitResponse_OK
	over = ratelimitv3.RateLimitResponse_OVER_LIMIT
)

func shouldRateLimit(t *testing.T, c client, in *ratelimitv3.RateLimitRequest) *ratelimitv3.RateLimitResponse {
	t.Helper()
	out, err := c.ShouldRateLimit(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "statuses", len(out.GetStatuses()), len(in.GetDescriptors()))
	return out
}

func plainField(name, value string) *corev3.HeaderValue {
	return &corev3.HeaderValue{Key: name, Value: value}
}

func hits(n uint64, entries ...string) *commonv3.RateLimitDescriptor {
	d := descriptor(entries...)
	d.HitsAddend = wrapperspb.UInt64(n)
	return d
}

// An answer has the proxy's fields, the body included, and says which limit it was.
func TestRateLimit(t *testing.T) {
	c := serve(t, NewServer(rulesOf(t, oneAMinute), quietly()))
	shown := func(code ratelimitv3.RateLimitResponse_Code) []*ratelimitv3.RateLimitResponse_DescriptorStatus {
		return []*ratelimitv3.RateLimitResponse_DescriptorStatus{{
			Code: code, DurationUntilReset: durationpb.New(time.Minute),
			CurrentLimit: &ratelimitv3.RateLimitResponse_RateLimit{
				Name: "perip", RequestsPerUnit: 1, Unit: ratelimitv3.RateLimitResponse_RateLimit_MINUTE,
			},
		}}
	}
	for i, want := range []*ratelimitv3.RateLimitResponse{{
		OverallCode: ok, Statuses: shown(ok),
		ResponseHeadersToAdd: []*corev3.HeaderValue{
			plainField("Ratelimit", `"perip";r=0;t=60`), plainField("Ratelimit-Policy", `"perip";q=1;w=60`),
		},
	}, {
		OverallCode: over, Statuses: shown(over),
		ResponseHeadersToAdd: []*corev3.HeaderValue{
			plainField("Cache-Control", "no-store"), plainField("Retry-After", "60"),
			plainField("Ratelimit", `"perip";r=0;t=60`), plainField("Ratelimit-Policy", `"perip";q=1;w=60`),
			plainField("Content-Type", "text/plain; charset=utf-8"), plainField("X-Content-Type-Options", "nosniff"),
		},
		RawBody: []byte("429 Too Many Requests\n\nLimit \"perip\" is used up. Try again in 60 seconds.\n"),
	}} {
		got := shouldRateLimit(t, c, limitRequest(descriptor("remote_address", "192.0.2.7", "accept", "text/plain")))
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("answer %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestCase20NothingIsChargedIfOneDescriptorRefuses: whether the descriptors are of one request or contradict each other.
func TestCase20NothingIsChargedIfOneDescriptorRefuses(t *testing.T) {
	const section = `
zones:
  wide:   {key: ip, rate: 100r/h, algorithm: window}
  narrow: {key: "header:user", rate: 1r/h, algorithm: window}
rules:
  - {match: {path: /wide}, limits: [{zone: wide}]}
  - {match: {path: /narrow}, limits: [{zone: narrow}]}
  - limits: [{zone: wide}, {zone: narrow}]
`
	for name, descriptors := range map[string][]*commonv3.RateLimitDescriptor{
		"one request":  {descriptor("remote_address", "192.0.2.7"), descriptor("user", "ann")},
		"two requests": {descriptor("remote_address", "192.0.2.7", "path", "/wide"), descriptor("user", "ann", "path", "/narrow")},
		"in one":       {descriptor("user", "ann", "remote_address", "192.0.2.7")},
	} {
		t.Run(name, func(t *testing.T) {
			rules := rulesOf(t, section)
			c := serve(t, NewServer(rules, quietly()))
			equal(t, "first", shouldRateLimit(t, c, limitRequest(descriptors...)).GetOverallCode(), ok)
			for range 5 {
				equal(t, "then", shouldRateLimit(t, c, limitRequest(descriptors...)).GetOverallCode(), over)
			}
			left := shouldRateLimit(t, c, limitRequest(hits(99, "remote_address", "192.0.2.7", "path", "/wide")))
			equal(t, "all that is left of wide", left.GetOverallCode(), ok)
			equal(t, "left then", left.GetStatuses()[0].GetLimitRemaining(), 0)
			equal(t, "refused", rules.Counters().Zones[1].Refused, 5)
		})
	}
}

// Of requests that are asked about apart, each has the status of its own.
func TestStatusesOfSeveralRequests(t *testing.T) {
	c := serve(t, NewServer(rulesOf(t, "zones: {user: {key: \"header:user\", rate: 2r/h, algorithm: window}}\nrules: [{limits: [{zone: user}]}]"),
		quietly(func(o *Options) { o.HTTP.Headers = config.HeadersPolli })))
	shouldRateLimit(t, c, limitRequest(descriptor("user", "ann")))
	out := shouldRateLimit(t, c, limitRequest(descriptor("user", "ann"), descriptor("user", "bob"), descriptor("other", "x")))
	equal(t, "overall", out.GetOverallCode(), ok)
	for i, want := range []uint32{0, 1, 0} {
		equal(t, "remaining", out.GetStatuses()[i].GetLimitRemaining(), want)
	}
	equal(t, "remaining in the fields", value(out.GetResponseHeadersToAdd(), "Ratelimit-Remaining"), "0")
	out = shouldRateLimit(t, c, limitRequest(descriptor("user", "bob"), descriptor("user", "ann")))
	equal(t, "overall", out.GetOverallCode(), over)
	equal(t, "bob", out.GetStatuses()[0].GetCode(), ok)
	equal(t, "ann", out.GetStatuses()[1].GetCode(), over)
	out = shouldRateLimit(t, c, limitRequest(descriptor("user", "bob")))
	equal(t, "bob was not charged", out.GetOverallCode(), ok)
}

// Of several requests that pass, the lists of draft10 tell of all.
func TestListsOfSeveralRequests(t *testing.T) {
	c := serve(t, NewServer(rulesOf(t, "zones: {user: {key: \"header:user\", rate: 2r/h, algorithm: window}}\nrules: [{limits: [{zone: user}]}]"), quietly()))
	shouldRateLimit(t, c, limitRequest(descriptor("user", "bob")))
	out := shouldRateLimit(t, c, limitRequest(descriptor("user", "ann"), descriptor("user", "bob")))
	equal(t, "overall", out.GetOverallCode(), ok)
	equal(t, "states", value(out.GetResponseHeadersToAdd(), "Ratelimit"), `"user";r=1;t=3600|"user";r=0;t=3600`)
	equal(t, "policies", value(out.GetResponseHeadersToAdd(), "Ratelimit-Policy"), `"user";q=2;w=3600|"user";q=2;w=3600`)
}

// A request that is refused only when it is charged, since the one before took what it needs, is answered by its own
// fields; the one before it has the status that it got.
func TestRefusedWhenCharged(t *testing.T) {
	const section = `
zones:
  team: {key: "header:team", rate: 5r/h, algorithm: window}
  user: {key: "header:user", rate: 3r/h, algorithm: window}
rules: [{limits: [{zone: team}, {zone: user}]}]
`
	c := serve(t, NewServer(rulesOf(t, section), quietly()))
	out := shouldRateLimit(t, c, limitRequest(hits(3, "team", "t", "user", "ann"), hits(3, "team", "t", "user", "bob")))
	equal(t, "overall", out.GetOverallCode(), over)
	for i, want := range []struct {
		code ratelimitv3.RateLimitResponse_Code
		zone string
		left uint32
	}{{ok, "user", 0}, {over, "team", 2}} {
		s := out.GetStatuses()[i]
		equal(t, "code", s.GetCode(), want.code)
		equal(t, "limit", s.GetCurrentLimit().GetName(), want.zone)
		equal(t, "remaining", s.GetLimitRemaining(), want.left)
	}
	equal(t, "policies", value(out.GetResponseHeadersToAdd(), "Ratelimit-Policy"), `"team";q=5;w=3600, "user";q=3;w=3600`)
}

func value(fields []*corev3.HeaderValue, name string) string {
	var all []string
	for _, f := range fields {
		if f.GetKey() == name {
			all = append(all, f.GetValue())
		}
	}
	return strings.Join(all, "|")
}

// Hits multiply what a request costs; those of a descriptor go before those of the call.
func TestHits(t *testing.T) {
	ip := []string{"remote_address", "192.0.2.7"}
	negative := hits(50, ip...)
	negative.IsNegativeHits = true
	for _, c := range []struct {
		name   string
		addend uint32
		of     *commonv3.RateLimitDescriptor
		code   ratelimitv3.RateLimitResponse_Code
		left   uint32 // after one more
	}{
		{"none", 0, descriptor(ip...), ok, 98},
		{"of the call", 7, descriptor(ip...), ok, 92},
		{"of the descriptor", 7, hits(3, ip...), ok, 96},
		{"all but one", 99, descriptor(ip...), ok, 0},
		{"more than all", 101, descriptor(ip...), over, 99},
		{"most", math.MaxUint32, hits(math.MaxUint64, ip...), over, 99},
		{"a look", 7, hits(0, ip...), ok, 99},
		{"negative", 7, negative, ok, 99},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewServer(rulesOf(t, "zones: {perip: {key: ip, rate: 100r/h, algorithm: window}}\nrules: [{limits: [{zone: perip}]}]"), quietly())
			asking := serve(t, s)
			in := limitRequest(c.of)
			in.HitsAddend = c.addend
			equal(t, "code", shouldRateLimit(t, asking, in).GetOverallCode(), c.code)
			left := shouldRateLimit(t, asking, limitRequest(hits(0, ip...)))
			equal(t, "left", left.GetStatuses()[0].GetLimitRemaining(), c.left)
			equal(t, "negative", s.Counters().NegativeHits, map[string]uint64{"negative": 1}[c.name])
		})
	}
}

// A limit that the protocol has no words for is not shown.
func TestCurrentLimit(t *testing.T) {
	const section = `
zones:
  slots:  {key: path, concurrent: 3}
  second: {key: path, rate: 5r/s}
  hour:   {key: path, rate: 7r/h}
  huge:   {key: path, rate: 5000000000r/h}
rules:
  - {match: {path: /slots}, limits: [{zone: slots}]}
  - {match: {path: /second}, limits: [{zone: second}]}
  - {match: {path: /hour}, limits: [{zone: hour}]}
  - {match: {path: /huge}, limits: [{zone: huge}]}
`
	c := serve(t, NewServer(rulesOf(t, section), quietly()))
	limit := func(name string, n uint32, unit ratelimitv3.RateLimitResponse_RateLimit_Unit) *ratelimitv3.RateLimitResponse_RateLimit {
		return &ratelimitv3.RateLimitResponse_RateLimit{Name: name, RequestsPerUnit: n, Unit: unit}
	}
	for path, want := range map[string]*ratelimitv3.RateLimitResponse_RateLimit{
		"/slots":  nil,
		"/huge":   nil,
		"/second": limit("second", 5, ratelimitv3.RateLimitResponse_RateLimit_SECOND),
		"/hour":   limit("hour", 7, ratelimitv3.RateLimitResponse_RateLimit_HOUR),
		"/none":   nil,
	} {
		got := shouldRateLimit(t, c, limitRequest(descriptor("path", path))).GetStatuses()[0].GetCurrentLimit()
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// Other domains than the one that is limited pass, are counted, and are said in the log.
func TestDomain(t *testing.T) {
	var log bytes.Buffer
	s := NewServer(rulesOf(t, oneAMinute), quietly(func(o *Options) {
		o.Domain, o.Log = "edge", slog.New(slog.NewTextHandler(&log, nil))
	}))
	c := serve(t, s)
	in := limitRequest(descriptor("remote_address", "192.0.2.7"))
	equal(t, "of the domain", shouldRateLimit(t, c, in).GetOverallCode(), ok)
	equal(t, "of the domain", shouldRateLimit(t, c, in).GetOverallCode(), over)
	in.Domain = "egde"
	for range 3 {
		equal(t, "of another", shouldRateLimit(t, c, in).GetOverallCode(), ok)
	}
	equal(t, "counters", s.Counters(), Counters{RateLimits: 5, OtherDomains: 3})
	equal(t, "lines", strings.Count(log.String(), "domain=egde"), 1)
	s.Replace(quietly())
	equal(t, "of another, when all are limited", shouldRateLimit(t, c, in).GetOverallCode(), over)
}

// A call that describes nothing, or too much, is an error and not a yes.
func TestNumberOfDescriptors(t *testing.T) {
	s := NewServer(rulesOf(t, oneAMinute), quietly())
	c := serve(t, s)
	for n, want := range map[int]codes.Code{
		0: codes.InvalidArgument, 1: codes.OK, mostDescriptors: codes.OK, mostDescriptors + 1: codes.InvalidArgument,
	} {
		_, err := c.ShouldRateLimit(t.Context(), limitRequest(slices.Repeat([]*commonv3.RateLimitDescriptor{descriptor("user", "ann")}, n)...))
		equal(t, fmt.Sprint(n), status.Code(err), want)
	}
	equal(t, "counters", s.Counters(), Counters{Malformed: 2, RateLimits: 2})
}

// What Envoy lets clients send is answered, and much more is not read.
func TestLargeQuestions(t *testing.T) {
	c := serve(t, NewServer(rulesOf(t, oneAMinute), quietly()))
	for size, want := range map[int]codes.Code{mostMessage - 1000: codes.OK, mostMessage: codes.ResourceExhausted} {
		_, err := c.ShouldRateLimit(t.Context(), limitRequest(descriptor("user", strings.Repeat("a", size))))
		equal(t, fmt.Sprint(size), status.Code(err), want)
	}
}

// The status of a rule is Envoy's affair, and so are bodies consistent with it.
func TestStatusIsEnvoys(t *testing.T) {
	c := serve(t, NewServer(rulesOf(t, oneAMinute), quietly()))
	in := limitRequest(descriptor("remote_address", "192.0.2.7"))
	shouldRateLimit(t, c, in)
	body := string(shouldRateLimit(t, c, in).GetRawBody())
	if !strings.Contains(body, `"status":429`) || !strings.Contains(body, "quota-exceeded") {
		t.Errorf("body %s", body)
	}
}
