// Package keyed keeps the states of a limit by key: bounded, in shards, and without allocation
// once a key is known.
//
// A Store holds one state a key, of any limit.Algorithm, and is a Limiter:
//
//	perIP := keyed.New[netip.Addr](leaky, keyed.Options[netip.Addr]{MaxKeys: 100_000})
//	if r := perIP.Take(addr, 1, time.Since(start)); !r.Allowed {
//		// try again after r.RetryAfter
//	}
//
// Slots limit how much of a key is under way at a time. All charges several limiters all or none.
//
// # Memory
//
// A key costs its entry (the key and its state) and, in an open-addressing index, 11 to 16 bytes.
// An entry has no links to others: no list is kept in order of use, so that a look-up writes only
// to the entry that it charges. Room for a new key is found by a hand that goes round over the
// entries, as in the CLOCK algorithm (Corbató, 1969), but looks at what a key owes rather than at
// when it was used: a key that owes nothing is forgotten without loss. Where none of those looked
// at is such, the one that owes the least is forgotten and counted, since it gets a fresh burst if
// it comes back.
//
// The hand looks at two entries at each new key also while there is room. So a store grows to
// about twice the keys that owe something, and to MaxKeys only if that is less; and what a flood left
// in it is forgotten as other keys come.
//
// MaxKeys bounds how many keys are kept, not how long they are: who lets clients choose texts as keys
// has to cut or hash long ones. A key has to equal itself, as a NaN does not. Which keys share a slot of
// the index depends on a seed that each store draws for itself, so that clients cannot choose keys that
// are slow to find.
package keyed
