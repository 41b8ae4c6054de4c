// Command requests measures what limits by key cost: ns, allocations and bytes of memory, of
// headgate's limiters beside others that Go programs use. It needs no root, some 8 GB of memory,
// and for all of it several minutes.
//
//	go run ./requests [-quick] [-o table|json] [-svg FILE] [-only REGEXP]
//
// Each limiter has a process of its own, so that none pays for collecting the garbage of another, and
// its memory is its heap. The processes take turns in each round, one at a time, so that what
// disturbs the machine disturbs all alike; the minimum over the rounds is what a limiter costs
// undisturbed. ns are per request: on 1 CPU of CPU time, on 2 of time that passes, which is
// half of what 1 needs if they do not hinder each other. Garbage of known keys is collected
// between samples and counts for nobody, which flatters those that make some; that of new keys
// counts.
//
// A row has a number of keys, all of which each limiter knows before ("new key": all of which
// it does not know). uniform uses each as often as the others; zipf by Zipf's law with exponent 1.1. How
// many different keys there really were is counted in the keys themselves, and for limiters that
// know it, in the limiter. All requests of a row must be allowed, or all refused: anything else is
// an error and ends the benchmark.
//
// Bytes a key is the growth of the live heap by keys that are each in an allocation of
// their own, less the bytes of the keys. At the end each limiter gets a flood of requests that
// all come with another key, a fifth as many if nothing bounds its memory, and the table has
// its heap before any, after a tenth, and after all of them.
package main
