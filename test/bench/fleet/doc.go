// Command fleet measures limits that several machines share through Redis: decisions a second, how long they take, and what
// becomes of those who wait when Redis breaks. It needs no root, a redis-server that is installed or that apt-get can
// download, and for all of it two minutes.
//
//	go run ./fleet [-quick] [-o table|json] [-svg FILE]
//
// There is one redis-server on loopback, which shares the CPUs with its clients. Each client decides by one limit, on
// keys that many callers use at the same time, each of whom asks again when it was answered. The clients take turns in each
// round, one at a time, so that what disturbs the machine disturbs all alike; figures are medians of the rounds, and ratios
// medians of the rounds' own. What are called trips are reads that the server did, by its own count (total_reads_processed).
//
// "headgate, no-op" is the same client with a script that does nothing. Its time-out is a second here, so that on
// a machine that does much else all calls are answered, as those of the others are.
//
// For the faults the time-out is what it is by default. 64 callers ask all the time, a thousandth of a second after each
// answer; the longest wait of any is what counts. Beside it stands what a timer of the same length took at the longest: what
// that is late, the machine was.
package main
