// Package clientip says which client a request is charged to, and writes keys
// of limiters unambiguously.
//
// The rule behind every choice here: a header field is written by whoever sends
// it, so that it is believed only as far as somebody trusted wrote it. A forged
// field can hurt nobody but its sender: it neither gives him a bucket of his own
// choice nor charges somebody else.
//
// A field is therefore read from the right, where the nearest proxy wrote.
// There are two ways to know how far its values can be trusted:
//
//   - TrustedProxies, the addresses of the proxies. The client is the first value
//     from the right that is not one of them, as with nginx's real_ip_recursive.
//   - Hops, how many of the values are written by proxies on the way. The client
//     is the Hops-th value from the right. It serves where the addresses of the
//     proxies are not known, as in front of cloud load balancers, and holds only
//     if nobody can reach an inner proxy but through the outer ones.
//
// Where the field does not have what it should, the client is the last hop that
// somebody trusted vouched for, and Client.Reason says so.
package clientip
