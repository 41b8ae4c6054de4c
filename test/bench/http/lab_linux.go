package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/netlab"
)

// The addresses of the lab, all of which are for documentation, so that none is private.
const (
	attackerAddr = "198.51.100.2"
	attackedAddr = "198.51.100.1"
	workerAddr   = "203.0.113.2"
	workedAddr   = "203.0.113.1"
)

// The interfaces of the server.
const (
	attackedName = "hgb-a"
	workedName   = "hgb-w"
)

// lab is three machines: a server and two clients, each with a wire of its own to the server.
type lab struct {
	ctx      context.Context
	headgate string // the program
	dir      string

	server, attacker, worker *netlab.Namespace
	attack, work             *netlab.Pair // near is the client's end, far the server's

	serverCPU, clientCPU int
	receivers            []int // the kernel threads that receive for the server

	cleanups []func() error
}

// newLab makes a lab. headgate is the program, or empty for one that is built.
func newLab(ctx context.Context, headgate string) (_ *lab, err error) {
	l := &lab{ctx: ctx, headgate: headgate}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.clientCPU, l.serverCPU, err = twoCPUs(); err != nil {
		return nil, err
	}
	if l.dir, err = os.MkdirTemp("", "bench-http-"); err != nil {
		return nil, err
	}
	l.cleanup(func() error { return os.RemoveAll(l.dir) })
	if l.headgate == "" {
		if l.headgate, err = build(ctx, l.dir); err != nil {
			return nil, err
		}
	}
	for _, ns := range []**netlab.Namespace{&l.server, &l.attacker, &l.worker} {
		if *ns, err = netlab.New(); err != nil {
			return nil, err
		}
		l.cleanup((*ns).Close)
	}
	if l.attack, err = l.wire(l.attacker, attackedName, attackerAddr, attackedAddr); err != nil {
		return nil, err
	}
	l.work, err = l.wire(l.worker, workedName, workerAddr, workedAddr)
	return l, err
}

func (l *lab) cleanup(fn func() error) { l.cleanups = append(l.cleanups, fn) }

func (l *lab) close() error {
	var errs []error
	for i := len(l.cleanups) - 1; i >= 0; i-- {
		errs = append(errs, l.cleanups[i]())
	}
	return errors.Join(errs...)
}

// wire connects a client with the server.
func (l *lab) wire(client *netlab.Namespace, name, near, far string) (*netlab.Pair, error) {
	pair, err := netlab.NewPair(client, l.server, netlab.PairOptions{
		NearName: name + "c", FarName: name,
		NearAddrs: []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr(near), 24)},
		FarAddrs:  []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr(far), 24)},
	})
	if err != nil {
		return nil, err
	}
	if _, err := l.receiveAt(placing{l.clientCPU, workerNice}, pair.Near); err != nil {
		return nil, err
	}
	receiver, err := l.receiveAt(l.atServer(), pair.Far)
	l.receivers = append(l.receivers, receiver)
	return pair, err
}

// receiveAt has the kernel receive for an interface in a thread at that place, and not in softirqs on the CPU of whoever sends. It
// returns the number of the thread.
func (l *lab) receiveAt(at placing, end *netlab.End) (int, error) {
	// Only so all that TCP sends is received by NAPI, whether there is an XDP program or not.
	if err := errors.Join(end.SetGRO(true), end.SetTSO(false)); err != nil {
		return 0, err
	}
	name := "napi/" + end.Name + "-"
	before, err := kernelThreads(name)
	if err != nil {
		return 0, err
	}
	if err := l.setReceiving(end); err != nil {
		return 0, err
	}
	threads, err := kernelThreads(name)
	if err != nil {
		return 0, err
	}
	maps.DeleteFunc(threads, func(pid int, _ bool) bool { return before[pid] }) // of other namespaces
	if len(threads) != 1 {
		return 0, fmt.Errorf("%s has %d threads that receive, want 1; this needs Linux 5.15 or later", end.Name, len(threads))
	}
	for pid := range threads {
		return pid, at.put(pid)
	}
	return 0, nil
}

// coalescing is how long packets gather before the receiving thread is woken, as network cards do with interrupts.
const coalescing = 50 * time.Microsecond

// setReceiving sets how the kernel receives for an interface.
func (l *lab) setReceiving(end *netlab.End) (err error) {
	dir, err := os.MkdirTemp(l.dir, "sys-")
	if err != nil {
		return err
	}
	// A file system of interfaces shows those of the namespace that mounts it.
	err = end.Namespace.Do(func() error {
		return unix.Mount("sysfs", dir, "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	})
	if err != nil {
		return fmt.Errorf("mount sysfs: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Unmount(dir, 0)) }()
	set := func(name string, value int64) error {
		return os.WriteFile(filepath.Join(dir, "class/net", end.Name, name), fmt.Append(nil, value), 0)
	}
	return errors.Join(set("threaded", 1), set("napi_defer_hard_irqs", 1), set("gro_flush_timeout", coalescing.Nanoseconds()))
}

// The nice values of all that is measured: above all else on the machine, and a client that works above one that attacks,
// whose machine is not its own.
const (
	serverNice   = -15
	workerNice   = -20
	attackerNice = -10
)

// atServer is where servers run.
func (l *lab) atServer() placing { return placing{l.serverCPU, serverNice} }

// atWorker is where the client runs that works.
func (l *lab) atWorker() placing { return placing{l.clientCPU, workerNice} }

// atAttacker is where the attacker runs.
func (l *lab) atAttacker() placing { return placing{l.clientCPU, attackerNice} }
