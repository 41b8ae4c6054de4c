package plane

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

// lookInterval is how often the interfaces are looked at, beside when the kernel tells of a change.
const lookInterval = time.Second

// removed is what is said where somebody has removed the instance: the agent has given up the right to make it anew.
const removed = "the kernel's limiter was removed; restart the agent to have it again"

// watched is what is known of an interface that the file names.
type watched struct {
	index    int    // 0 where there is none
	attached bool   // as far as the agent has to do with it
	problem  string // why it could not be attached to

	wait  time.Duration // after a problem, until it is tried again
	retry time.Time     // when that is
}

// The time between two attempts to attach doubles while they fail. Each of them reads all routes.
const (
	leastRetry = time.Second
	mostRetry  = 30 * time.Second
)

// failed returns what is known of an interface after an attempt to attach to it.
func (was watched) failed(index int, problem string, now time.Time) watched {
	wait := leastRetry
	if was.problem != "" && was.index == index {
		wait = min(2*was.wait, mostRetry)
	}
	return watched{index: index, problem: problem, wait: wait, retry: now.Add(wait)}
}

// Follow attaches again to interfaces of the last Apply that were deleted and made again, and to those that come later,
// as soon as the kernel tells of them, or within a second. It tells of that, of what others detach, and of packets that were dropped, from
// several goroutines, until ctx ends; then it returns nil.
func (p *Plane) Follow(ctx context.Context, tell func(event.Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() { p.followDrops(ctx, tell) })

	w := &watch{Plane: p, tell: tell}
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	changes := w.listen(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case name, open := <-changes:
			if !open {
				changes = nil // it could not keep up; what was lost is seen at the next look
			} else if w.names(name) {
				w.look()
			}
		case <-tick.C:
			if changes == nil {
				changes = w.listen(ctx)
			}
			w.look()
		}
	}
}

// watch looks after what the last Apply attached to.
type watch struct {
	*Plane
	tell    func(event.Event)
	times   int    // how often there was an Apply when it was looked last
	problem string // why the instance cannot be looked at
	since   int    // times when that began
	deaf    bool   // the kernel does not tell of changes
}

// listen returns where the kernel tells of changes; nil where it does not, which is said once.
func (w *watch) listen(ctx context.Context) <-chan string {
	changes, err := w.links(ctx)
	if err != nil && !w.deaf {
		w.log.Warn("the interfaces are looked at once a second only", "error", err)
	}
	w.deaf = err != nil
	return changes
}

// names says whether the file of the last Apply names an interface.
func (w *watch) names(name string) bool {
	w.applied.mu.Lock()
	defer w.applied.mu.Unlock()
	return w.applied.file != nil && slices.Contains(w.applied.file.Interfaces, name)
}

// look compares what there is with what there was, and attaches to what is new.
func (w *watch) look() {
	w.applied.mu.Lock()
	w.times = w.applied.times
	file, links := w.applied.file, maps.Clone(w.applied.links)
	w.applied.mu.Unlock()
	if file == nil {
		return
	}
	var attachments []loader.Attachment
	err := w.reading(func(i *loader.Instance) (err error) {
		attachments, err = i.Attachments()
		return err
	})
	if !w.usable(err) {
		return
	}
	for name, was := range links {
		links[name] = w.lookAt(name, was, attachments, *file)
	}
	w.applied.mu.Lock()
	defer w.applied.mu.Unlock()
	if w.applied.times == w.times { // otherwise Apply knows better
		w.applied.links = links
	}
}

// usable says whether the instance could be read, and tells once where it could not.
func (w *watch) usable(err error) bool {
	if err == nil {
		if w.problem != "" && w.since == w.times {
			w.log.Warn("the kernel's limiter is there again, as somebody else has made it; reload to apply the configuration")
		}
		w.problem = ""
		return true
	}
	if w.problem == err.Error() {
		return false
	}
	w.problem, w.since = err.Error(), w.times
	if !errors.Is(err, loader.ErrNotLoaded) {
		w.log.Error("the kernel's limiter cannot be looked at", "error", err)
		return false
	}
	w.log.Error(removed)
	w.publish(event.Detached, "", removed)
	return false
}

// lookAt returns what becomes of an interface.
func (w *watch) lookAt(name string, was watched, attachments []loader.Attachment, file config.Kernel) watched {
	there := numberOf(name)
	if there != 0 && isAttached(attachments, there) {
		return watched{index: there, attached: true}
	}
	switch {
	case there == 0:
		if was.index != 0 {
			w.log.Warn("interface deleted; it is attached to when it comes again", "interface", name)
			w.publish(event.Detached, name, "the interface was deleted")
		}
		return watched{}
	case there == was.index && was.problem != "" && w.options.Now().Before(was.retry):
		return was
	case there != was.index || was.problem != "":
		return w.attach(name, was, there, file)
	case was.attached:
		const byOthers = "detached by somebody else; it stays so until the configuration is reloaded"
		w.log.Warn(byOthers, "interface", name)
		w.publish(event.Detached, name, byOthers)
	}
	return watched{index: there}
}

// attach attaches to an interface that has come. What fails is tried again.
func (w *watch) attach(name string, was watched, index int, file config.Kernel) watched {
	begin := time.Now()
	outdated := false
	mode, err := loader.ParseMode(file.Mode)
	if err == nil {
		err = w.changed(func(i *loader.Instance) error {
			if outdated = w.appliedSince(); outdated {
				return nil // the file may not name it any more
			}
			if err := w.options.Guard.Attach(i, index); err != nil {
				return guarded(err)
			}
			a, already, err := i.Attach(name, mode)
			if err == nil {
				w.noticeAttached(a, mode, already)
				index = a.Index
			}
			return err
		})
	}
	if err != nil {
		if was.problem != err.Error() {
			w.log.Error("cannot attach to an interface that has come; trying again", "interface", name, "error", err)
		}
		return was.failed(index, err.Error(), w.options.Now())
	}
	if outdated {
		return was
	}
	w.log.Info("attached to an interface that has come", "interface", name, "took", time.Since(begin))
	w.publish(event.Attached, name, "the interface has come")
	return watched{index: index, attached: true}
}

// appliedSince says whether there was an Apply since it was looked last.
func (w *watch) appliedSince() bool {
	w.applied.mu.Lock()
	defer w.applied.mu.Unlock()
	return w.applied.times != w.times
}

func (w *watch) publish(kind event.Kind, name, reason string) {
	w.tell(event.Event{Time: w.options.Now(), Kind: kind, Origin: "kernel", Name: name, Reason: reason})
}
