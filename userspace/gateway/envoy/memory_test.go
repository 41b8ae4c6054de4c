package envoy

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/wrapperspb"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/ruleset"
)

// What is kept of a question is not in gRPC's buffer, which is the next question's.
func TestNothingIsLeftInTheBuffer(t *testing.T) {
	wire := encode(t, checkOf("192.0.2.7", "GET", "example.com", "/items?page=2", curl()...))
	var c check
	if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(wire)}, &c); err != nil {
		t.Fatal(err)
	}
	clear(wire)
	equal(t, "request", line(c.request()), [4]string{"GET", "example.com", "/items", "page=2"})
	for name := range c.asked.Header {
		if name == "" || name[0] == 0 {
			t.Errorf("name %q", name)
		}
	}
}

// A question whose memory is used again is charged to nobody but who it names: nothing is left of the one before.
func TestNothingIsLeftOfAQuestion(t *testing.T) {
	t.Run("check", func(t *testing.T) {
		var c check
		if err := reading(t, checkOf("192.0.2.7", "PUT", "example.com", "/items?page=2", curl()...))(&c); err != nil {
			t.Fatal(err)
		}
		c.request()
		equal(t, "memory is kept", c.reset(), true)
		if c.request() != nil {
			t.Error("a request is described that nobody asked about")
		}
		if err := reading(t, &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
			Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{}},
		}})(&c); err != nil {
			t.Fatal(err)
		}
		got := c.request()
		equal(t, "peer", got.Peer.IsValid(), false)
		equal(t, "request", line(got), [4]string{})
		equal(t, "fields", len(got.Header), 0)
	})
	t.Run("rate limit", func(t *testing.T) {
		var l limits
		in := limitRequest(hits(3, "remote_address", "192.0.2.7", "user", "ann"), descriptor("user", "bob"), descriptor("user", "cid"))
		in.HitsAddend = 7
		if err := reading(t, in)(&l); err != nil {
			t.Fatal(err)
		}
		l.ask()
		equal(t, "memory is kept", l.reset(), true)
		next := limitRequest(descriptor("user", "dan"), descriptor("user", "eve"), descriptor("user", "dan"))
		next.Domain = ""
		if err := reading(t, next)(&l); err != nil {
			t.Fatal(err)
		}
		l.ask()
		equal(t, "domain", l.domain, "")
		var got []asked
		for i := range l.questions {
			q := &l.questions[i]
			got = append(got, asked{*q.request(netip.Addr{}, q.hits), q.of})
		}
		want := []asked{
			{ruleset.Request{Hearsay: true, Units: 1, Header: http.Header{"User": {"dan"}}}, []int{0, 2}},
			{ruleset.Request{Hearsay: true, Units: 1, Header: http.Header{"User": {"eve"}}}, []int{1}},
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// The memory of a question that is unusually large is not kept.
func TestLargeMemoryIsNotKept(t *testing.T) {
	fieldsOf := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("k", i), "v")
		}
		return list
	}
	for n, want := range map[int]bool{keptFields - 3: true, keptFields + 1: false} { // checkOf adds three
		var c check
		if err := reading(t, checkOf("192.0.2.7", "GET", "example.com", "/", fieldsOf(n)...))(&c); err != nil {
			t.Fatal(err)
		}
		c.request()
		equal(t, fmt.Sprint(n, " fields"), c.reset(), want)
	}
	many := make([]*commonv3.RateLimitDescriptor, keptFields+1)
	for i := range many {
		many[i] = &commonv3.RateLimitDescriptor{HitsAddend: wrapperspb.UInt64(1)}
	}
	for name, in := range map[string][]*commonv3.RateLimitDescriptor{
		"descriptors": many, "entries": {descriptor(fieldsOf(keptFields + 1)...)},
	} {
		var l limits
		if err := reading(t, limitRequest(in...))(&l); err != nil {
			t.Fatal(err)
		}
		equal(t, name, l.reset(), false)
	}
}
