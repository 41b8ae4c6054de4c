// Command packets measures what headgate costs: ns per packet by running its program on one frame
// many times over, and packets a second over a veth pair. It needs root, works in network
// namespaces of its own, and leaves nothing behind.
//
//	go run ./packets [-quick] [-o table|json] [-svg FILE]
//
// All programs take turns in each round, so that what disturbs the machine disturbs all alike,
// and the minimum over the rounds is what a program costs undisturbed. Time is the CPU time of
// the thread: what others run meanwhile does not count, and it is finer than the whole ns that
// the kernel reports. What it takes to start a run is measured too, and taken off.
//
// Where packets come from many sources, another program gives each one its source inside the
// kernel and calls headgate with a tail call. What that costs is measured with noop behind it,
// and taken off in the net figures.
package main
