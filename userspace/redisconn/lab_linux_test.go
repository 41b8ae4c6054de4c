package redisconn

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/test/leak"
	"github.com/headgate/headgate/userspace/config"
)

// patienceOfTests is how long what takes a moment may take on a machine that does much else.
const patienceOfTests = 30 * time.Second

// counter is a script that counts its calls by key.
var counter = NewScript(`return tostring(redis.call('INCR', KEYS[1]))`)

// TestMain fails if a goroutine or a connection is left when all tests have ended.
func TestMain(m *testing.M) {
	Quiet()
	files, goroutines := leak.Now(), runtime.NumGoroutine()
	code := m.Run()
	for end := time.Now().Add(patienceOfTests); code == 0 && (files.More() != nil || runtime.NumGoroutine() > goroutines); {
		if time.Sleep(10 * time.Millisecond); time.Now().After(end) {
			stacks := make([]byte, 1<<16)
			fmt.Printf("files: %v; goroutines: %s\n", files.More(), stacks[:runtime.Stack(stacks, true)])
			code = 1
		}
	}
	os.Exit(code)
}

// callers are goroutines that make calls all the time, each with keys of its own.
type callers struct {
	*Conn
	t     *testing.T
	well  atomic.Int64 // calls that were answered
	stop  chan struct{}
	group sync.WaitGroup
}

// call opens a Conn and has eight callers use it.
func call(t *testing.T, c config.Redis) *callers {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = 100 * time.Millisecond
	}
	c.Prefix = "p:"
	conn, err := Open(Options{Config: c, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	k := &callers{Conn: conn, t: t, stop: make(chan struct{})}
	for i := range 8 {
		k.group.Go(func() { k.keepCalling(i) })
	}
	t.Cleanup(k.end)
	k.await(Up)
	return k
}

func (k *callers) keepCalling(caller int) {
	for n := 0; ; n++ {
		select {
		case <-k.stop:
			return
		case <-time.After(time.Millisecond):
		}
		begin := time.Now()
		key := strconv.Itoa(caller) + " " + strconv.Itoa(n%64)
		reply, err := k.Do(Call{Script: counter, Keys: []string{key}}, 0)
		if took := time.Since(begin); took > 5*time.Second {
			k.t.Errorf("a call took %v", took)
		}
		if err != nil {
			continue
		}
		if _, err := strconv.Atoi(reply); err != nil {
			k.t.Errorf("a call was answered %q", reply)
		}
		k.well.Add(1)
	}
}

// await waits until calls are answered and the servers are Up, or until they are not if want is another.
func (k *callers) await(want Health) {
	k.t.Helper()
	eventually(k.t, string(want), func() bool {
		state, well := k.State(), k.well.Load()
		if want != Up {
			return state.Health != Up
		}
		eventually(k.t, "a call is answered", func() bool { return k.well.Load() > well })
		return state.Health == Up && k.State().Health == Up
	})
}

// awaitError waits until the last error has a text in it.
func (k *callers) awaitError(text string) {
	k.t.Helper()
	eventually(k.t, "error "+text+" instead of "+k.State().Error, func() bool { return strings.Contains(k.State().Error, text) })
}

// end closes the Conn.
func (k *callers) end() {
	close(k.stop)
	if err := k.Close(); err != nil {
		k.t.Error(err)
	}
	k.group.Wait()
	if _, err := k.Do(Call{Script: counter, Keys: []string{"a"}}, 0); !errors.Is(err, ErrClosed) {
		k.t.Error(err)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patienceOfTests); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("not so within %v: %s\n%s", patienceOfTests, what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
