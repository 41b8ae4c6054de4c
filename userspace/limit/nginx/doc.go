// Package nginx limits as nginx's limit_req does, bit for bit: what nginx admits, delays and refuses,
// a [Zone] admits, delays and refuses, at the same milliseconds and with the same excess in its log.
//
// It is for those who move a configuration and want to see nothing change. Others are better served by
// limit.Leaky, which means the same by rate, burst and delay, and has none of what follows
// from nginx's arithmetic:
//
//   - Time is counted in whole milliseconds. So no rate lets more than burst+1 requests pass in a
//     millisecond: 3000r/s without a burst is 1000 a second. [Rate.Warnings] tells.
//   - Rates are thousandths of a request a second, cut off: 1r/m is 0.016r/s, one in 62.5 seconds.
//   - A clock that goes back by up to a minute stands still for a key that was charged later, and by
//     more it lets one millisecond pass. The key stays refused until the clock has caught up.
//   - Where there is no room for a new key, the one that was not used for longest is forgotten,
//     whatever it owes. With each new key, up to two that were idle for a minute are forgotten too.
//   - Where several limits apply, a key that an earlier one sees for the first time was last used
//     when the clock was 0. With slow rates that shows in the clock's first minute.
//
// The state of a key is what ngx_http_limit_req_module.c keeps of one (nginx 1.22.1; the text is the
// same in 1.31), except for the count of requests that are between being asked about and being charged:
// here nothing else happens in between.
//
// What differs: a zone holds a number of keys where nginx has an amount of memory, one request may
// cost several units, which it does as that many requests at one instant, and where nginx's numbers
// would overflow, they stop at the end of their range.
package nginx
