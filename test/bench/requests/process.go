package main

import (
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"

	"github.com/headgate/headgate/test/bench/limiters"
)

// pipe is both directions of a connection.
type pipe struct {
	io.ReadCloser
	out io.WriteCloser
}

func (p pipe) Write(b []byte) (int, error) { return p.out.Write(b) }

func (p pipe) Close() error { return errors.Join(p.out.Close(), p.ReadCloser.Close()) }

// serve is the other end of a process: it measures the subject of that name until nobody asks
// any more.
func serve(name string, conn io.ReadWriteCloser) error {
	s, ok := limiters.Find(name)
	if !ok {
		return fmt.Errorf("no limiter %q", name)
	}
	server := rpc.NewServer()
	if err := server.Register(&Worker{subject: s}); err != nil {
		return err
	}
	server.ServeConn(conn)
	return nil
}

// process is a worker in a process of its own.
type process struct {
	subject limiters.Subject
	client  *rpc.Client
	wait    func() error
}

// startProcess starts this program again as a worker.
func startProcess(s limiters.Subject) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-worker", s.Name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process of %s: %w", s.Name, err)
	}
	return &process{s, rpc.NewClient(pipe{out, in}), cmd.Wait}, nil
}

func (p *process) call(method string, args, result any) error {
	if err := p.client.Call("Worker."+method, args, result); err != nil {
		return fmt.Errorf("%s: %w", p.subject.Name, err)
	}
	return nil
}

// close ends the process.
func (p *process) close() error {
	err := p.client.Close()
	if werr := p.wait(); werr != nil {
		return fmt.Errorf("process of %s: %w", p.subject.Name, werr)
	}
	return err
}
