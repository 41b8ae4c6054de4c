package redislab

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// Cluster is servers that share the slots.
type Cluster struct {
	Masters  []*Server
	Replicas []*Server // of the masters at the same places; which is of which may change
}

// StartCluster starts so many masters, at least 3, with a replica for each if wanted. A master that does not answer for
// half a second is replaced.
func StartCluster(tb testing.TB, masters int, replicas bool) *Cluster {
	tb.Helper()
	c := &Cluster{}
	for range masters {
		c.Masters = append(c.Masters, startMember(tb))
	}
	c.create(tb)
	if replicas {
		for _, m := range c.Masters {
			c.Replicas = append(c.Replicas, c.addReplica(tb, m))
		}
	}
	for _, s := range c.All() {
		s.await("the cluster is whole", func() bool { return s.sees(masters, len(c.All())) })
	}
	for _, r := range c.Replicas {
		r.await("it has its master's data", r.follows)
	}
	return c
}

func startMember(tb testing.TB) *Server {
	tb.Helper()
	return Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "500", "--repl-diskless-sync-delay", "0",
		"--cluster-replica-validity-factor", "0")
}

// create joins the masters and shares the slots among them.
func (c *Cluster) create(tb testing.TB) {
	tb.Helper()
	args := []string{"--cluster", "create", "--cluster-yes"}
	for _, m := range c.Masters {
		args = append(args, m.Addr)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	if out, err := command(ctx, tb, "redis-cli", args...).CombinedOutput(); err != nil {
		tb.Fatalf("redis-cli --cluster create: %v\n%s", err, out)
	}
}

// addReplica adds a replica of m.
func (c *Cluster) addReplica(tb testing.TB, m *Server) *Server {
	tb.Helper()
	r := startMember(tb)
	host, port, _ := strings.Cut(m.Addr, ":")
	r.Do("CLUSTER", "MEET", host, port)
	id := m.Do("CLUSTER", "MYID")
	r.await("it knows its master", func() bool {
		_, err := r.run("CLUSTER", "REPLICATE", id)
		return err == nil
	})
	return r
}

// sees reports whether all slots are served, as s sees it, by so many masters of so many members.
func (s *Server) sees(masters, members int) bool {
	info := s.Do("CLUSTER", "INFO")
	for _, want := range []string{
		"cluster_state:ok", "cluster_slots_ok:16384", "cluster_known_nodes:" + strconv.Itoa(members), "cluster_size:" + strconv.Itoa(masters),
	} {
		if !strings.Contains(info, want) {
			return false
		}
	}
	return true
}

// All returns all servers.
func (c *Cluster) All() []*Server { return append(append([]*Server(nil), c.Masters...), c.Replicas...) }

// Addrs returns the addresses of all.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, s := range c.All() {
		all = append(all, s.Addr)
	}
	return all
}
