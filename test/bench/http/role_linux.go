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

// become makes this process another program, which keeps its number.
func become(p placing, args []string) error {
	runtime.LockOSThread() // what is set is the thread's, and the thread's is what stays
	var set unix.CPUSet
	set.Set(p.cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("move to CPU %d: %w", p.cpu, err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, p.nice); err != nil {
		return fmt.Errorf("set nice %d: %w", p.nice, err)
	}
	if len(args) == 0 {
		return fmt.Errorf("-role %s: no program", roleExec)
	}
	return fmt.Errorf("execute %s: %w", args[0], unix.Exec(args[0], args, os.Environ()))
}
