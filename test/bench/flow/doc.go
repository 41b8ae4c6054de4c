// Package flow sends frames from one network namespace to another as fast as they are taken, over a veth pair that
// it makes for that.
//
// Frames are made by a program of the benchmark, in the kernel's live-frames mode: what arrives is what a driver of a
// network card with native XDP hands over, without a socket or a copy on its way. Sender and receiver take turns on
// one CPU, so that the time of a packet is that of both.
package flow
