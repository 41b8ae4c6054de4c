//go:build linux

package progtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/verifiedmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/limit/heat"
)

const defaultSources = 4096

// Start is what the clock of a new Lab shows, in ns: some 18 minutes after the boot.
const Start uint64 = 1 << 40

// TB is the part of testing.TB that a Lab needs; *rapid.T has it too.
type TB interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Cleanup(func())
}

// Options make a Lab other than the usual one.
type Options struct {
	Sources    int  // how many buckets there can be; 0 means 4096
	Fixed      bool // a full bucket map refuses a new source, where the real one evicts an old one
	Rules      int  // how many prefixes of each family there can be; 0 means 4096
	EventBytes int  // size of the event ring, a power of two of whole pages; 0 means 64 KiB
	Frags      bool // run the program for frames of several buffers
	Heat       Heat
	LongKeys   bool // keep whole IPv6 addresses apart, and not only their first 64 bits
}

// Heat makes the heat tier other than one in which every source gets an exact bucket at once.
type Heat struct {
	Lines   uint64 // 0 means 4096
	Credits *[bpf.CreditLen]heatmap.Credit
	Collide bool // all sources have the same tag and share the cells of one line
}

func (o Options) heat() heatmap.Settings {
	return heatmap.Settings{Memory: cmp.Or(o.Heat.Lines, 4096) * 64, Tick: Tick}
}

func (o Options) credits() [bpf.CreditLen]heatmap.Credit {
	if o.Heat.Credits != nil {
		return *o.Heat.Credits
	}
	return heatmap.Unlimited()
}

// tiers returns the same for the model.
func (o Options) tiers() heat.Options {
	credits := o.credits()
	tiers := heat.Options{
		Lines: o.heat().Memory / 64,
		Tick:  Tick,
		Cold:  heat.Credit(credits[bpf.CreditCold]),
		Hot:   heat.Credit(credits[bpf.CreditHot]),
	}
	if o.Fixed {
		tiers.Buckets = cmp.Or(o.Sources, defaultSources)
	}
	return tiers
}

// Tick is the kernel's tick of a Lab.
const Tick = 4 * time.Millisecond

// Lab is the loaded program with maps of its own. Parallel is how to run frames at the same time,
// and meanwhile another goroutine may move the clock or change the configuration. Otherwise a Lab
// is not safe for concurrent use.
type Lab struct {
	Policies *policymap.Map
	Rules    *rulemap.Map
	Buckets  *bucketmap.Map
	Verified *verifiedmap.Map

	tb     TB
	coll   *ebpf.Collection
	prog   *ebpf.Program
	clock  *ebpf.Variable
	events *events
}

// New loads the program, which first has no policies, so that everything passes. What cannot be
// loaded ends the test with the verifier's whole log. The maps go with the test.
func New(tb TB, o Options) *Lab {
	tb.Helper()
	spec := o.spec(tb)
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		tb.Fatalf("load the program: %s", explain(err))
	}
	tb.Cleanup(coll.Close)
	verified := verifiedmap.New(coll.Maps[bpf.MapVerified], coll.Maps[bpf.MapGlobals])
	tb.Cleanup(func() { _ = verified.Close() })

	l := &Lab{
		Policies: policymap.New(coll.Maps[bpf.MapConfigs], spec.Maps[bpf.MapConfigs].InnerMap, ""),
		Buckets: bucketmap.New(coll.Maps[bpf.MapBuckets], coll.Maps[bpf.MapSharedBuckets],
			coll.Maps[bpf.MapLosses]),
		Verified: verified,
		tb:       tb,
		coll:     coll,
		prog:     coll.Programs[o.program()],
		clock:    coll.Variables[bpf.VarClockNow],
	}
	l.Rules = rulemap.New(coll.Maps, l.Clock)
	l.SetClock(Start)
	l.check(coll.Maps[bpf.MapGlobals].Put(uint32(0), &bpf.Global{Salt: o.salt()}))
	l.check(l.Policies.Store(policymap.NewConfig()))
	l.events = newEvents(tb, coll.Maps[bpf.MapEvents])
	return l
}

// explain returns all of an error's text where it holds the verifier's log.
func explain(err error) string {
	if verifier, ok := errors.AsType[*ebpf.VerifierError](err); ok {
		return fmt.Sprintf("%+v", verifier)
	}
	return err.Error()
}

func (o Options) program() string {
	if o.Frags {
		return bpf.ProgramFrags
	}
	return bpf.Program
}

// spec returns the object with its clock frozen and its maps small and unpinned.
func (o Options) spec(tb TB) *ebpf.CollectionSpec {
	tb.Helper()
	spec, err := bpf.Load()
	if err != nil {
		tb.Fatal(err)
	}
	if err := spec.Variables[bpf.VarClockFrozen].Set(true); err != nil {
		tb.Fatal(err)
	}
	if err := spec.Variables[bpf.VarHashSalt].Set(o.salt()); err != nil {
		tb.Fatal(err)
	}
	// One of the two programs is half the work for the verifier.
	maps.DeleteFunc(spec.Programs, func(name string, _ *ebpf.ProgramSpec) bool {
		return name != o.program()
	})
	for _, m := range spec.Maps {
		m.Pinning = ebpf.PinNone
	}
	size := func(name string, n, usual int) {
		if n == 0 {
			n = usual
		}
		spec.Maps[name].MaxEntries = uint32(n)
	}
	if !o.LongKeys {
		bucketmap.SetKeys(spec.Maps[bpf.MapBuckets], 64)
	}
	size(bpf.MapBuckets, o.Sources, defaultSources)
	rulemap.SetSizes(spec.Maps, uint32(cmp.Or(o.Rules, 4096)))
	size(bpf.MapEvents, o.EventBytes, 1<<16)
	if err := heatmap.Configure(spec, o.heat(), o.credits()); err != nil {
		tb.Fatal(err)
	}
	if o.Fixed {
		spec.Maps[bpf.MapBuckets].Type = ebpf.Hash
	}
	return spec
}

// salt returns what hashes are seeded with, the same each time, so that a failure comes again.
func (o Options) salt() (words wire.Salt) {
	if o.Heat.Collide {
		return words
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range words {
		words[i] = random.Uint64()
	}
	return words
}

// For returns the lab with its failures going to another test: a subtest, or one run of a fuzz
// or property test. Both share the program and its maps.
func (l *Lab) For(tb TB) *Lab {
	other := *l
	other.tb = tb
	return &other
}

// Map returns one of the maps, by its name in the object, for a test that looks beneath the views.
func (l *Lab) Map(name string) *ebpf.Map { return l.coll.Maps[name] }

// Clock returns what the program's clock shows, in ns.
func (l *Lab) Clock() uint64 {
	var now uint64
	l.check(l.clock.Get(&now))
	return now
}

// SetClock makes the program's clock show now, in ns. It may go backwards.
func (l *Lab) SetClock(now uint64) { l.check(l.clock.Set(now)) }

// Advance moves the program's clock; a negative d moves it back.
func (l *Lab) Advance(d time.Duration) { l.SetClock(l.Clock() + uint64(d)) }

func (l *Lab) check(err error) {
	if err != nil {
		l.tb.Helper()
		l.tb.Fatal(err)
	}
}
