// Package e2e has no code: its tests run the built binary on real packets.
//
// Each test makes network namespaces, a veth pair and a BPF file system of its own, runs headgate
// in one of the namespaces as a user would, and counts what arrives with a raw socket, which knows
// nothing of headgate's own counters. Nothing touches an interface or a directory that was there
// before.
//
// Tests of the agent run `headgate run` there with clients at the other end of the pair, a backend, the real nginx, and
// who stands for systemd: they kill it, break its file, fill its disk and move its date.
package e2e
