package redislab

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/port"
)

// Group is a master and its replica, and a sentinel that makes the replica the master when that does not answer for half a
// second.
type Group struct {
	Name                      string // by which the sentinel knows the master
	Master, Replica, Sentinel *Server
}

// StartGroup starts one.
func StartGroup(tb testing.TB) *Group {
	tb.Helper()
	g := &Group{Name: "limits", Master: Start(tb, "--repl-diskless-sync-delay", "0")}
	host, port, _ := net.SplitHostPort(g.Master.Addr)
	g.Replica = Start(tb, "--repl-diskless-sync-delay", "0", "--replicaof", host+" "+port)
	g.Replica.await("it has its master's data", g.Replica.follows)
	g.Sentinel = g.startSentinel(tb, host, port)
	g.Sentinel.await("it knows both", func() bool {
		return strings.Contains(g.Sentinel.Do("SENTINEL", "MASTER", g.Name), "num-slaves\n1\n")
	})
	return g
}

// startSentinel starts a server that keeps what it knows in its configuration file, as all sentinels do.
func (g *Group) startSentinel(tb testing.TB, host, at string) *Server {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 1\nsentinel down-after-milliseconds %[1]s 500\n"+
		"sentinel failover-timeout %[1]s 2000\n", g.Name, host, at)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s := prepare(tb, port.Reserve(tb))
	s.first = []string{file, "--sentinel"}
	s.begin()
	return s
}

// follows reports whether s is a replica that has what its master has.
func (s *Server) follows() bool {
	return strings.Contains(s.Do("INFO", "replication"), "master_link_status:up")
}
