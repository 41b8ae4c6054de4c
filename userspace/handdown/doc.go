// Package handdown gives sources that offend again and again a rule of the kernel, so that what
// they send costs a dropped packet and no longer a request.
//
// An offence is a request that the HTTP limiter refused (Observe), a line of nginx's error log, or
// somebody's report. The offence that makes it `after` of one source in any time `within` (that one, and
// those less than `within` before it) has the source handed down, for `for`. Each rule that follows holds
// twice as long as the one before, up to `max`, until the source has had none for a time of `max`: then
// its history is forgotten. What comes while a rule is made or holds, from packets under way, counts for nothing.
//
// # Whom it may hit
//
// A rule drops packets by the address that they are from. So it is only made for who is known to send them: the peer of
// the TCP connection, or whom a proxy on this machine names as its own peer. Behind a proxy elsewhere
// there is nobody to drop in the kernel, and no header and no PROXY protocol changes that (BehindProxy).
// Trusted proxies, what an allow rule has to do with, who administers the machine, and private
// addresses unless asked are spared too; Reason has them all.
//
// # Cost
//
// Offences are counted under the lock of one of a few shards, without allocation for a source that is
// known, and never wait for the kernel: Run does that. All memory is bounded. What is full forgets the
// source that has the least to be remembered, and counts it.
package handdown
