// Package shared has the words between the rules of requests and a store of limits that several machines reach:
// package ruleset asks, package redisstore answers.
package shared

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/shared/bounds"
)

// Limit is what a key may do on all machines together.
type Limit struct {
	Algorithm config.Algorithm // Leaky, Window, Sliding or Concurrent
	// Count units pass in the time Per; of Concurrent Count are under way at a time, and Per is 0.
	Count uint64
	Per   time.Duration
	// Burst and Delay are those of config.Use, for Leaky.
	Burst, Delay uint64
}

// Check returns an error, which says what to use, if machines cannot share the limit exactly.
func (l Limit) Check() error {
	switch l.Algorithm {
	case config.Leaky:
		if l.Delay > l.Burst {
			return fmt.Errorf("delay %d: more than the burst; use at most %d", l.Delay, l.Burst)
		}
		return bounds.Leaky(l.Count, l.Per, l.Burst)
	case config.Window:
		return bounds.Window(l.Count, l.Per)
	case config.Sliding:
		return bounds.Sliding(l.Count, l.Per)
	case config.Concurrent:
		return bounds.Concurrent(l.Count)
	default:
		return fmt.Errorf("algorithm %s: machines cannot share it; use leaky, window, sliding or concurrent", l.Algorithm)
	}
}

// Charge is one of the limits of a request.
type Charge struct {
	Zone  string // its name; keys of different zones are different
	Limit Limit
	Key   string // of any length and content; not kept
	N     uint64 // units, at least 1
	// DryRun is 0 for a limit that is enforced, else the number of a group, as in keyed.Charge.
	DryRun int
	// Batch is how many units more may be taken in advance for a key that is asked for often; 0 for none.
	Batch uint64

	// Result is set by Take and Peek, as keyed.All sets it. Times are by the store's clock.
	Result limit.Result
	// Known says that Result is what the store knows. It is false where another limit was known to refuse the request, so
	// that this one was not asked; Result then has only Allowed and Limit.
	Known bool
	// Lease names the places that Take occupied, of Concurrent; empty for none.
	Lease string
}

// Store keeps the keys' states where other machines see them. Its methods may be called at the same time.
//
// tag is what all limits have in common that may be asked in one call with any of these: requests with the same tag are
// decided in one place. The charges of a call have to have the same tag each time.
//
// What the caller hands over is his: tag, charges and their keys are views of memory that he uses again. Nothing of it is kept but the
// tag of a call with a charge of Concurrent, which is not such a view. A caller who was told of an error leaves that call's memory alone.
type Store interface {
	// Take charges a request to all enforced limits if all of them allow it, or to none, as keyed.All does, and
	// reports whether they do; a group that is tried out likewise. It waits no longer than the store's time-out, of which the
	// request has spent some if it had to take other charges before. An error says that nothing was decided: what then becomes
	// of the request is up to the caller. It may have been charged.
	Take(tag string, charges []Charge, spent time.Duration) (allowed bool, err error)
	// Peek sets the results to what Take would find, and charges nothing.
	Peek(tag string, charges []Charge) error
	// Return takes back what a Take that allowed the request charged, as it does not pass for another reason. It does not
	// wait, and gives back no more than without Take would be left: sometimes less.
	Return(tag string, charges []Charge)
	// Release frees the places of charges with a Lease, once for each. It does not wait.
	Release(tag string, charges []Charge)
	// Forget makes a key one that was never seen, on all machines, and reports whether something was known of it.
	Forget(tag, zone, key string, l Limit) (bool, error)
}
