// Package e2e has no code: its tests run the built binary on real packets.
//
// Each test makes network namespaces, a veth pair and a BPF file system of its own, runs headgate
// in one of the namespaces as a user would, and counts what arrives with a raw socket, which knows
// nothing of headgate's own counters. Nothing touches an interface or a directory that was there
// before.
package e2e
