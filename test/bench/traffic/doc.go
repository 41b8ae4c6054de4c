// Package traffic makes the keys that limiters are measured with: how many different ones, and
// how often each. All of it is the same in each run.
package traffic
