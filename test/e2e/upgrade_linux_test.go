package e2e_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/test/netlab"
)

// outdate makes the instance one that another build of headgate made.
func (l *lab) outdate() {
	l.tb.Helper()
	m, err := ebpf.LoadPinnedMap(filepath.Join(l.pin, "v1", bpf.MapGlobals), nil)
	if err != nil {
		l.tb.Fatal(err)
	}
	defer m.Close()
	var g bpf.Global
	if err := m.Lookup(uint32(0), &g); err != nil {
		l.tb.Fatal(err)
	}
	g.Build[0] ^= 0xff
	if err := m.Put(uint32(0), &g); err != nil {
		l.tb.Fatal(err)
	}
}

// linkID returns the number of the link to the lab's interface.
func (l *lab) linkID() link.ID {
	l.tb.Helper()
	files, err := filepath.Glob(filepath.Join(l.pin, "v1", "links", "*"))
	if err != nil || len(files) != 1 {
		l.tb.Fatalf("links %v, %v; want one", files, err)
	}
	k, err := link.LoadPinnedLink(files[0], nil)
	if err != nil {
		l.tb.Fatal(err)
	}
	defer k.Close()
	info, err := k.Info()
	if err != nil {
		l.tb.Fatal(err)
	}
	return info.ID
}

// watchProgram asks the kernel all the time for the program on the interface, until stop is called,
// which returns how often it asked, and how often there was none.
func (l *lab) watchProgram() (stop func() (asked, none int)) {
	end := make(chan struct{})
	var watching sync.WaitGroup
	var asked, none int
	watching.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				asked++
				if l.programID() == 0 {
					none++
				}
			}
		}
	})
	once := sync.OnceFunc(func() { close(end); watching.Wait() })
	l.tb.Cleanup(once)
	return func() (int, int) { once(); return asked, none }
}

// TestUpgrade replaces the program of another build during a flood. There is no moment without a
// program, and all that was known is still known.
func TestUpgrade(t *testing.T) {
	for _, mtu := range []int{1500, 9000} {
		l := newLabWith(t, netlab.PairOptions{MTU: mtu})
		l.attach("--rate", never, "--burst", "10")
		l.must("block", modest)
		l.must("policy", "set", "dns", "--port", "53", "--rate", never, "--burst", "50")
		l.wantPassed(udp(flooder), 30, 10)
		before, id, old := l.stats(), l.linkID(), l.programID()
		l.outdate()
		if r := l.must("status", "-o", "json"); !outdated(l) {
			t.Errorf("status does not say that the program is outdated: %s", r.stdout)
		}

		f := l.startFlood(udp(flooder), udp(modest))
		f.mark()
		stop := l.watchProgram()
		l.attach().wantNote(t, "upgraded")
		asked, none := stop()
		if asked == 0 || none > 0 {
			t.Errorf("no program on the interface in %d of %d looks", none, asked)
		}
		if _, arrived := f.mark(); len(arrived) > 0 {
			t.Errorf("%v passed during the upgrade", arrived)
		}
		f.end()

		if l.programID() == old || outdated(l) {
			t.Errorf("program %d is still there", old)
		}
		if got := l.linkID(); got != id {
			t.Errorf("link %d, it was %d", got, id)
		}
		if after := l.stats(); after.Pass.Packets < before.Pass.Packets || after.Drop.Packets < before.Drop.Packets {
			t.Errorf("counters %+v, they were %+v", after, before)
		}
		if rules, policies := l.rules(), l.policies(); len(rules) != 1 || len(policies) != 2 {
			t.Errorf("rules %v and policies %v, want 1 and 2", rules, policies)
		}
		l.wantPassed(udp(third), 20, 10)
	}
}

func outdated(l *lab) bool {
	l.tb.Helper()
	return query[struct{ Outdated bool }](l, "status").Outdated
}

// TestInterfaceMadeAgain deletes the interface and makes another one of its name.
func TestInterfaceMadeAgain(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", never, "--burst", "10")
	l.wantPassed(udp(flooder), 6, 6)
	if err := l.pair.Near.Namespace.Do(func() error { return deleteLink(l.pair.Near.Name) }); err != nil {
		t.Fatal(err)
	}
	if got := l.status().Interfaces; len(got) != 1 || !got[0].Gone {
		t.Errorf("interfaces %+v, want one that is gone", got)
	}
	pair, err := netlab.NewPair(l.pair.Near.Namespace, l.pair.Far.Namespace, netlab.PairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again := labOn(t, pair, l.pin)
	again.wantPassed(udp(flooder), 6, 6) // nothing limits here
	again.attach()
	again.wantPassed(udp(flooder), 6, 4) // what is left of the bucket
	live := 0
	for _, i := range again.status().Interfaces {
		if i.Name == again.dev() && i.ProgramID == again.programID() && !i.Gone {
			live++
		}
	}
	if live != 1 {
		t.Errorf("interfaces %+v, want the new one", again.status().Interfaces)
	}
	again.must("detach", again.dev())
	again.wantNoInstance()
}
