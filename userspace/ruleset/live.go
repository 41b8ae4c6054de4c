package ruleset

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// Live is rules that can be replaced while they decide. All methods may be called at the same time.
//
// Replace waits for no request. What it holds up are requests whose key has the lock that it carries the keys of over:
// 0.2 ms of CPU with a million keys. A request is decided by the rules before or by those after it, and never by some of
// each. What becomes of the keys of a zone:
//
//   - A zone that has its name, its key, how much of an address that has, and its algorithm as before keeps them.
//     Its rates, bursts, overrides, allow list and max_keys may change, and the rules that use it.
//   - With leaky and sketch a key goes on to owe as many requests as before, but no more than the new burst.
//     So over a change no more pass than the larger burst and what the larger rate gives; and a key that owed an
//     hour at a slow rate owes a moment at a fast one. What a smaller burst cut off is gone, also if it becomes
//     larger again. With nginx the excess stays what it is, as after a reload of nginx.
//   - With window and sliding what was counted in windows of the same length counts on. A quota of another
//     length begins anew.
//   - Requests under way go on to hold their places, and free each once.
//   - Any other zone begins with keys that were never seen.
//
// What a store keeps of zones that machines share, it keeps; the above is of their limits while it does not answer. Those change
// with the number of machines too, as a rate does.
//
// What is sized by max_keys when a zone is made (locks, the first tier of sketch, the buckets of nginx) keeps that size.
type Live struct {
	set atomic.Pointer[Set]

	// replacing is held from when rules are made that take the place of others until they have or are dropped. It is
	// taken before mu.
	replacing sync.Mutex

	mu     sync.Mutex // of Commit, and of what reads more than the set
	config config.HTTP
}

var _ Decider = (*Live)(nil)

// NewLive returns the rules of h for the machines of f, every key that is not in the store of f being one never seen. Errors
// are those of New.
func NewLive(h config.HTTP, f Fleet) (*Live, error) {
	set, err := newSet(h, f, 0, nil)
	if err != nil {
		return nil, err
	}
	l := &Live{config: h}
	l.set.Store(set)
	return l, nil
}

// Decide is Set.Decide by the rules in force.
func (l *Live) Decide(r *Request, now time.Duration) *Decision {
	failed := false
	for {
		d, ok := l.set.Load().decide(r, now, failed)
		if ok {
			return d
		}
		failed = failed || d.sharing.failed() // the request has waited for the store, and does not again
		d.Free(now)                           // its rules were replaced meanwhile
	}
}

// Explain is Set.Explain by the rules in force.
func (l *Live) Explain(r *Request, now time.Duration) *Decision { return l.set.Load().Explain(r, now) }

// Counters returns what was counted since NewLive for the rules and zones in force. What has the name of one that there was
// before goes on from its numbers.
func (l *Live) Counters() Counters {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set.Load().Counters()
}

// Config returns what the rules in force were made of. Nothing of it may be changed.
func (l *Live) Config() config.HTTP {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.config
}

// Replace makes the rules those of h and f at now, or changes nothing and returns an error, as New does. now is as for Decide. Requests that come after it has
// returned are decided by h. Nothing of h may be changed afterwards.
func (l *Live) Replace(h config.HTTP, f Fleet, now time.Duration) error {
	next, err := l.Prepare(h, f)
	if err != nil {
		return err
	}
	next.Commit(now)
	return nil
}

// Prepare makes the rules of h and f beside those in force and changes nothing yet, or returns an error, as New does. What it
// returns is to be committed or dropped: until then others who prepare or replace wait. Nothing of h may be changed afterwards.
func (l *Live) Prepare(h config.HTTP, f Fleet) (*Next, error) {
	l.replacing.Lock()
	was := l.set.Load()
	set, err := newSet(h, f, 0, was)
	if err != nil {
		l.replacing.Unlock()
		return nil, err
	}
	return &Next{live: l, was: was, set: set, config: h}, nil
}

// Next is rules that are made, and not yet in force. It is used by one goroutine.
type Next struct {
	live     *Live
	was, set *Set
	config   config.HTTP
}

// Commit puts the rules in force at now, as Replace does. It cannot fail.
func (n *Next) Commit(now time.Duration) {
	l := n.live
	defer n.Drop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set.Store(n.set)
	l.config = n.config
	n.set.settle(n.was, now)
}

// Drop forgets the rules. After Commit, or a second time, it does nothing.
func (n *Next) Drop() {
	if n.live != nil {
		n.live.replacing.Unlock()
		n.live = nil
	}
}
