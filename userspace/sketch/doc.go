// Package sketch estimates how often keys occur in constant memory, whatever the number of keys:
// Estimator counts, Rate counts per interval, Inflight counts what is under way. They are those of
// Cloudflare's pingora-limits 0.8, with time as an argument.
//
// # Keys
//
// A key is a uint64. What is no integer is hashed by a Hasher. Which slots a key has depends on the
// Seed too, so that keys that share slots here do not share them elsewhere. To change the Seed of
// something that runs, make a new one beside the old, count in both for two intervals, then drop the
// old one.
//
// # Error
//
// Counts are those of a count-min sketch (Cormode and Muthukrishnan, 2005). While no count goes down,
// an estimate is never below the truth. It is above by more than ε = e/Slots of the sum of all counts
// with probability at most δ = e^-Hashes, for a key that was chosen without knowledge of the Seed.
// So an estimate alone must not decide about a key: an innocent one may share its slots with an abuser.
// Limiter decides, and estimates nothing.
package sketch
