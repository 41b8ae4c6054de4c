package redislab_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
)

func TestServer(t *testing.T) {
	s := redislab.Start(t)
	s.Do("SET", "a", "1")
	if got := s.Do("GET", "a"); got != "1" {
		t.Errorf("%q", got)
	}
	if got := s.Count("SET"); got != 1 {
		t.Errorf("%d SET", got)
	}
	s.Stop()
	s.Continue()
	s.Restart()
	if got := s.Do("EXISTS", "a"); got != "0" {
		t.Errorf("data after a restart: %q", got)
	}
}

func TestCluster(t *testing.T) {
	c := redislab.StartCluster(t, 3, true)
	if got := len(c.Addrs()); got != 6 {
		t.Errorf("%d servers", got)
	}
}

// TestGroup kills the master: the sentinel names the other.
func TestGroup(t *testing.T) {
	g := redislab.StartGroup(t)
	g.Master.Kill()
	_, port, _ := net.SplitHostPort(g.Replica.Addr)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := g.Sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", g.Name)
		if strings.HasSuffix(got, port) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the master is %s", got)
		}
	}
}
