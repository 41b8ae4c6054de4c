package plane

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

// follower runs Follow, and collects what it tells.
type follower struct {
	*lab
	mu     sync.Mutex
	events []event.Event
}

// follow runs Follow in the host's namespace until the test ends or stop is called.
func (l *lab) follow() (f *follower, stop func()) {
	l.Helper()
	f = &follower{lab: l}
	ctx, cancel := context.WithCancel(l.Context())
	done := make(chan error, 1)
	go func() {
		done <- l.host.Do(func() error {
			return l.plane.Follow(ctx, func(e event.Event) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.events = append(f.events, e)
			})
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			l.Errorf("Follow: %v", err)
		}
	})
	l.Cleanup(stop)
	return f, stop
}

// told returns the events of a kind in words.
func (f *follower) told(kind event.Kind) (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.Kind == kind {
			all = append(all, strings.TrimSpace(e.Name+" "+e.Reason))
		}
	}
	return all
}

func (f *follower) awaitTold(kind event.Kind, want ...string) {
	f.Helper()
	f.await(fmt.Sprintf("%s of %q", kind, want), func() bool { return strings.Join(f.told(kind), "\n") == strings.Join(want, "\n") })
}

func (l *lab) delete() {
	l.Helper()
	l.must(l.host.Do(func() error {
		iface, err := netlink.LinkByName("eth7")
		if err != nil {
			return err
		}
		return netlink.LinkDel(iface)
	}))
}

// An interface that is deleted and made again is limited again, and one that comes later for the first time.
func TestCase28InterfaceDeletedAndMadeAgain(t *testing.T) {
	l := newLab(t)
	l.apply(interfacesNamed(l.pair.Far.Name, "eth7"), defaultLimit(10))
	if !strings.Contains(l.log.String(), "does not exist; it is attached to when it comes") {
		t.Error("nothing is said about eth7")
	}
	f, _ := l.follow()

	pair := l.second("eth7")
	f.awaitTold(event.Attached, "eth7 the interface has come")
	first := l.programOn("eth7")
	if first == 0 || first != l.programOn(l.pair.Far.Name) {
		t.Errorf("program %d on eth7 and %d on %s", first, l.programOn(l.pair.Far.Name), l.pair.Far.Name)
	}

	l.delete()
	f.awaitTold(event.Detached, "eth7 the interface was deleted")
	again := l.second("eth7")
	f.awaitTold(event.Attached, "eth7 the interface has come", "eth7 the interface has come")
	if again.Far.Index == pair.Far.Index || l.programOn("eth7") != first {
		t.Errorf("index %d as before, or program %d where it was %d", again.Far.Index, l.programOn("eth7"), first)
	}
}

// Also one that was deleted and made again before anybody looked.
func TestInterfaceReplaced(t *testing.T) {
	l := newLab(t)
	l.second("eth7")
	l.apply(interfacesNamed("eth7"))
	l.delete()
	l.second("eth7")
	var told []event.Event
	w := &watch{Plane: l.plane, tell: func(e event.Event) { told = append(told, e) }}
	l.must(l.host.Do(func() error {
		w.look()
		w.look()
		return nil
	}))
	if l.programOn("eth7") == 0 || len(told) != 1 || told[0].Kind != event.Attached {
		t.Errorf("program %d is on eth7, told %v", l.programOn("eth7"), told)
	}
}

// There need be none of the file's interfaces yet, or any more.
func TestAllInterfacesAreMissing(t *testing.T) {
	l := newLab(t)
	l.must(l.check(interfacesNamed("eth7")))
	l.apply(interfacesNamed("eth7"), defaultLimit(10))
	const none = "none of the interfaces exists"
	if got := strings.Count(l.log.String(), none); got != 1 {
		t.Errorf("said %d times", got)
	}
	l.wantInterfaces("eth7  missing")
	f, _ := l.follow()
	l.second("eth7")
	f.awaitTold(event.Attached, "eth7 the interface has come")
	l.delete()
	f.awaitTold(event.Detached, "eth7 the interface was deleted")
	l.apply(interfacesNamed("eth7"), defaultLimit(5))
	l.wantDefault(wireTo(5))
	l.second("eth7")
	f.awaitTold(event.Attached, "eth7 the interface has come", "eth7 the interface has come")
	if l.programOn("eth7") == 0 {
		t.Error("nothing is attached to eth7")
	}
}

// watch returns what looks at the interfaces, each time so much later that none waits to be tried again.
func (l *lab) watch() (look func()) {
	w := &watch{Plane: l.plane, tell: func(event.Event) {}}
	var later time.Duration
	l.plane.options.Now = func() time.Time { return time.Now().Add(later) }
	return func() {
		later += mostRetry
		l.must(l.host.Do(func() error { w.look(); return nil }))
	}
}

// What a start would refuse is refused to an interface that comes later too, until it is mended. What was forced where
// the limiter is attached already does not matter.
func TestLateInterfaceIsGuarded(t *testing.T) {
	l := newLab(t)
	l.apply(interfacesNamed(l.pair.Far.Name, "eth7"), rules(block("192.0.2.0/24")))
	look := l.watch()
	eth7 := l.second("eth7").Far.Index
	l.wantInterfaces("far0 native attached", "eth7  missing") // it is looked at within a second
	l.peers = []lockout.Peer{
		{Addr: netip.MustParseAddr("192.0.2.254"), What: "a default gateway", Interfaces: []int{eth7}},
		{Addr: netip.MustParseAddr("192.0.2.253"), What: "a default gateway", Interfaces: []int{l.pair.Far.Index}},
	}
	look()
	look()
	const says = "blocking 192.0.2.0/24 would cut off 192.0.2.254, a default gateway"
	if got := strings.Count(l.log.String(), says); got != 1 || l.programOn("eth7") != 0 {
		t.Errorf("said %d times, and program %d is on eth7", got, l.programOn("eth7"))
	}
	l.wantInterfaces("far0 native attached", "eth7  failed: "+says+"; nothing was changed; an allow rule for the address, or a higher limit, mends it") // nobody has detached it by hand
	l.cli(func(i *loader.Instance) error {
		return i.Rules().Set(rulemap.Rule{Prefix: netip.MustParsePrefix("192.0.2.254/32"), Action: rulemap.Allow, Until: rulemap.Forever})
	})
	look()
	if l.programOn("eth7") == 0 {
		t.Error("not attached when nothing stands against it any more")
	}
}

// An interface that cannot be attached to is tried again, and told of once.
func TestInterfaceIsTaken(t *testing.T) {
	l := newLab(t)
	l.apply(interfacesNamed(l.pair.Far.Name, "eth7"))
	look := l.watch()
	l.second("eth7")
	release := l.take("eth7")
	look()
	look()
	if got := strings.Count(l.log.String(), "cannot attach to an interface that has come"); got != 1 {
		t.Errorf("said %d times", got)
	}
	release()
	look()
	if got, want := l.programOn("eth7"), l.programOn(l.pair.Far.Name); got != want {
		t.Errorf("program %d, want %d", got, want)
	}
}

// take puts another program on an interface of the host, until release.
func (l *lab) take(name string) (release func()) {
	l.Helper()
	const pass = 2
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "someones", Type: ebpf.XDP, License: "MIT",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, pass), asm.Return()},
	})
	l.must(err)
	var taken link.Link
	l.must(l.host.Do(func() error {
		iface, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		taken, err = link.AttachXDP(link.XDPOptions{Program: program, Interface: iface.Attrs().Index, Flags: link.XDPDriverMode})
		return err
	}))
	return func() {
		l.must(taken.Close())
		l.must(program.Close())
		l.await("the interface is free", func() bool { return l.programOn(name) == 0 })
	}
}

// An interface may be named by an alternative name.
func TestAlternativeName(t *testing.T) {
	l := newLab(t)
	l.must(l.host.Do(func() error {
		iface, err := netlink.LinkByName(l.pair.Far.Name)
		return firstOf(err, func() error { return netlink.LinkAddAltName(iface, "uplink") })
	}))
	l.apply(interfacesNamed("uplink"), defaultLimit(10))
	l.apply(interfacesNamed("uplink"), defaultLimit(3))
	w := &watch{Plane: l.plane, tell: func(e event.Event) { t.Errorf("told %+v", e) }}
	l.must(l.host.Do(func() error { w.look(); return nil }))
	l.wantPassed(flooder, 80, 9, 3)
	if got := fmt.Sprint(l.snapshot().Interfaces); got != "[{far0 native true false }]" {
		t.Errorf("interfaces %s", got)
	}
}

// wantInterfaces compares what the plane says of the interfaces, in their order.
func (l *lab) wantInterfaces(want ...string) {
	l.Helper()
	var got []string
	l.must(l.host.Do(func() error {
		all, err := l.plane.Interfaces()
		for _, i := range all {
			state := map[[2]bool]string{{true, false}: "attached", {false, true}: "missing", {}: "detached"}[[2]bool{i.Attached, i.Missing}]
			if i.Problem != "" {
				state = "failed: " + i.Problem
			}
			got = append(got, i.Name+" "+i.Mode+" "+state)
		}
		return err
	}))
	if diff := cmp.Diff(want, got); diff != "" {
		l.Errorf("interfaces (-want +got):\n%s", diff)
	}
}

// What was detached by hand stays so until the next Apply.
func TestDetachedByHand(t *testing.T) {
	l := newLab(t)
	l.second("eth7")
	both := interfacesNamed(l.pair.Far.Name, "eth7")
	l.apply(both)
	f, _ := l.follow()
	l.cli(func(i *loader.Instance) error {
		found, err := i.Find([]string{"eth7"})
		return firstOf(err, func() error { return i.Detach(found[0]) })
	})
	f.awaitTold(event.Detached, "eth7 detached by somebody else; it stays so until the configuration is reloaded")
	if id := l.programOn("eth7"); id != 0 {
		t.Errorf("program %d is on eth7", id)
	}
	l.wantInterfaces("far0 native attached", "eth7  detached")
	l.apply(both)
	if l.programOn("eth7") == 0 {
		t.Error("not attached by Apply")
	}

	l.wantInterfaces("far0 native attached", "eth7 native attached")

	l.cli(func(i *loader.Instance) error { return i.RemoveAll() })
	l.wantInterfaces("far0  failed: "+removed, "eth7  failed: "+removed) // a reload would not help
	l.await("removal told", func() bool { all := f.told(event.Detached); return all[len(all)-1] == removed })
	if _, err := l.plane.Rules(); !errors.Is(err, loader.ErrNotLoaded) {
		t.Errorf("Rules: %v", err)
	}
	if err := l.plane.Enforce(nil); err == nil || !strings.Contains(err.Error(), "no headgate instance") {
		t.Errorf("Enforce: %v", err)
	}
	l.apply(both, defaultLimit(5))
	const made = "as somebody else has made it"
	w := &watch{Plane: l.plane, tell: func(event.Event) {}, problem: "removed"}
	l.must(l.host.Do(func() error { w.look(); return nil }))
	if strings.Contains(l.log.String(), made) {
		t.Errorf("what Apply made is said to be somebody else's")
	}
	w.problem, w.since = "removed", w.times
	l.must(l.host.Do(func() error { w.look(); return nil }))
	if got := strings.Count(l.log.String(), made); got != 1 {
		t.Errorf("that somebody else made the instance is said %d times", got)
	}
	l.wantPassed(flooder, 80, 10, 5)
	if got := l.passed(modest, 80, 10); got != 5 {
		t.Errorf("%d passed", got)
	}
	l.await("drops told again", func() bool {
		l.passed(flooder, 80, 1)
		return len(f.told(event.Dropped)) > 0
	})
}

// An interface that was attached to by a former file is detached from, one that a command attached to is not.
func TestDetachFromWhatTheFileHadOnly(t *testing.T) {
	l := newLab(t)
	l.second("eth7")
	l.second("eth8")
	l.apply(interfacesNamed(l.pair.Far.Name, "eth7"))
	l.cli(func(i *loader.Instance) error {
		_, _, err := i.Attach("eth8", loader.Auto)
		return err
	})
	l.apply(interfacesNamed(l.pair.Far.Name, "eth7", "eth8"))
	l.restart()
	l.apply()
	for name, want := range map[string]bool{l.pair.Far.Name: true, "eth7": false, "eth8": true} {
		if got := l.programOn(name) != 0; got != want {
			t.Errorf("attached to %s: %t, want %t", name, got, want)
		}
	}
	snapshot := l.snapshot()
	if got := fmt.Sprint(snapshot.Interfaces); got != "[{far0 native true false } {eth8 native true false }]" {
		t.Errorf("interfaces %s", got)
	}
}

// Dropped packets are told of, with those that were dropped in silence, but not what was dropped before.
func TestDropsAreTold(t *testing.T) {
	l := newLab(t)
	l.apply(policy("dns", 53, 1), rules(block("198.51.100.0/24")), func(k *config.Kernel) { k.IPv4Prefix = 24 })
	l.passed("198.51.100.99", 80, 3)
	f, stop := l.follow()
	dropsOf := func(source string) (found []event.Event) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, e := range f.events {
			if e.Kind == event.Dropped && e.Packet.Source == netip.MustParseAddr(source) {
				found = append(found, e)
			}
		}
		return found
	}
	for _, tt := range []struct {
		source, cut, rule, zone, reason string
		port                            uint16
	}{
		{modest, "198.51.100.0/24", "block", "", "blocked", 80},
		{flooder, "203.0.113.0/24", "", "dns", "over_packet_limit", 53},
	} {
		l.await("drop of "+tt.source, func() bool {
			l.passed(tt.source, tt.port, 2)
			return len(dropsOf(tt.source)) > 0
		})
		e := dropsOf(tt.source)[0]
		if e.Source.String() != tt.cut || e.Rule != tt.rule || e.Zone != tt.zone || e.Reason != tt.reason || e.Count == 0 || e.Origin != "kernel" {
			t.Errorf("event %+v", e)
		}
		if p := e.Packet; p.DestPort != tt.port || p.Protocol != "udp" || p.Verdict != "drop" || p.Policy != tt.zone || p.Length != 46 {
			t.Errorf("packet %+v", p)
		}
	}
	if got := dropsOf("198.51.100.99"); len(got) > 0 {
		t.Errorf("old drops are told: %v", got)
	}
	l.apply(policy("dns", 53, 1), rules(block("198.51.100.0/24")))
	l.await("drop of a source as it is now", func() bool {
		l.passed(modest, 80, 2)
		all := dropsOf(modest)
		return all[len(all)-1].Source == netip.MustParsePrefix(modest+"/32")
	})
	stop()

	// While another process reads events, that is said once.
	l.cli(func(i *loader.Instance) error {
		reader, err := i.Events()
		if err != nil {
			return err
		}
		defer reader.Close()
		_, stop := l.follow()
		defer stop()
		l.await("a word", func() bool {
			return strings.Contains(l.log.String(), "drops in the kernel are counted but not told of")
		})
		return nil
	})
}

// An interface that comes while another file is applied is not attached to by the one before.
func TestInterfaceComesBesideApply(t *testing.T) {
	l := newLab(t)
	l.apply(interfacesNamed(l.pair.Far.Name, "eth7"))
	old := l.kernel(interfacesNamed(l.pair.Far.Name, "eth7"))
	w := &watch{Plane: l.plane, tell: func(e event.Event) { t.Errorf("told %+v", e) }}
	look := func(do func()) { l.must(l.host.Do(func() error { do(); return nil })) }
	look(w.look)
	l.second("eth7")
	l.apply()
	look(func() { w.attach("eth7", watched{}, numberOf("eth7"), old) })
	if id := l.programOn("eth7"); id != 0 {
		t.Errorf("program %d is on eth7, which the file does not name any more", id)
	}
}

// Where the kernel does not tell of interfaces they are looked at.
func TestFollowWithoutTheKernelsWord(t *testing.T) {
	l := newLab(t)
	l.apply(interfacesNamed(l.pair.Far.Name, "eth7"))
	l.plane.links = func(context.Context) (<-chan string, error) { return nil, errors.New("no buffer space available") }
	f, _ := l.follow()
	l.second("eth7")
	f.awaitTold(event.Attached, "eth7 the interface has come")
	l.delete()
	f.awaitTold(event.Detached, "eth7 the interface was deleted")
	if got := strings.Count(l.log.String(), "looked at once a second only"); got != 1 {
		t.Errorf("said %d times", got)
	}
}

// A device that is nobody's concern is left alone.
func TestOtherInterfaces(t *testing.T) {
	l := newLab(t)
	l.apply()
	_, stop := l.follow()
	pair, err := netlab.NewPair(l.pair.Near.Namespace, l.host, netlab.PairOptions{NearName: "x0", FarName: "x1"})
	l.must(err)
	stop()
	if id := l.programOn("x1"); id != 0 {
		t.Errorf("program %d is on x1", id)
	}
	l.must(pair.Close())
}
