// Package resty has the limiters of lua-resty-limit-traffic 0.09: Req as resty.limit.req, Conn as
// resty.limit.conn, Count as resty.limit.count, and Combine as resty.limit.traffic.
//
// They decide as the originals do, number by number, but for these:
//
//   - The time is an argument: the time since an instant that the caller fixes once.
//   - A limiter has keys of its own and is one for all goroutines, where the original shares a
//     lua_shared_dict by name. So there is no value of another user to be found, which the original
//     calls abuse, and what Conn learns is learnt once, not once a worker.
//   - All methods may be called at the same time, and none loses what another did. The original reads
//     a key and writes it later.
//   - Combine charges all or none.
//   - Nothing can be given back that was not taken.
//
// The keys are bounded in number, not in bytes. As in a lua_shared_dict, the key that was used the
// longest time ago makes room for a new one; each limiter counts how many did, and how many of them
// still owed something.
package resty
