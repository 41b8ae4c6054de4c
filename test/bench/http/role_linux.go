package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// The roles that this program plays in processes of their own. All but roleExec are told what to do by a JSON value on the
// standard input. Clients answer with one on the standard output; servers serve until they are killed.
const (
	roleExec   = "exec"   // becomes another program, at a place
	roleWork   = "work"   // the client that works
	roleFlood  = "flood"  // the one that floods
	roleAsk    = "ask"    // asks by HTTP as fast as is answered
	roleCall   = "call"   // does so by gRPC
	roleAnswer = "answer" // a server that answers all requests alike
	rolePass   = "pass"   // a reverse proxy
	roleEmpty  = "empty"  // a gRPC server whose handlers do nothing
)

// play plays a role.
func play(o options, in io.Reader, out io.Writer) error {
	switch o.role {
	case roleExec:
		return become(o.place, o.args)
	case roleWork:
		return playAs(in, out, work)
	case roleFlood:
		return playAs(in, out, flood)
	case roleAsk:
		return playAs(in, out, ask)
	case roleCall:
		return playAs(in, out, call)
	case roleAnswer:
		return playAs(in, out, answerAll)
	case rolePass:
		return playAs(in, out, passAll)
	case roleEmpty:
		return playAs(in, out, serveEmpty)
	}
	return fmt.Errorf("no role %q", o.role)
}

func playAs[Task, Result any](in io.Reader, out io.Writer, part func(Task) (Result, error)) error {
	var t Task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	r, err := part(t)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// placing is where and how a process runs.
type placing struct{ cpu, nice int }

// put puts a thread there; this one if its number is 0.
func (p placing) put(thread int) error {
	var set unix.CPUSet
	set.Set(p.cpu)
	if err := unix.SchedSetaffinity(thread, &set); err != nil {
		return fmt.Errorf("move thread %d to CPU %d: %w", thread, p.cpu, err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, thread, p.nice); err != nil {
		return fmt.Errorf("set thread %d to nice %d: %w", thread, p.nice, err)
	}
	return nil
}

// become makes this process another program, which keeps its number.
func become(p placing, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("-role %s: no program", roleExec)
	}
	runtime.LockOSThread() // this thread is the one that stays
	if err := p.put(0); err != nil {
		return err
	}
	return fmt.Errorf("execute %s: %w", args[0], unix.Exec(args[0], args, os.Environ()))
}
