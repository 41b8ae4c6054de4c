package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
)

// Who listens is told once that Redis is away, and why, and once that it is back, and after how long; not what is in between.
func TestStoreIsTold(t *testing.T) {
	a := &Agent{}
	l := a.bus.Listen()
	tell, began := a.storeTeller(), time.Now()
	for n, s := range []redisconn.State{
		{Health: redisconn.Down, Error: "no answer"},
		{Health: redisconn.Probing, Error: "no answer"},
		{Health: redisconn.Down, Error: "connection refused"},
		{Health: redisconn.Probing},
		{Health: redisconn.Up},
		{Health: redisconn.Partly, Error: "no answer"},
		{Health: redisconn.Probing},
		{Health: redisconn.Up},
		{Health: redisconn.Probing}, // by a server that is asked first
		{Health: redisconn.Up},
	} {
		s.Since = began.Add(time.Duration(n) * 3001 * time.Millisecond)
		tell(s)
	}
	l.Close()
	var got []string
	for e := range l.Events() {
		got = append(got, fmt.Sprintf("%s %q %s", e.Kind, e.Name, e.Reason))
	}
	want := []string{
		`storedown "" no answer`, `storeup "" it answers again after 12s`,
		`storedown "" part of the cluster: no answer`, `storeup "" it answers again after 6s`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
