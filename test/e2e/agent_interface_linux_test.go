package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/test/netlab"
)

// An interface that is deleted and made again is attached to, limits hold there, and each is told of in one line.
func TestAgentInterfaceMadeAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.start(limitedKernel + "metrics: {listen: \"127.0.0.1:9090\"}\n")
	s.wantPassed(flooder, 9, 5)
	for n := range 3 {
		if err := s.pair.Close(); err != nil {
			t.Fatal(err)
		}
		await(t, "the deletion being seen", func() bool { return len(a.lines("interface deleted", s.dev())) == n+1 })
		if got := s.metric("headgate_kernel_interface_attached"); got != 0 {
			t.Errorf("headgate_kernel_interface_attached is %v", got)
		}
		made := time.Now()
		again := s.again()
		await(t, "the interface being attached to", func() bool { return again.programID() != 0 })
		t.Logf("attached at most %v after the interface was made", time.Since(made))
		await(t, "that being told", func() bool { return len(a.lines("attached to an interface that has come")) == n+1 })
		again.wantPassed(flooder, 20, 0)
		again.wantPassed("203.0.113."+itoa(n+50), 20, 5)
		s = again
	}
	a.wantLines(0, "level=ERROR")
	a.wantLines(0, "detached by somebody else")
}

// again is the site on another pair of the same names.
func (s *site) again() *site {
	s.tb.Helper()
	pair, err := netlab.NewPair(s.pair.Near.Namespace, s.pair.Far.Namespace, netlab.PairOptions{})
	if err != nil {
		s.tb.Fatal(err)
	}
	return &site{lab: labOn(s.tb, pair, s.pin), dir: s.dir}
}

// An interface that is not there when the agent starts is attached to when it comes, before a burst has passed.
func TestAgentInterfaceComesLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.start(`kernel: {interfaces: [IFACE, far1], max_sources: 4096, default: {rate: 6pph, burst: 5}}` + "\n")
	a.awaitLine("does not exist", "far1")
	second := &site{lab: s.beside(pairTwo(), s.pin), dir: s.dir}
	await(t, "the interface being attached to", func() bool { return second.programID() != 0 })
	second.wantPassed(flooder, 20, 5)
	s.wantPassed(flooder, 20, 0)
	a.reload(`kernel: {interfaces: [far1], default: {rate: 6pph, burst: 5}}` + "\n")
	if s.programID() != 0 || second.programID() == 0 {
		t.Errorf("programs %d and %d, want none and one", s.programID(), second.programID())
	}
}

// The only interface of the file may be missing, at the start and when the file is read again.
func TestAgentOnlyInterfaceComesLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.start("kernel: {interfaces: [far1], max_sources: 4096, default: {rate: 6pph, burst: 5}}\n")
	a.awaitLine("level=WARN", "none of the interfaces exists")
	second := &site{lab: s.beside(pairTwo(), s.pin), dir: s.dir}
	await(t, "the interface being attached to", func() bool { return second.programID() != 0 })
	second.wantPassed(flooder, 20, 5)
	if err := second.pair.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, "the deletion being seen", func() bool { return len(a.lines("interface deleted", "far1")) > 0 })
	a.reload("kernel: {interfaces: [far1], max_sources: 4096, default: {rate: 6pph, burst: 3}}\n")
	second = &site{lab: s.beside(pairTwo(), s.pin), dir: s.dir}
	await(t, "the interface being attached to", func() bool { return second.programID() != 0 })
	second.wantPassed(modest, 20, 3)
}

// What an administrator detaches stays so, and the agent says it once.
func TestAgentDetachedByHand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	second := &site{lab: s.beside(pairTwo(), s.pin), dir: s.dir}
	const text = "kernel: {interfaces: [IFACE, far1], max_sources: 4096, default: {rate: 6pph, burst: 5}}\n"
	a := s.start(text)
	second.wantPassed(flooder, 20, 5)
	s.must("detach", second.dev())
	a.awaitLine("detached by somebody else", "far1")
	second.wantPassed(flooder, 20, 20)
	s.wantPassed(flooder, 20, 0)
	a.reload(text + "# again\n")
	second.wantPassed(flooder, 20, 0)
	s.must("detach", "--all")
	a.awaitLine("the kernel's limiter was removed")
	s.wantPassed(modest, 20, 20)
	a.signal(syscall.SIGHUP)
	a.awaitLine("was not reloaded", "restart it") // it has no right to load the program any more
	a.wantLines(1, "detached by somebody else")
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d:\n%s", code, a.log)
	}
	s.start(text)
	s.wantPassed(modest, 20, 5)
}
