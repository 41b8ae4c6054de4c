// Package port gives tests ports of their own, for servers that are told where to listen.
package port

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Reserved are from lowest on, so many. No connection has one of them, nor one that is Above higher: Linux gives to connections
// those from 32768 on (ip_local_port_range).
const (
	lowest = 12000
	many   = 10000
)

// Above is how much higher a second port is that is free too where a reserved one is. A cluster's bus has it.
const Above = 10000

// Reserve returns a port of 127.0.0.1 that is free, and is kept from other tests until the end of this one, those in other
// processes included: also while nobody listens there.
func Reserve(tb testing.TB) int {
	tb.Helper()
	for range 100 {
		port := lowest + rand.IntN(many)
		// The port of UDP stands for that of TCP: who binds it has it alone, and it goes with the process.
		reserved, err := new(net.ListenConfig).ListenPacket(context.Background(), "udp", at(port))
		if err != nil {
			continue
		}
		tb.Cleanup(func() { reserved.Close() })
		if isFree(port) && isFree(port+Above) {
			return port
		}
	}
	tb.Fatal("no free port found")
	return 0
}

// isFree reports whether nobody listens on a port.
func isFree(port int) bool {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", at(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func at(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
