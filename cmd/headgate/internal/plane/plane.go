// Package plane is the kernel's limiter as the agent sees it: agent.Kernel, by loader and maps.
//
// # Who has the last word
//
// The agent is one of several who change the limiter; people do so by commands while it runs. What they do live
// holds until the configuration file is applied again, and some of it longer:
//
//   - The settings and the policies of the file are as in the file after each Apply. A default limit that was set by hand
//     stays until the file has another one than before, or the agent is restarted; meanwhile it is what Scale scales.
//     A policy that somebody else has made stays, unless the file has one of its name: then it is the file's from there on, and goes
//     with it. What a command changes of a policy of the file holds until the next Apply.
//   - A prefix has room for one rule of an action. There what a command says goes before the file, both before what a person
//     says for the fleet, and that before what was handed down, here before elsewhere; of two that block, or allow, the one
//     that lasts longer stays (see rulemap.Rule.GivesWay). A rule of the file that was left out, or whose place a command's
//     limit took for a while, is there again after the next Apply; one of the fleet after the next SetFleet.
//   - An interface that Apply attached to is detached from when the file does not name it any more, also by an agent
//     that was started since. What a command has attached stays attached, named in the file or not.
//   - What a command has detached stays so until the next Apply, and so does an instance that was removed: who does
//     that by hand means it. The agent says so, and attaches again only where an interface was deleted and made anew.
package plane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/config"
)

// Options say what a Plane works on.
type Options struct {
	// Loader names the instance, and how long to wait for a command that changes it. Its sizes are not used: those of
	// the configuration are.
	Loader loader.Options
	// Guard refuses what would cut off who administers the machine.
	Guard lockout.Guard
	Log   *slog.Logger
	// Now returns the time of day; time.Now where it is nil.
	Now func() time.Time
}

// Plane implements agent.Kernel. All methods may be called at the same time; those that change something do so one
// after the other. Those that ask for interfaces ask in the network namespace of the calling thread.
type Plane struct {
	options Options
	log     *slog.Logger
	links   func(context.Context) (<-chan string, error) // linkChanges

	// changing is held while this process changes the instance, which is locked against other processes then. It is
	// taken before mu.
	changing sync.Mutex
	// mu is held to read while instance is used, and to write while it is replaced.
	mu       sync.RWMutex
	instance *loader.Instance // unlocked; nil where none is open

	applied applied
	rules   aged[ruleIndex]
	sources aged[int]
	peers   aged[[]lockout.Peer]
	fleet   fleetRules // used while changing is held
}

// applied is what the last Apply did, and what has become of it.
type applied struct {
	mu    sync.Mutex
	times int // how often there was an Apply
	file  *config.Kernel
	links map[string]watched // by the interface's name
	// def is the default limit.
	def standing
}

// New returns a Plane. It opens nothing yet: that needs no privilege, and the instance may be made later.
func New(o Options) (*Plane, error) {
	o.Loader.Agent = true
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	notice := o.Loader.Notice
	o.Loader.Notice = func(s string) {
		if notice != nil {
			notice(s)
		}
		o.Log.Info(s)
	}
	return &Plane{options: o, log: o.Log, links: linkChanges, applied: applied{def: standing{factor: 1}}}, nil
}

// Close closes what is open. The limiter stays in force, and a Plane that is used again opens it again.
func (p *Plane) Close() error {
	p.changing.Lock()
	defer p.changing.Unlock()
	return p.adopt(nil)
}

// adopt makes i the instance that is open.
func (p *Plane) adopt(i *loader.Instance) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.instance
	p.instance = i
	if before == nil || before == i {
		return nil
	}
	return before.Close()
}

// reading calls do with the instance that is there now.
func (p *Plane) reading(do func(*loader.Instance) error) error {
	for {
		p.mu.RLock()
		if p.instance != nil && !p.instance.Replaced() {
			defer p.mu.RUnlock()
			return do(p.instance)
		}
		p.mu.RUnlock()
		if err := p.open(); err != nil {
			return err
		}
	}
}

// open opens the instance, where that was not done or it was replaced since.
func (p *Plane) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.instance != nil {
		if !p.instance.Replaced() {
			return nil
		}
		if err := p.instance.Close(); err != nil {
			p.log.Warn("close the instance that was removed", "error", err)
		}
		p.instance = nil
	}
	i, err := loader.OpenToRead(p.options.Loader)
	if err != nil {
		return err
	}
	p.instance = i
	return nil
}

// changed calls do with the instance, locked against this and all other processes.
func (p *Plane) changed(do func(*loader.Instance) error) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	return p.reading(func(i *loader.Instance) error {
		if err := i.Lock(p.options.Loader.LockWait); err != nil {
			return err
		}
		err := p.settle(i)
		if err == nil {
			err = do(i)
		}
		return errors.Join(err, i.Unlock())
	})
}

func bootTime() uint64 { return wire.BootTime() }
