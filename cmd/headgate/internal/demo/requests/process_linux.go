package requests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/transcript"
)

// leaveTime is how long a process may take to end when it is told to.
const leaveTime = 10 * time.Second

// process is headgate, as a process in one of the namespaces.
type process struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	lines  chan []byte // of its standard output; closed when it has ended or is not listened to any more
	log    journal     // its standard error
	gone   chan struct{}
	reader sync.WaitGroup
}

// start starts headgate. It ends with the thread that starts it, and does not get the signals of the terminal.
func (a *act) start(in *netlab.Namespace, args ...string) (*process, error) {
	p := &process{cmd: a.command(context.Background(), args...), lines: make(chan []byte, 1024), gone: make(chan struct{})}
	p.cmd.Stderr = &p.log
	orders, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, orders.Close())
	}
	p.orders = orders
	if err := in.Do(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start headgate %s: %w", args[0], errors.Join(err, orders.Close(), out.Close()))
	}
	p.reader.Go(func() { p.read(out) })
	a.stage.Later(p.kill)
	return p, nil
}

// command is headgate with arguments, on the demo's instance and agent.
func (a *act) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, a.program, args...)
	cmd.Dir = a.stage.File("")
	cmd.Env = []string{"HEADGATE_PIN=" + a.stage.Pins("requests"), "HEADGATE_SOCKET=" + a.socket()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL, Setpgid: true}
	return cmd
}

func (a *act) socket() string { return a.stage.File("admin.sock") }

// read makes lines of what the process says.
func (p *process) read(out io.Reader) {
	defer close(p.lines)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		select {
		case p.lines <- bytes.Clone(lines.Bytes()):
		case <-p.gone:
			return
		}
	}
}

// order tells the process what to do.
func (p *process) order(format string, args ...any) error {
	_, err := fmt.Fprintf(p.orders, format+"\n", args...)
	return err
}

// failed is the error of a process that ended although it should not.
func (p *process) failed() error {
	return fmt.Errorf("headgate %s has ended: %s", p.cmd.Args[1], strings.TrimSpace(p.log.String()))
}

// end asks the process to end, and waits for it.
func (p *process) end() error {
	if err := p.cmd.Process.Signal(unix.SIGTERM); err != nil {
		return err
	}
	defer time.AfterFunc(leaveTime, func() { _ = p.cmd.Process.Kill() }).Stop()
	return p.wait()
}

// kill ends the process at once, if it has not ended.
func (p *process) kill() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = p.wait() // that it was killed
	return nil
}

func (p *process) wait() error {
	close(p.gone)
	p.reader.Wait()
	return errors.Join(p.orders.Close(), p.cmd.Wait())
}

// journal collects what a process writes. It may be read meanwhile.
type journal struct{ transcript.Buffer }

// line returns the first line with a text, if it is whole.
func (j *journal) line(with string) (line []byte, ok bool) {
	for line := range bytes.Lines([]byte(j.String())) {
		if bytes.Contains(line, []byte(with)) && bytes.HasSuffix(line, []byte("\n")) {
			return line, true
		}
	}
	return nil, false
}
