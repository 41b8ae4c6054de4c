package resty

import "time"

// Charge is a request of one key, for Combine.
type Charge struct {
	Limiter Limiter // nil limits nothing
	Key     string
	// Result is what the limiter said. Combine sets it if all let the request pass.
	Result Result

	got    Result
	before record // of Key, for the limiters of this package
	known  bool
}

// Combined is what Combine says.
type Combined struct {
	// Rejected reports that a limiter rejected the request, so that none charged it.
	Rejected bool
	// By is the index of the charge that was rejected first, -1 if none was.
	By int
	// Delay is the longest of all, 0 if the request was rejected.
	Delay time.Duration
}

// Combine charges a request to several limiters at now, if all of them let it pass, as resty.limit.traffic.
//
// It is one step for the limiters of this package: others see all of its charges or none. The original asks
// all and charges them later, and what it then takes back is not always what it charged. Another Limiter is
// asked, charged, and on a rejection uncommitted, while the locks of this package's are held: it must not call them.
func Combine(charges []Charge, now time.Duration) Combined {
	lock(charges)
	defer unlock(charges)
	by := charge(charges, now)
	result := Combined{Rejected: by >= 0, By: by}
	for i := range charges {
		c := &charges[i]
		if p := c.part(); p != nil && (by < 0 || by == i) {
			p.shared().count(by == i)
		}
		if by < 0 {
			c.Result = c.got
			result.Delay = max(result.Delay, c.got.Delay)
		}
	}
	return result
}

// charge charges all or none, and returns which was rejected first, -1 if none was.
func charge(charges []Charge, now time.Duration) (by int) {
	for i := range charges {
		if charges[i].incoming(false, now).Rejected {
			return i
		}
	}
	// Now only another package's limiter can reject, or one that is charged for a key twice.
	for i := range charges {
		c := &charges[i]
		if p := c.part(); p != nil {
			c.before, c.known = p.shared().look(c.Key)
		}
		if c.got = c.incoming(true, now); c.got.Rejected {
			uncharge(charges[:i], now)
			return i
		}
	}
	return -1
}

// uncharge takes back what was charged before another was rejected. The other, if it is of this package, was
// charged for the same key, which becomes what it was before both.
func uncharge(charges []Charge, now time.Duration) {
	for i := len(charges) - 1; i >= 0; i-- {
		c := &charges[i]
		switch p := c.part(); {
		case p != nil && c.known:
			p.shared().set(c.Key, c.before, owesConn)
		case p != nil:
			p.shared().remove(c.Key)
		case c.Limiter != nil:
			_, _ = c.Limiter.Uncommit(c.Key, now) // as the original: there is nothing to do about it
		}
	}
}

// part is a limiter of this package. Its methods need the lock.
type part interface {
	shared() *store
	incoming(key string, commit bool, now time.Duration) Result
}

// incoming is Incoming of a limiter of this package.
func incoming(p part, key string, commit bool, now time.Duration) Result {
	s := p.shared()
	s.lock.Lock()
	defer s.lock.Unlock()
	result := p.incoming(key, commit, now)
	if commit {
		s.count(result.Rejected)
	}
	return result
}

// part returns nil for another package's limiter, also if that has one of this package's embedded.
func (c *Charge) part() part {
	switch l := c.Limiter.(type) {
	case *Req:
		return l
	case *Conn:
		return l
	case *Count:
		return l
	}
	return nil
}

func (c *Charge) incoming(commit bool, now time.Duration) Result {
	if p := c.part(); p != nil {
		return p.incoming(c.Key, commit, now)
	}
	if c.Limiter == nil {
		return Result{}
	}
	return c.Limiter.Incoming(c.Key, commit, now)
}

func lock(charges []Charge) {
	for s := nextStore(charges, 0); s != nil; s = nextStore(charges, s.order) {
		s.lock.Lock()
	}
}

func unlock(charges []Charge) {
	for s := nextStore(charges, 0); s != nil; s = nextStore(charges, s.order) {
		s.lock.Unlock()
	}
}

// nextStore returns the store of a charge whose lock comes next after order, nil if there is none: each is
// found once, in an order that is the same for all callers, so that no two wait for each other.
func nextStore(charges []Charge, order uint64) *store {
	var next *store
	for i := range charges {
		if p := charges[i].part(); p != nil {
			if s := p.shared(); s.order > order && (next == nil || s.order < next.order) {
				next = s
			}
		}
	}
	return next
}
