package fleet

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// BenchmarkApply is one change of 100,000 rules, without what the kernel does.
func BenchmarkApply(b *testing.B) {
	o := usual("a")
	o.Kernel = &fakeKernel{}
	f := New(o)
	a := &f.follower
	a.known = true
	add := func(i, at int) {
		p := netip.MustParsePrefix(fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&255, i&255))
		a.view.merge(&record{slot: slot{prefix: p}, at: int64(at), end: time.Now().Add(time.Hour), rule: Rule{Prefix: p, Action: "block"}})
		a.dirty = true
	}
	for i := range 100_000 {
		add(i, 1)
	}
	for i := 0; b.Loop(); i++ {
		add(i%100_000, i+2)
		if err := a.apply(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
