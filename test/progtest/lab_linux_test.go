package progtest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// failure is a test that only notes that it failed.
type failure struct {
	testing.TB
	message string
}

func (f *failure) Fatal(args ...any) { f.fail(fmt.Sprint(args...)) }

func (f *failure) Fatalf(format string, args ...any) { f.fail(fmt.Sprintf(format, args...)) }

func (f *failure) fail(message string) {
	f.message = message
	panic(f)
}

// fails reports whether fn ends its test as failed.
func fails(t *testing.T, fn func(progtest.TB)) (failed bool) {
	t.Helper()
	f := &failure{TB: t}
	defer func() {
		if r := recover(); r != nil && r != any(f) {
			panic(r)
		}
		failed = f.message != ""
	}()
	fn(f)
	return false
}

// What the machinery is to notice, it notices.
func TestLabFailsTheTest(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	frame := packet.UDPFrame("203.0.113.1", "192.0.2.1", 53, 10)
	for name, fn := range map[string]func(*progtest.Lab){
		"a frame that the kernel does not take": func(l *progtest.Lab) { l.Run(frame[:13]) },
		"a frame that is counted nowhere":       func(l *progtest.Lab) { endConfig(l); l.Run(frame) },
		"more loads than CPUs":                  func(l *progtest.Lab) { l.Parallel(slices.Repeat([]progtest.Load{{Frame: frame, N: 1}}, 5000)...) },
		"a policy that is not there":            func(l *progtest.Lab) { l.Counted("none") },
	} {
		if !fails(t, func(tb progtest.TB) { fn(lab.For(tb)) }) {
			t.Errorf("%s does not fail the test", name)
		}
	}
}

// endConfig leaves no configuration in force.
func endConfig(l *progtest.Lab) {
	l.Configure(func(c *policymap.Config) { c.ValidUntil = 0 })
}

// The kernel is left to repeat only where that is faster; the count is the same.
func TestRunNCountsExactly(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	frame := packet.UDPFrame("203.0.113.1", "192.0.2.1", 53, 10)
	for _, n := range []int{0, 1, 1999, 2000, 123_457} {
		if got := lab.RunN(frame, n).Packets(); got != uint64(n) {
			t.Errorf("%d packets, want %d", got, n)
		}
	}
}
