// Package redisstore keeps limits in Redis, or Valkey, where several machines see them. It decides what package keyed decides in one
// process: all limits of a request, all or none.
//
// # One script
//
// A script decides about all limits of a request in one round trip, by the clock of Redis, so that it does not matter what
// time the machines have. It reads all states, decides, and writes those that are charged, in one step that nothing comes between. What
// it answers is the states that it found; the times and numbers that a client is told are made of them here. This package
// decides once more, by the same states, and takes an answer that it would not have given for an error.
//
// Limits are exact. A leaky bucket is the continuous-state form of the GCRA (ITU-T I.371), in the ticks of bounds.Ticks, of
// which the cost of a unit and what drains in a µs are whole: 3r/s loses nothing to rounding. All numbers are below 2^53, where the
// floating-point numbers of Lua are exact. Where rates differ, as while a file is rolled out or machines adapt to their load, a key
// owes the same number of units by each, which drain at the faster: all together let pass no more than the largest burst and
// what the fastest rate gives. Windows are those of limit.Window and limit.Sliding, to the µs.
//
// A state is four numbers of 8 bytes in a string that expires a second after it is of no more use. A set of places, of
// concurrent, is a sorted set of their names by when they are free if nobody says that they are still taken.
//
// # What costs no round trip
//
// A key that a limit refused is refused here until as much has drained as it lacks. For keys that are asked for often, units
// are taken in advance if Charge.Batch says so, and spent here within a second: what is not spent is lost, so that the limit errs on
// the strict side. Over any time t, M machines admit at most what the limit does and M times the batch, of a leaky bucket
// burst + 1 + rate*t + M*batch; of a window never more than its count, as units that were taken in it are spent in it.
package redisstore
