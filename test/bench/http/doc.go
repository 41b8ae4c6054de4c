// Command http measures what headgate's agent does for a server under attack, and what it costs one that is not. It needs
// root and two CPUs, works in network namespaces of its own, and leaves nothing behind.
//
//	go run ./http [-quick] [-o table|json] [-svg FILE] [-headgate PROGRAM]
//
// # Goodput under attack
//
// A backend of net/http stands behind nginx with limit_req, or behind headgate's proxy. A client works modestly: 8
// connections, each of which asks again 10 ms after an answer. Another floods a limited path: at 40,000 moments a second, in
// bursts of a millisecond, it attempts to have a request answered, over up to 256 connections. An attempt is a request on
// a connection that waits for none. If all wait, the attempt is held back and does not count. A connection whose answer does not
// come in 250 ms is given up; who has none left attempts to open one, which is one SYN, given up after
// 100 ms. So an attempt that is dropped costs the attacker less than one that is refused, and he can go on as fast as before.
//
// Servers have one CPU, clients the other, as if they were two machines: veth interfaces receive in kernel threads
// (threaded NAPI), those of the servers' ends on the servers' CPU. CPU time is read from the clocks of the processes and of
// these threads, which count user and system time and the softirqs in both to the nanosecond, whatever else runs on the machine.
// It is that of nginx, headgate and the backend together, over a whole flood without the other client.
//
// nginx is one process that logs to a file what it refuses, as it does by default, and also one that logs nothing. No access
// log is written by anybody. Connections are kept on all sides.
//
// At the end an offender who is handed down sends segments of connections that he had, each with a request in it, as fast
// as he can.
//
// # What the agent costs
//
// headgate refuses and passes on beside servers that do the same without a limiter: a handler of net/http that
// answers the same 429, httputil.ReverseProxy with the same transport, and a gRPC server with empty handlers. Each
// is asked over loopback as fast as it answers, in turns. Servers have one CPU, and the clients and the backend the other.
//
// # What is checked
//
// Each answer is what it should be, and what clients count is what the servers count: lines of nginx's log, refusals in
// the agent's metrics, packets dropped by the kernel. Anything else is an error and ends the benchmark.
package main
