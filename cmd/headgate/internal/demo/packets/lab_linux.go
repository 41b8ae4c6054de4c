package packets

import (
	"net/netip"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
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

// lab is two namespaces with a wire between them, and the instance of headgate at its far end.
type lab struct {
	stage    *stage.Stage
	pair     *netlab.Pair
	sender   *netlab.Sender
	counter  *netlab.Counter[int]
	instance *loader.Instance // nil until attach
}

// newLab makes a lab without a limiter, which ends with the stage.
func newLab(s *stage.Stage, classify func([]byte) (int, bool)) (l *lab, err error) {
	l = &lab{stage: s}
	if l.pair, err = s.Pair(netlab.PairOptions{NearName: "demo0", FarName: Interface}); err != nil {
		return nil, err
	}
	if l.sender, err = netlab.NewSender(l.pair.Near); err != nil {
		return nil, err
	}
	s.Later(l.sender.Close)
	if l.counter, err = netlab.NewCounter(l.pair.Far, classify); err != nil {
		return nil, err
	}
	s.Later(l.counter.Close)
	return l, nil
}

// attach makes the instance, with a limit for every source, and attaches it in native mode.
func (l *lab) attach(limit wire.Limit) (loader.Mode, error) {
	i, _, err := loader.Create(loader.Options{Dir: l.stage.Pins("packets"), MaxSources: maxSources, MaxRules: maxRules})
	if err != nil {
		return 0, err
	}
	l.instance = i
	l.stage.Later(i.Close)
	l.stage.Later(i.RemoveAll)
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
