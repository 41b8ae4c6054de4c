package thread_test

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/thread"
)

func TestRunPins(t *testing.T) {
	for _, cpu := range need.AllowedCPUs() {
		var on unix.CPUSet
		err := thread.Run(cpu, func() error { return unix.SchedGetaffinity(0, &on) })
		if err != nil || on.Count() != 1 || !on.IsSet(cpu) {
			t.Errorf("runs on %v, %v, want CPU %d", on, err, cpu)
		}
	}
	var on unix.CPUSet
	err := thread.Run(thread.AnyCPU, func() error { return unix.SchedGetaffinity(0, &on) })
	if err != nil || on.Count() != len(need.AllowedCPUs()) {
		t.Errorf("runs on %v, %v, want all", on, err)
	}
}

func TestTogether(t *testing.T) {
	cpus := need.AllowedCPUs()
	ran := make([]int, len(cpus))
	err := thread.Together(cpus, func(i int) error {
		var on unix.CPUSet
		ran[i]++
		if err := unix.SchedGetaffinity(0, &on); err != nil || !on.IsSet(cpus[i]) {
			t.Errorf("number %d runs on %v, %v", i, on, err)
		}
		return nil
	})
	if err != nil || slices.Min(ran) != 1 || slices.Max(ran) != 1 {
		t.Errorf("%v, ran %v times, want once each", err, ran)
	}
}

func TestErrors(t *testing.T) {
	wrong := errors.New("wrong")
	if err := thread.Together(need.AllowedCPUs()[:1], func(int) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("got error %v, want %v", err, wrong)
	}
	const absent = 1000
	if err := thread.Together([]int{need.AllowedCPUs()[0], absent}, func(int) error { return nil }); err == nil {
		t.Errorf("ran on CPU %d", absent)
	}
}

func TestBlockSignals(t *testing.T) {
	err := thread.Run(thread.AnyCPU, func() error {
		if err := thread.BlockSignals(); err != nil {
			return err
		}
		var now unix.Sigset_t
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, nil, &now); err != nil {
			return err
		}
		if bit := uint64(1) << (unix.SIGURG - 1); now.Val[0]&bit == 0 {
			t.Errorf("mask %x, without SIGURG", now.Val[0])
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTimeAdvances(t *testing.T) {
	err := thread.Run(thread.AnyCPU, func() error {
		first, err := thread.Time()
		if err != nil {
			return err
		}
		for now := first; now == first && err == nil; {
			now, err = thread.Time()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
