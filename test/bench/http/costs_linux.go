package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate/test/bench/report"
)

// Where servers are whose costs are compared, in the server's namespace.
const (
	proxyAddr  = "127.0.0.1:8080"
	envoyAddr  = "127.0.0.1:8081"
	answerAddr = "127.0.0.1:8082"
	passAddr   = "127.0.0.1:8083"
	emptyAddr  = "127.0.0.1:8084"
)

// Paths by what becomes of a request.
const (
	passedPath  = "/pass"
	refusedPath = "/refuse"
)

const costsConf = `listen: ["` + proxyAddr + `"]
upstream: ["http://` + backendAddr + `"]
auth: {grpc: ["` + envoyAddr + `"]}
http:
  zones: {much: {key: ip, rate: 100000000r/s}, little: {key: ip, rate: 1r/h}}
  rules:
    - {match: {path: ` + passedPath + `}, limits: [{zone: much, burst: 100000, nodelay: true}]}
    - {match: {path: ` + refusedPath + `}, limits: [{zone: little}]}
`

// costCase is the same work for headgate and for a server without a limiter.
type costCase struct {
	name         string
	ours, theirs side
}

// side is a server and who asks it.
type side struct {
	server *process
	role   string
	task   any
}

// costs is what is compared.
type costs struct {
	*lab
	agent   *agent
	others  []*process
	samples []report.CostSample
	memory  []uint64 // of the agent, after each round
}

// measureCosts compares what headgate's agent costs with servers that do the same without a limiter. It returns also how much memory
// the agent has after each round, in bytes.
func (l *lab) measureCosts(p plan, progress io.Writer) (_ []report.Cost, memory []uint64, err error) {
	c := &costs{lab: l}
	defer func() { err = errors.Join(err, c.stop()) }()
	all, err := c.start(p.each)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range all {
		c.samples = append(c.samples, report.CostSample{Name: one.name})
	}
	for round := range p.asking + 1 {
		fmt.Fprintf(progress, "http: what the agent costs, %d of %d\n", round, p.asking)
		for i, one := range all {
			if err := c.measure(one, round, &c.samples[i]); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", one.name, err)
			}
		}
		bytes, err := resident(c.agent.cmd.Process.Pid)
		if err != nil {
			return nil, nil, err
		}
		c.memory = append(c.memory, bytes)
	}
	return report.Costs(c.samples), c.memory[1:], nil
}

// start starts all servers, and returns what to compare.
func (c *costs) start(each time.Duration) ([]costCase, error) {
	dir, err := os.MkdirTemp(c.dir, "costs-")
	if err != nil {
		return nil, err
	}
	backend, err := c.startBackend(c.atClients()) // so that the proxies are what takes time
	if err != nil {
		return nil, err
	}
	c.others = append(c.others, backend)
	if c.agent, err = c.startAgent(dir, costsConf); err != nil {
		return nil, err
	}
	refusal, err := c.refusal()
	if err != nil {
		return nil, err
	}
	answers, err1 := c.startOther(roleAnswer, answerAddr, refusal)
	passes, err2 := c.startOther(rolePass, passAddr, Pass{Addr: passAddr, To: backendAddr})
	empty, err3 := c.startOther(roleEmpty, emptyAddr, Empty{Addr: emptyAddr})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	cases := []costCase{
		c.asking("proxy, refused", answers, answerAddr, refusedPath, http.StatusTooManyRequests, each),
		c.asking("proxy, passed on", passes, passAddr, passedPath, http.StatusOK, each),
	}
	calls, err := c.calling(empty, each)
	return append(cases, calls...), err
}

// startOther starts a server that headgate is compared with.
func (c *costs) startOther(role, addr string, task any) (*process, error) {
	p, err := startRole(role, c.server, c.atServer(), task)
	if err != nil {
		return nil, err
	}
	c.others = append(c.others, p)
	return p, c.awaitServer(p, addr)
}

func (c *costs) stop() error {
	var errs []error
	if c.agent != nil {
		errs = append(errs, c.agent.end())
	}
	for _, p := range c.others {
		errs = append(errs, p.hasEnded())
		p.kill()
	}
	return errors.Join(errs...)
}

// atClients is where those are who ask.
func (l *lab) atClients() placing { return placing{l.clientCPU, serverNice} }

// refusal returns what headgate answers to a request that it refuses.
func (c *costs) refusal() (a Answer, err error) {
	err = c.server.Do(func() error {
		conn, err := dial(proxyAddr, refusedPath, slowest)
		if err != nil {
			return err
		}
		defer conn.Close()
		got := answer{}
		for range 2 { // the first request passes
			if got, err = conn.ask(time.Now().Add(slowest)); err != nil {
				return err
			}
		}
		if got.status != http.StatusTooManyRequests || !got.marked {
			return fmt.Errorf("headgate answers what should be refused: %q", got.text)
		}
		a = Answer{Addr: answerAddr, Status: got.status}
		fields, body := got.fields()
		a.Body = body
		for _, f := range fields {
			if f[0] != "Date" && f[0] != "Content-Length" { // net/http's own
				a.Fields = append(a.Fields, f)
			}
		}
		return nil
	})
	return a, err
}

// asking returns a case of HTTP.
func (c *costs) asking(name string, other *process, addr, path string, status int, d time.Duration) costCase {
	const conns = 32
	to := func(addr string) Ask { return Ask{addr, path, conns, status, d} }
	return costCase{name, side{c.agent.process, roleAsk, to(proxyAddr)}, side{other, roleAsk, to(addr)}}
}

// calling returns the cases of gRPC.
func (c *costs) calling(other *process, d time.Duration) ([]costCase, error) {
	const conns, streams = 4, 8
	var all []costCase
	for _, kind := range []struct{ name, path string }{{"passed", passedPath}, {"refused", refusedPath}} {
		check, limits, err := questions(kind.path)
		if err != nil {
			return nil, err
		}
		for _, method := range []struct {
			name, path string
			message    []byte
		}{
			{"ext_authz, ", authv3.Authorization_Check_FullMethodName, check},
			{"RLS, ", ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName, limits},
		} {
			to := func(addr string) Call { return Call{addr, method.path, method.message, conns, streams, d} }
			all = append(all, costCase{method.name + kind.name,
				side{c.agent.process, roleCall, to(envoyAddr)}, side{other, roleCall, to(emptyAddr)}})
		}
	}
	return all, nil
}

// measure measures both sides once, and each first in every second round. Round 0 does not count.
func (c *costs) measure(one costCase, round int, s *report.CostSample) error {
	var n [2]report.CostNumbers
	for k := range 2 {
		at := (k + round) % 2
		var err error
		if n[at], err = c.measureSide([]side{one.ours, one.theirs}[at], at == 0); err != nil {
			return err
		}
	}
	if round > 0 {
		s.Add(n[0], n[1])
	}
	return nil
}

// measureSide measures one side, and whether headgate has counted what was asked.
func (c *costs) measureSide(s side, ours bool) (n report.CostNumbers, err error) {
	before, err := c.agent.sample(c.ctx, metricRequests)
	if err != nil {
		return n, err
	}
	began, err := cpuTime(s.server.cmd.Process.Pid)
	if err != nil {
		return n, err
	}
	client, err := startRole(s.role, c.server, c.atClients(), s.task)
	if err != nil {
		return n, err
	}
	var a Asked
	if err := client.result(&a); err != nil {
		return n, err
	}
	ended, err := cpuTime(s.server.cmd.Process.Pid)
	if err != nil {
		return n, err
	}
	after, err := c.agent.sample(c.ctx, metricRequests)
	if err != nil {
		return n, err
	}
	want := 0
	if ours {
		want = a.Requests
	}
	if after-before != want {
		return n, fmt.Errorf("headgate has counted %d requests of %d", after-before, want)
	}
	return report.CostNumbers{Rate: a.rate(), CPU: (ended - began) / time.Duration(max(a.Requests, 1))}, nil
}
