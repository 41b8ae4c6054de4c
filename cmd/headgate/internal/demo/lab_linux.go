package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/netlab"
)

// Sizes that are ample for the cast, so that the demo needs little memory.
const (
	maxSources = 1 << 14
	maxRules   = 1 << 10
)

// lab is two namespaces with a wire between them, and the instance of headgate at its far end. It
// lives on one thread, which nothing else may run on any more: see ownMounts.
type lab struct {
	undo     []func() error // from the first thing made to the last
	dir      string
	pair     *netlab.Pair
	sender   *netlab.Sender
	counter  *netlab.Counter[int]
	instance *loader.Instance // nil until attach
}

// newLab makes a lab without a limiter. What an error leaves is closed.
func newLab(classify func([]byte) (int, bool)) (*lab, error) {
	l := &lab{}
	err := l.make(classify)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: the demo makes namespaces of its own: %w; run it as root, for example with sudo",
			loader.ErrPrivilege, err)
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lab) make(classify func([]byte) (int, bool)) (err error) {
	if err := ownMounts(); err != nil {
		return err
	}
	pins, err := netlab.MountBPFFS(os.TempDir())
	if err != nil {
		return err
	}
	l.later(pins.Close)
	l.dir = filepath.Join(pins.Dir(), "headgate")

	if l.pair, err = l.newPair(); err != nil {
		return err
	}
	if l.sender, err = netlab.NewSender(l.pair.Near); err != nil {
		return err
	}
	l.later(l.sender.Close)
	if l.counter, err = netlab.NewCounter(l.pair.Far, classify); err != nil {
		return err
	}
	l.later(l.counter.Close)
	return nil
}

// ownMounts gives the calling thread a mount namespace of its own. So nobody else sees the bpf file
// system of the demo, whichever directory it is over, and it goes with the thread.
func ownMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts of the new namespace private: %w", err)
	}
	return nil
}

func (l *lab) newPair() (*netlab.Pair, error) {
	var ends [2]*netlab.Namespace
	for n := range ends {
		ns, err := netlab.New()
		if err != nil {
			return nil, err
		}
		l.later(ns.Close)
		ends[n] = ns
	}
	pair, err := netlab.NewPair(ends[0], ends[1], netlab.PairOptions{NearName: "demo0", FarName: Interface})
	if err == nil {
		l.later(pair.Close)
	}
	return pair, err
}

func (l *lab) later(undo func() error) { l.undo = append(l.undo, undo) }

// close removes all that there is, the last thing made first.
func (l *lab) close() error {
	var errs []error
	for len(l.undo) > 0 {
		last := len(l.undo) - 1
		undo := l.undo[last]
		l.undo = l.undo[:last]
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

// attach makes the instance, with a limit for every source, and attaches it in native mode.
func (l *lab) attach(limit wire.Limit) (loader.Mode, error) {
	i, _, err := loader.Create(loader.Options{Dir: l.dir, MaxSources: maxSources, MaxRules: maxRules})
	if err != nil {
		return 0, err
	}
	l.instance = i
	l.later(i.Close)
	l.later(i.RemoveAll)
	if err := l.setDefault(limit); err != nil {
		return 0, err
	}
	var attached loader.Attachment
	err = l.pair.Far.Namespace.Do(func() (err error) {
		attached, _, err = i.Attach(Interface, loader.Native)
		return err
	})
	if err != nil {
		return 0, err
	}
	return attached.Mode, l.pair.Far.SetGRO(false)
}

func (l *lab) setDefault(limit wire.Limit) error {
	config, err := l.instance.Policies().Load()
	if err != nil {
		return err
	}
	stats, err := l.instance.Stats()
	if err != nil {
		return err
	}
	if err := config.Set(policymap.Policy{Name: policymap.Default, Limit: limit}, stats.Slots()); err != nil {
		return err
	}
	return l.instance.Policies().Store(config)
}

// limit gives the sources of a prefix a limit of their own.
func (l *lab) limit(p netip.Prefix, limit wire.Limit) error {
	config, err := l.instance.Policies().Load()
	if err != nil {
		return err
	}
	policy, _ := config.Policy(policymap.Default)
	return l.instance.Rules().Set(rulemap.Rule{
		Prefix: p, Action: rulemap.Limit, Until: rulemap.Forever, Limit: limit, PolicyID: policy.ID(),
	})
}

func (l *lab) unset(p netip.Prefix) error {
	_, err := l.instance.Rules().Unset([]netip.Prefix{p})
	return err
}

// block keeps a prefix out until a time of the boot clock.
func (l *lab) block(p netip.Prefix, until int64) error {
	return l.instance.Rules().Set(rulemap.Rule{Prefix: p, Action: rulemap.Block, Until: uint64(until)})
}

// reading is what headgate has counted since it was attached.
type reading struct {
	sources map[netip.Addr]Counted
	blocked uint64
	all     Counted // of IP packets; the marks are none
}

func (l *lab) read() (reading, error) {
	r := reading{sources: map[netip.Addr]Counted{}}
	if l.instance == nil {
		return r, nil
	}
	sources, err := l.instance.Buckets().List()
	if err != nil {
		return r, err
	}
	for _, s := range sources {
		r.sources[s.Addr] = Counted{Pass: s.Pass.Packets, Drop: s.Drop.Packets}
	}
	stats, err := l.instance.Stats()
	if err != nil {
		return r, err
	}
	r.blocked = stats.Reason(bpf.ReasonBlocked).Packets
	r.all = Counted{
		Pass: stats.Pass().Packets - stats.Reason(bpf.ReasonNotIP).Packets,
		Drop: stats.Drop().Packets,
	}
	return r, nil
}

// of returns what was counted of a source since before. What a rule blocks has no bucket; the script
// blocks only the flooder.
func (r reading) of(member int, s source, before reading) *Counted {
	c := r.sources[s.prefix.Addr()].since(before.sources[s.prefix.Addr()])
	if member == flooder {
		c.Drop += r.blocked - before.blocked
	}
	return &c
}
