package plane

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/eventmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/ipproto"
)

const (
	// readAgain is how long after reading events failed it is tried again.
	readAgain = 5 * time.Second
	// openAgain is how soon an instance that was removed is looked for again, and how soon that is seen.
	openAgain = time.Second
)

// followDrops tells of dropped packets until ctx ends. A ring has one reader: where that is another process the agent
// says so once, and reads when that has ended.
func (p *Plane) followDrops(ctx context.Context, tell func(event.Event)) {
	told := ""
	for ctx.Err() == nil {
		err := p.readDrops(ctx, func(e event.Event) {
			told = ""
			tell(e)
		})
		wait := openAgain
		if err != nil && !errors.Is(err, loader.ErrNotLoaded) {
			if told != err.Error() {
				p.log.Warn("drops in the kernel are counted but not told of; trying again", "error", err)
			}
			told, wait = err.Error(), readAgain
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// readDrops tells of drops until ctx ends or the instance is removed. What the kernel has kept from before is left out.
func (p *Plane) readDrops(ctx context.Context, tell func(event.Event)) error {
	start := bootTime()
	i, err := loader.OpenToRead(p.options.Loader) // of its own: closing it ends reading
	if err != nil {
		return err
	}
	defer i.Close()
	reader, err := i.Events()
	if err != nil {
		return err
	}
	defer reader.Close()
	defer context.AfterFunc(ctx, func() { _ = reader.Reader.Close() })()

	names := &policyNames{instance: i}
	interfaces := make(eventmap.InterfaceNames)
	for {
		reader.SetDeadline(time.Now().Add(openAgain))
		e, err := reader.Next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if i.Replaced() {
				return nil
			}
		case errors.Is(err, eventmap.ErrClosed) && ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case e.Time >= start:
			told := p.dropped(e, names.config(e.PolicyID))
			told.Name = interfaces.Name(e.Ifindex)
			tell(told)
		}
	}
}

// policyNames knows the configuration that events are about.
type policyNames struct {
	instance *loader.Instance
	known    policymap.Config
	read     time.Time
}

// config returns one that is at most so old as leastAge, or that has just been read because it had no policy of that id.
func (n *policyNames) config(id uint16) *policymap.Config {
	if time.Since(n.read) >= leastAge || id != 0 && n.known.PolicyName(id) == "" {
		n.read = time.Now()
		if config, err := n.instance.Policies().InForce(bootTime()); err == nil {
			n.known = config
		}
	}
	return &n.known
}

// dropped is the event of a packet that was dropped, and of those that its CPU has dropped in silence since the last one.
func (p *Plane) dropped(e eventmap.Event, config *policymap.Config) event.Event {
	policy := config.PolicyLabel(e.PolicyID)
	told := event.Event{
		Time:   p.options.Now().Add(time.Duration(int64(e.Time - bootTime()))),
		Kind:   event.Dropped,
		Origin: "kernel",
		Reason: statmap.ReasonName(e.Reason),
		Zone:   policy,
		Count:  e.Suppressed + 1,
		Packet: &event.Packet{
			Source:     e.Source,
			SourcePort: e.SourcePort,
			DestPort:   e.DestPort,
			Length:     e.Length,
			Verdict:    statmap.VerdictName(e.Verdict),
			Policy:     policy,
		},
	}
	if e.Reason == bpf.ReasonBlocked {
		told.Rule = rulemap.Block.String()
	}
	if e.Source.IsValid() { // of a malformed packet nothing is known
		told.Source = netip.PrefixFrom(e.Source, config.SourceBits(e.Source)).Masked()
		told.Packet.Protocol = ipproto.Name(e.Proto)
	}
	return told
}
