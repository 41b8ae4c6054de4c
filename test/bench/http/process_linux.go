package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/thread"
)

// process is a program that runs at a place in a namespace.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr tail
	ended  chan struct{} // is closed when it has ended, and then err is its error
	err    error
}

// program is what is started.
type program struct {
	name      string
	in        *netlab.Namespace
	at        placing
	command   []string
	env       []string // beside those of this process
	task      any      // for the standard input, as JSON; nil for nothing
	directory string
}

// start starts a program. It ends with this process at the latest.
func start(p program) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-role", roleExec, "-cpu", fmt.Sprint(p.at.cpu), "-nice", fmt.Sprint(p.at.nice), "--"}
	r := &process{name: p.name, cmd: exec.Command(self, append(args, p.command...)...), ended: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), p.env...)
	r.cmd.Dir = p.directory
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.task != nil {
		task, err := json.Marshal(p.task)
		if err != nil {
			return nil, err
		}
		r.cmd.Stdin = bytes.NewReader(task)
	}
	if err := thread.Start(r.cmd, p.in.Do); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	return r, nil
}

// startRole starts this program in another role.
func startRole(role string, in *netlab.Namespace, at placing, task any) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(program{name: role, in: in, at: at, command: []string{self, "-role", role}, task: task})
}

// result waits for the end of a role and reads what it found out.
func (p *process) result(to any) error {
	<-p.ended
	if p.err != nil {
		return p.failure(p.err)
	}
	if err := json.Unmarshal(p.stdout.Bytes(), to); err != nil {
		return p.failure(err)
	}
	return nil
}

func (p *process) failure(err error) error {
	return fmt.Errorf("%s: %w: %s", p.name, err, strings.TrimSpace(string(p.stderr.text)))
}

var errTooEarly = errors.New("has ended too early")

// hasEnded returns an error if the process has ended, which is too early.
func (p *process) hasEnded() error {
	select {
	case <-p.ended:
		return p.failure(cmp.Or(p.err, errTooEarly))
	default:
		return nil
	}
}

// kill ends the process at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error says that it has ended
	<-p.ended
}

// patience is how long a program may take to be ready or to end, which takes milliseconds as a rule.
const patience = 20 * time.Second

// stop tells the process to end, and waits until it has.
func (p *process) stop() error {
	if err := p.hasEnded(); err != nil {
		return err
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
		if p.err != nil {
			return p.failure(p.err)
		}
		return nil
	case <-time.After(patience):
		p.kill()
		return p.failure(fmt.Errorf("has not ended in %v", patience))
	}
}

// tail keeps the end of what is written, for error messages.
type tail struct{ text []byte }

var _ io.Writer = (*tail)(nil)

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-most):]
	return len(p), nil
}
