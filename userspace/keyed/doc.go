// Package keyed keeps the states of an algorithm by key: bounded, in shards, without allocation
// once a key is known.
package keyed
