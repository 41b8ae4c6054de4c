// Command peers measures how many packets a second headgate receives beside what Linux has of its own against floods, in
// one run: a dynamic set of nftables with a limit, at the ingress hook, and hashlimit of iptables in raw PREROUTING. It
// needs root, nft and iptables, works in network namespaces of its own, and leaves nothing behind.
//
//	go run ./peers [-quick] [-o table|json] [-svg FILE]
//
// Each receiver gets the same frames over a veth pair, from 1 source up to a new one for every frame, with the same limit
// for each source. What a limiter lets through meets the same end behind all: a rule that counts and drops it, before
// anything is routed.
//
// In each round every receiver is set up anew, filled with the sources, measured and taken away again, one after the
// other, so that none runs beside another's tables, and what disturbs the machine disturbs all alike.
package main
