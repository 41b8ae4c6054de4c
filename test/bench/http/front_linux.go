package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Where servers are, in the server's namespace.
const (
	backendAddr    = "127.0.0.1:9000"
	attackedServer = attackedAddr + ":80"
	workedServer   = workedAddr + ":80"
)

// candidate is what stands before the backend.
type candidate struct {
	name      string
	nginx     bool
	logs      bool   // nginx logs what it refuses
	config    string // the agent's, with %s for the directory; empty for no agent
	handsDown bool
}

// The agent's configurations. That of the proxy has the limit that nginx has.
const (
	kernelConf = "kernel: {interfaces: [" + attackedName + ", " + workedName + "]}\n"
	proxyConf  = kernelConf + `listen: ["0.0.0.0:80"]
upstream: ["http://` + backendAddr + `"]
http:
  zones: {login: {key: ip, rate: 10r/s}}
  rules: [{name: login, match: {path: ` + limitedPath + `}, limits: [{zone: login, burst: 20, nodelay: true}]}]
`
	handDown = "handdown: {after: 20, within: 10s, action: block, for: 1m, "
)

// candidates returns all, that which others are compared with first.
func candidates() []candidate {
	return []candidate{
		{name: "nginx limit_req", nginx: true, logs: true},
		{name: "nginx limit_req, no log", nginx: true},
		{name: "headgate, handdown dry run", config: proxyConf + handDown + "dry_run: true}\n"},
		{name: "nginx and headgate on its log", nginx: true, logs: true, handsDown: true,
			config: kernelConf + handDown + "nginx_logs: ['%s/" + nginxLog + "']}\n"},
		{name: "headgate", config: proxyConf + handDown + "dry_run: false}\n", handsDown: true},
	}
}

// front is a candidate that runs.
type front struct {
	*lab
	candidate
	dir            string
	backend, nginx *process
	agent          *agent
	seen           Flooded // what attackers counted so far; of those who were handed down only the first
}

// startFront starts a candidate and its backend.
func (l *lab) startFront(c candidate) (_ *front, err error) {
	f := &front{lab: l, candidate: c}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", c.name, err), f.stop())
		}
	}()
	if f.dir, err = os.MkdirTemp(l.dir, "front-"); err != nil {
		return nil, err
	}
	if f.backend, err = l.startBackend(l.atServer()); err != nil {
		return nil, err
	}
	if c.nginx {
		if f.nginx, err = l.startNginx(f.dir, c.logs); err != nil {
			return nil, err
		}
	}
	if c.config != "" {
		f.agent, err = l.startAgent(f.dir, strings.ReplaceAll(c.config, "%s", f.dir))
	}
	return f, err
}

// startBackend starts the server that answers what passes.
func (l *lab) startBackend(at placing) (*process, error) {
	p, err := startRole(roleAnswer, l.server, at, Answer{Addr: backendAddr, Body: "done\n"})
	if err != nil {
		return nil, err
	}
	return p, l.awaitServer(p, backendAddr)
}

// pids returns the numbers of all processes and kernel threads that work for the server.
func (f *front) pids() []int {
	pids := append([]int{f.backend.cmd.Process.Pid}, f.receivers...)
	if f.nginx != nil {
		pids = append(pids, f.nginx.cmd.Process.Pid)
	}
	if f.agent != nil {
		pids = append(pids, f.agent.cmd.Process.Pid)
	}
	return pids
}

// stop ends all.
func (f *front) stop() error {
	var errs []error
	if f.agent != nil {
		errs = append(errs, f.agent.end())
	}
	for _, p := range []*process{f.nginx, f.backend} {
		if p != nil {
			errs = append(errs, p.hasEnded())
			p.kill()
		}
	}
	return errors.Join(errs...)
}

// startServer starts a program and waits until it takes connections at an address.
func (l *lab) startServer(p program, addr string) (*process, error) {
	s, err := start(p)
	if err != nil {
		return nil, err
	}
	if err := l.awaitServer(s, addr); err != nil {
		s.kill()
		return nil, err
	}
	return s, nil
}

// awaitServer waits until a server takes connections.
func (l *lab) awaitServer(p *process, addr string) error {
	return await(l.ctx, p.name+" listens on "+addr, func() (bool, error) {
		err := l.server.Do(func() error {
			c, err := net.DialTimeout("tcp4", addr, time.Second)
			if err != nil {
				return err
			}
			return c.Close()
		})
		if err != nil {
			return false, p.hasEnded()
		}
		return true, nil
	})
}

// await asks until the answer is yes.
func await(ctx context.Context, what string, yes func() (bool, error)) error {
	for end := time.Now().Add(patience); ; {
		if ok, err := yes(); ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("waited %v in vain until %s", patience, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
