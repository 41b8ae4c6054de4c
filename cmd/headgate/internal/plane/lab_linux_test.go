package plane

import (
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/leak"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/transcript"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
)

const (
	flooder, modest = "203.0.113.7", "198.51.100.20"
	target          = "192.0.2.1"

	// patience is for what happens in another process or in the kernel.
	patience = 20 * time.Second
	poll     = 5 * time.Millisecond
)

// lab is a host with a Plane in a namespace of its own, and another one that sends to it.
type lab struct {
	*testing.T
	plane   *Plane
	pair    *netlab.Pair
	host    *netlab.Namespace
	sender  *netlab.Sender
	counter *netlab.Counter[netip.Addr]
	dir     string
	log     *transcript.Buffer
	peers   []lockout.Peer
}

func newLab(t *testing.T) *lab {
	t.Helper()
	pair := netlabtest.Pair(t, netlab.PairOptions{})
	l := &lab{
		T: t, pair: pair, host: pair.Far.Namespace, log: &transcript.Buffer{},
		sender: netlabtest.Sender(t, pair.Near), counter: netlabtest.Counter(t, pair.Far, packet.Source),
		dir: filepath.Join(netlabtest.BPFFS(t), "hg"),
	}
	leak.Check(t)
	l.restart()
	t.Cleanup(func() {
		l.must(l.plane.Close())
		if t.Failed() {
			t.Logf("log:\n%s", l.log)
		}
	})
	return l
}

// restart is another agent in the place of the one before.
func (l *lab) restart() {
	l.Helper()
	if l.plane != nil {
		l.must(l.plane.Close())
	}
	var err error
	l.plane, err = New(Options{
		Loader: loader.Options{Dir: l.dir, LockWait: patience},
		Guard:  lockout.Guard{Peers: func() []lockout.Peer { return l.peers }},
		Log:    slog.New(slog.NewTextHandler(l.log, nil)),
	})
	l.must(err)
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// kernel is a kernel section for the lab's interface, with changes.
func (l *lab) kernel(changes ...func(*config.Kernel)) config.Kernel {
	k := config.Kernel{
		Interfaces: []string{l.pair.Far.Name}, Mode: config.ModeAuto, IPv4Prefix: 32, IPv6Prefix: 64, Overflow: config.OverflowEstimate,
		MaxSources: 4096, MaxRules: 10000,
	}
	for _, change := range changes {
		change(&k)
	}
	return k
}

// apply applies in the host's namespace.
func (l *lab) apply(changes ...func(*config.Kernel)) {
	l.Helper()
	l.must(l.tryApply(l.kernel(changes...)))
}

func (l *lab) tryApply(k config.Kernel) error {
	return l.host.Do(func() error { return l.plane.Apply(k) })
}

func (l *lab) check(changes ...func(*config.Kernel)) error {
	return l.host.Do(func() error { return l.plane.Check(l.kernel(changes...)) })
}

// cli changes the instance as a command does.
func (l *lab) cli(do func(*loader.Instance) error) {
	l.Helper()
	l.must(l.host.Do(func() error {
		i, err := loader.Open(loader.Options{Dir: l.dir, LockWait: patience})
		if err != nil {
			return err
		}
		defer i.Close()
		return do(i)
	}))
}

// state is what the instance is, for a comparison.
type state struct {
	Config      policymap.Config
	Rules       []rulemap.Rule
	Attachments []loader.Attachment
}

func (l *lab) state() state {
	l.Helper()
	var s state
	l.must(l.host.Do(func() error {
		i, err := loader.OpenToRead(loader.Options{Dir: l.dir})
		if err != nil {
			return err
		}
		defer i.Close()
		if s.Config, err = i.Policies().Load(); err != nil {
			return err
		}
		if s.Rules, err = i.Rules().List(); err != nil {
			return err
		}
		s.Attachments, err = i.Attachments()
		return err
	}))
	return s
}

func (l *lab) wantState(want state) {
	l.Helper()
	// But for the ids that were given away: none comes again.
	options := cmp.Options{
		cmpopts.IgnoreUnexported(policymap.Config{}), cmp.AllowUnexported(policymap.Policy{}),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
	if diff := cmp.Diff(want, l.state(), options); diff != "" {
		l.Errorf("the instance (-want +got):\n%s", diff)
	}
}

// passed sends n packets of a source to a port, and returns how many arrived.
func (l *lab) passed(source string, port uint16, n int) int {
	l.Helper()
	netlabtest.Exchange(l, l.sender, l.counter) // forget what was sent before
	l.must(l.sender.SendN(packet.UDPFrame(source, target, port, 18), n))
	return int(netlabtest.Exchange(l, l.sender, l.counter)[netip.MustParseAddr(source)].Packets)
}

func (l *lab) wantPassed(source string, port uint16, n, want int) {
	l.Helper()
	if got := l.passed(source, port, n); got != want {
		l.Errorf("%d of %d packets of %s to port %d passed, want %d", got, n, source, port, want)
	}
}

// await polls until done.
func (l *lab) await(what string, done func() bool) {
	l.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(poll) {
		if time.Now().After(deadline) {
			l.Fatalf("%s: not within %s; log:\n%s", what, patience, l.log)
		}
	}
}

// programOn asks the kernel for the program on an interface of the host; 0 for none, or if there is no such interface.
func (l *lab) programOn(name string) (id uint32) {
	l.Helper()
	l.must(l.host.Do(func() error {
		iface, err := netlink.LinkByName(name)
		if err == nil && iface.Attrs().Xdp != nil {
			id = iface.Attrs().Xdp.ProgId
		}
		return nil
	}))
	return id
}

// second makes another interface in the host's namespace.
func (l *lab) second(name string) *netlab.Pair {
	l.Helper()
	pair, err := netlab.NewPair(netlabtest.Namespace(l), l.host, netlab.PairOptions{NearName: "n" + name, FarName: name})
	l.must(err)
	l.Cleanup(func() { _ = pair.Close() }) // a test may have deleted it
	return pair
}

// wantRules compares rules in the form "block 10.0.0.0/8 config".
func (l *lab) wantRules(want ...string) {
	l.Helper()
	all, err := l.plane.Rules()
	l.must(err)
	var got []string
	for _, r := range all {
		got = append(got, ruleText(r))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.Errorf("rules (-want +got):\n%s", diff)
	}
}

func ruleText(r admin.KernelRule) string { return r.Action + " " + r.Prefix.String() + " " + r.Origin }
