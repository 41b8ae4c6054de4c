package keyed

import (
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// Limiter limits by key. All methods may be called at the same time.
//
// now is the time since an instant that the caller fixes once. It may go back:
// each shard goes on from the latest time that it has seen, so that a clock that
// is set back neither locks a key out nor gives it a second burst.
type Limiter[K comparable] interface {
	// Take charges n units to key if they may pass, in one step: of parallel
	// calls no more pass than the limit admits.
	Take(key K, n uint64, now time.Duration) limit.Result
	// Peek returns what Take would, and changes nothing that decides. There is
	// nothing to Refund of it.
	Peek(key K, n uint64, now time.Duration) limit.Result
	// Refund takes back the charge that gave r, and reports true, if that can be
	// done exactly (limit.Algorithm.Refund); otherwise it changes nothing. It is
	// called once for an r, with the key of it: only Slots tell a second call from the
	// first.
	Refund(key K, r limit.Result, now time.Duration) bool
	// Counters returns what the limiter counted so far.
	Counters() Counters

	Part[K]
}

// Part is a limiter's part in a decision that several take together, see All.
// It is for those who write limiters; others call Take.
type Part[K comparable] interface {
	// Place returns where key is kept. It takes no lock.
	Place(key K) Place
	// Ask returns what Take would, charges nothing, and keeps the order of use
	// where the limiter has one. The lock of p is held.
	Ask(key K, p Place, n uint64, now time.Duration) limit.Result
	// Look is Ask, and changes nothing at all. The lock of p is held.
	Look(key K, p Place, n uint64, now time.Duration) limit.Result
	// Charge charges what Ask allowed at the same now, the lock of p being held
	// since, and returns what Take would have.
	Charge(key K, p Place, n uint64, now time.Duration) limit.Result
}

// Place is where a limiter keeps a key.
type Place struct {
	// Lock guards the key.
	Lock *sync.Mutex
	// Order is different for each lock in the process. Who needs several locks
	// takes them in ascending order; Orders makes them.
	Order uint64
	// Hash of the key, the same at each call.
	Hash uint64
	// Last is set by All for the last of several limits, which nginx charges as it asks.
	Last bool
}

// Counters is what a limiter counted since it was made. None goes back.
type Counters struct {
	Keys           uint64 // now; the only one that may go down
	Allowed        uint64 // calls, not units
	Refused        uint64
	EvictedDrained uint64 // keys forgotten that owed nothing: nothing was lost
	EvictedLive    uint64 // keys forgotten with a debt, for want of room: each got a fresh burst
}
