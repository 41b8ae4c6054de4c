package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/logging"
)

// counting is a kernel's limiter that counts what it is asked for.
type counting struct {
	Kernel
	applied, scaled int
}

func (k *counting) Check(config.Kernel) error { return nil }
func (k *counting) Apply(config.Kernel) error { k.applied++; return nil }
func (k *counting) Scale(float64) error       { k.scaled++; return nil }
func (k *counting) Close() error              { return nil }

// bare returns an agent that has begun, and does nothing yet.
func bare(t *testing.T, k Kernel) *Agent {
	t.Helper()
	a := New(Options{Kernel: func(*slog.Logger) (Kernel, error) { return k, nil }})
	var err error
	if a.logs, err = logging.New(config.Log{}, io.Discard); err != nil {
		t.Fatal(err)
	}
	a.log = a.logs.Logger()
	a.state.ctx, a.stop = context.WithCancel(t.Context())
	if err := a.begin(); err != nil {
		t.Fatal(err)
	}
	return a
}

// Rules that cannot be made are found before anything is asked of the kernel, so that there is nothing to take back.
func TestRulesAreMadeBeforeTheKernelChanges(t *testing.T) {
	k := new(counting)
	a := bare(t, k)
	twins := config.HTTP{Zones: []config.Zone{{Name: "twin"}, {Name: "twin"}}}
	err := a.apply(&read{file: &config.File{Kernel: &config.Kernel{}, HTTP: twins}})
	if err == nil || !strings.Contains(err.Error(), `zone "twin"`) || k.applied != 0 || k.scaled != 0 {
		t.Errorf("error %v; the kernel's limiter was changed %d times and scaled %d times", err, k.applied, k.scaled)
	}
	if err := a.apply(&read{file: &config.File{}}); err != nil {
		t.Errorf("the next file: %v", err) // it would wait for ever if rules were left over
	}
	if err := a.end(); err != nil {
		t.Error(err)
	}
}

// Who may not listen where it says is told that a restart helps, as privileges are given up after the start.
func TestPrivilegeWasGivenUp(t *testing.T) {
	a := New(Options{Started: func(*config.File) error { return nil }})
	denied := &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}
	if err := a.sinceGivenUp(denied); strings.Contains(err.Error(), "restart") {
		t.Errorf("at the start: %v", err)
	}
	a.state.file = &config.File{}
	if err := a.sinceGivenUp(denied); !strings.Contains(err.Error(), "gave up its privileges after the start: restart it") {
		t.Errorf("at a reload: %v", err)
	}
	nobodyMay := config.Listener{Network: config.NetworkUnix, Address: "/sys/s"}
	file := &config.File{Metrics: &config.Metrics{Listen: nobodyMay}}
	if err := a.prepareFronts(&change{read: &read{file: file}}); err == nil || !errors.Is(err, syscall.EROFS) && !strings.Contains(err.Error(), "restart it") {
		t.Errorf("of a listener: %v", err)
	}
	if err := a.sinceGivenUp(syscall.EADDRINUSE); strings.Contains(err.Error(), "restart") {
		t.Errorf("of another kind: %v", err)
	}
}
