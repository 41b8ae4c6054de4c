package redislab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Servers take ports from lowestPort on, ports of them. So no connection has theirs, nor that of the cluster's bus, which is
// busAbove higher: Linux gives to connections those from 32768 on (ip_local_port_range).
const (
	lowestPort = 12000
	ports      = 10000
	busAbove   = 10000
)

// reservePort returns a port that is free, and is kept from other servers until the end of the test: also while this one does
// not run, and from the servers of tests in other processes. Those would take each other's commands.
func reservePort(tb testing.TB) int {
	tb.Helper()
	for range 100 {
		port := lowestPort + rand.IntN(ports)
		// A name that is not of a file: who binds it has it alone, in all of the network namespace, and it goes with the process.
		reserved, err := listen("unix", fmt.Sprintf("@headgate-redislab-%d", port))
		if err != nil {
			continue
		}
		tb.Cleanup(func() { reserved.Close() })
		if isFree(port) && isFree(port+busAbove) {
			return port
		}
	}
	tb.Fatal("no free port found")
	return 0
}

// isFree reports whether nobody listens on a port.
func isFree(port int) bool {
	l, err := listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func listen(network, address string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), network, address)
}
