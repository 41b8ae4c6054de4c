// Package redislab starts real Redis servers on loopback for tests: alone or as a cluster, with ports of their own. What
// becomes of them is up to the test: they can be killed, stopped, begun again, and reached through a slow connection.
package redislab
