package redislab_test

import (
	"testing"

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
