// Package agent is the process that runs both limiters: it reads one configuration file, has the
// kernel's limiter do what it says, serves the fronts for HTTP, hands offenders down to the kernel, moves
// rates by the health of the backend, and tells what happens.
//
// All fronts decide through one ruleset.Live. The kernel's limiter is behind the interface Kernel, and outlives the agent:
// when the agent ends, is killed or is upgraded, packets are limited as before.
//
// # Reading the file again
//
// A reload takes the whole new file or nothing of it. First all that can fail is prepared beside what
// runs: the file is read, sockets are opened, certificates are loaded. Then the kernel's limiter takes its
// section, or refuses, with which the reload ends. The rest cannot fail. Connections, buckets
// and counters survive; a socket that both files name stays open.
package agent
