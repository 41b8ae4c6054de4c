// Command http measures what headgate's agent does for a server under attack, and what it costs one that is not. It needs
// root and two CPUs, works in network namespaces of its own, and leaves nothing behind.
//
//	go run ./http [-quick] [-o table|json] [-svg FILE] [-only floods|costs] [-headgate PROGRAM]
//
// # Goodput under attack
//
// A backend of net/http stands behind nginx with limit_req, or behind headgate's proxy. A client works modestly: 8
// connections, each of which asks again 10 ms after an answer. Another floods a limited path. It attempts 40,000 times a second
// to have a request answered, in beats of a millisecond, over up to 256 connections. An attempt is a request on a connection that waits
// for no answer. If all wait, the attacker has to wait too, which is no attempt. A connection whose answer does not come in a second is
// given up; who has none left attempts to open one, which is one SYN, given up after 100 ms. So an attempt that is
// dropped keeps the attacker less than one that is refused.
//
// Then the attacker floods alone, and CPU time is measured: first on connections that he keeps, which is what costs a
// server least, and then on a new connection for each attempt. Once he is handed down both are the same, a SYN that is dropped.
//
// Servers have one CPU and clients the other, as if they were two machines. Interfaces receive in kernel threads (threaded NAPI),
// those of the servers' ends on the servers' CPU, which are woken after 50 µs at the earliest, as network cards wake a CPU. CPU time is
// read from the clocks of the processes and of these threads. They count user and system time and the softirqs in both
// to the nanosecond, whatever else runs on the machine. It is that of nginx, headgate, the backend and the kernel's receiving threads
// together, divided by the attempts that reached the server.
//
// A virtual interface copies a packet that a socket owns before an XDP program sees it, frees it for the sender, and wakes a
// thread for it, which no network card does. What that takes is measured with a program of two instructions that only
// drops. And an offender who is handed down also sends frames as the driver of a network card has them, which no socket owns: SYNs,
// and segments of connections that he had with a request in each, as fast as the server takes them. From a network card that
// is what is dropped. Nothing is taken off nginx's figure, of which some 2 µs for each packet are the virtual interface's.
//
// nginx is one process that logs to a file what it refuses, as it does by default, and also one that logs nothing. No access
// log is written by anybody.
//
// # What the agent costs
//
// headgate refuses and passes on beside servers that do the same without a limiter: a handler of net/http that
// answers the same 429, httputil.ReverseProxy with the same transport, and a gRPC server with empty handlers. Each
// is asked over loopback as fast as it answers, in turns. Servers have one CPU, and the clients and the backend the other.
// headgate lets its heap grow as it does in use (docs/agent.md, "Memory"); the others leave that to Go.
//
// # What is checked
//
// Each answer is what it should be, and what clients count is what the servers count: lines of nginx's log, refusals in
// the agent's metrics, packets dropped by the kernel. Anything else is an error and ends the benchmark.
package main
