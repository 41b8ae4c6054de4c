// Command scale measures how the cost of a packet grows with the number of sources, and how many packets several CPUs decide
// at once, beside one. It needs root and two CPUs, and attaches to nothing.
//
//	go run ./scale [-quick] [-o table|json] [-svg FILE]
//
// Programs run on one frame many times over, as in ./packets, and all take turns in each round. CPUs work from the same
// moment on, each in a thread of its own. Their time is the CPU time of the threads: what others run meanwhile does not
// count, but waiting for a cache line does. The time that a line takes from one CPU to another is measured too.
package main
