// Package progtest runs single frames through the XDP program, by BPF_PROG_TEST_RUN, under a clock
// that stands still until a test moves it. Nothing is attached or pinned, so a machine's
// interfaces are never touched, and every count is exact.
//
//	lab := progtest.New(t, progtest.Options{})
//	lab.SetPolicy(policymap.Policy{Name: policymap.Default, Limit: progtest.Packets("5pps", 5)})
//	got := lab.Run(frame)
//	lab.Advance(200 * time.Millisecond)
//
// What the maps hold is read and written through the views under maps, as the agent does it.
// Model is the same packet walk in plain Go, for tests that compare the two.
//
// All of it needs root (CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN); see need.Root. On other systems
// than Linux the package is empty.
package progtest
