package replay

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// Requests that never end do not fill the memory: those that would end first end early.
func TestUnderWayIsBounded(t *testing.T) {
	set, err := ruleset.New(config.HTTP{
		Zones: []config.Zone{{
			Name: "slots", Key: []config.KeyPart{{Kind: config.KeyConst, Name: "all"}}, Algorithm: config.Concurrent, Slots: 2 * mostUnderWay,
		}},
		Rules: []config.Rule{{Limits: []config.Use{{}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &player{set: set, tally: newTally(config.HTTP{}, 9)}
	r := Request{Took: time.Hour}
	for range mostUnderWay + 3 {
		if err := p.play(&r); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.underWay.ends) != mostUnderWay || p.underWay.early != 3 {
		t.Errorf("%d are under way and %d ended early", len(p.underWay.ends), p.underWay.early)
	}
	if d := set.Explain(&r.Request, 0); d.Limits[0].Result.Remaining != mostUnderWay-1 {
		t.Errorf("%d places remain after one more, want %d", d.Limits[0].Result.Remaining, mostUnderWay-1)
	}
}

// Clients are told apart up to a number, and from there on it is said that there are more.
func TestDistinctIsBounded(t *testing.T) {
	e := newEffect(config.ClientIP{IPv4Prefix: 32, IPv6Prefix: 64}, 1)
	client := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}) }
	v := Verdict{Refused: true, By: &ruleset.Applied{}}
	for n := range mostDistinct {
		e.add(client(n), v)
		e.add(client(0), v)
	}
	if got := e.effect().Clients; got.Distinct != mostDistinct || got.More || got.Top[0].Client != "10.0.0.0" {
		t.Errorf("%+v", got)
	}
	e.add(client(mostDistinct), v)
	if got := e.effect().Clients; got.Distinct != mostDistinct || !got.More {
		t.Errorf("%+v", got)
	}
}

// A zone that two limits of a request share is counted once, and over if one of them was.
func TestZoneOfTwoLimitsIsCountedOnce(t *testing.T) {
	set, err := ruleset.New(config.HTTP{
		Zones: []config.Zone{{
			Name: "all", Key: []config.KeyPart{{Kind: config.KeyConst, Name: "all"}}, Quota: config.Quota{Count: 1, Per: time.Second},
		}},
		Rules: []config.Rule{{Limits: []config.Use{{Burst: 3, Delay: 3}}, Continue: true}, {Limits: []config.Use{{}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &player{set: set, tally: newTally(config.HTTP{}, 9)}
	r := Request{Took: Unknown}
	for range 2 {
		if err := p.play(&r); err != nil {
			t.Fatal(err)
		}
	}
	want := Key{Zone: "all", Key: "all", Counted: Counted{Requests: 2}, Over: 1}
	if got := p.tally.summary().Keys; len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What a request with very many fields needed is not kept for the ones after it.
func TestMemoryOfFieldsIsBounded(t *testing.T) {
	var r Request
	r.reset()
	for i := range 10 * mostFields {
		r.add(fmt.Sprint("X", i), "")
	}
	large := r.Header
	r.reset()
	r.add("X", "")
	if len(large) != 10*mostFields || len(r.Header) != 1 || cap(r.values) > mostFields {
		t.Errorf("the map of %d fields has %d now, and there is room for %d values", 10*mostFields, len(large), cap(r.values))
	}
}

// A batch keeps nothing of the chunk before, which may have had more requests.
func TestBatchKeepsNoOldTexts(t *testing.T) {
	b := new(batch)
	p := newParser(Trace, "")
	const line = `{"t_ms":0,"ip":"::1","path":"/p","headers":{"a":"b"}}` + "\n"
	for _, text := range []string{strings.Repeat(line, 9), line, line + `{"t_ms":0,"ip":"::1","path":"/q","headers":7}` + "\n"} {
		b.chunk = chunk{text: text}
		p.parse(b)
	}
	for i := range b.requests[:cap(b.requests)] {
		r := &b.requests[:cap(b.requests)][i]
		if has := r.Path != "" || len(r.Header) > 0; has != (i == 0) || len(r.values) > 0 != has {
			t.Errorf("request %d of %d: %+v", i, len(b.requests), r)
		}
	}
}

// Names of header fields are remembered, but not all that a recording may have.
func TestNamesAreBounded(t *testing.T) {
	n := names{}
	for i := range 2 * mostNames {
		name := fmt.Sprintf("x-name-%d", i)
		if got := n.canonical(name); got != http.CanonicalHeaderKey(name) || got != n.canonical(name) {
			t.Fatalf("%s: %s", name, got)
		}
	}
	if len(n) != mostNames {
		t.Errorf("%d names are remembered", len(n))
	}
}
