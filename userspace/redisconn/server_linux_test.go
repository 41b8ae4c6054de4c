package redisconn

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
)

// TestRecovers has a real server become unwell in every way there is, while calls are made, and be well again. Each time it is
// left alone, the error tells why, and calls are answered again without anybody doing anything.
func TestRecovers(t *testing.T) {
	for _, one := range []struct {
		name       string
		begin      func(t *testing.T) *redislab.Server
		harm, mend func(s *redislab.Server)
		error      string // of State.Error
	}{
		{name: "kill -9, and all data lost", harm: (*redislab.Server).Kill, mend: (*redislab.Server).Restart, error: "refused"},
		{name: "SIGSTOP", harm: (*redislab.Server).Stop, mend: (*redislab.Server).Continue, error: "in time"},
		{
			name: "MISCONF", begin: saving, error: "MISCONF",
			harm: func(s *redislab.Server) { block(t, s); failSave(t, s) },
			mend: func(s *redislab.Server) { unblock(t, s); s.Do("SAVE") },
		},
		{
			name: "OOM", error: "OOM",
			harm: func(s *redislab.Server) { s.Do("CONFIG", "SET", "maxmemory", "1") },
			mend: func(s *redislab.Server) { s.Do("CONFIG", "SET", "maxmemory", "0") },
		},
		{
			name: "made a replica", error: "READONLY",
			harm: func(s *redislab.Server) { s.Do("REPLICAOF", "127.0.0.1", "1") },
			mend: func(s *redislab.Server) { s.Do("REPLICAOF", "NO", "ONE") },
		},
		{
			name: "may not write", error: "script", // which has the word in all versions
			harm: func(s *redislab.Server) { s.Do("ACL", "SETUSER", "default", "-@write") },
			mend: func(s *redislab.Server) { s.Do("ACL", "SETUSER", "default", "+@write") },
		},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			begin := one.begin
			if begin == nil {
				begin = func(t *testing.T) *redislab.Server { return redislab.Start(t) }
			}
			s := begin(t)
			k := call(t, config.Redis{Addrs: []string{s.Addr}})
			one.harm(s)
			k.await(Down)
			k.awaitError(one.error)
			one.mend(s)
			k.await(Up)
			if s := k.State(); s.Opened == 0 || s.Probes == 0 || s.LeftAlone == 0 || s.Error != "" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// saving starts a server that is to save its data, and so minds if it cannot.
func saving(t *testing.T) *redislab.Server {
	return redislab.Start(t, "--dir", t.TempDir(), "--save", "3600 1")
}

// block puts a directory where the server writes its file: not even root can.
func block(t *testing.T, s *redislab.Server) {
	if err := os.Mkdir(dump(s), 0o700); err != nil {
		t.Fatal(err)
	}
}

func unblock(t *testing.T, s *redislab.Server) {
	if err := os.Remove(dump(s)); err != nil {
		t.Fatal(err)
	}
}

func dump(s *redislab.Server) string {
	return filepath.Join(strings.TrimPrefix(s.Do("CONFIG", "GET", "dir"), "dir\n"), "dump.rdb")
}

func failSave(t *testing.T, s *redislab.Server) {
	s.Do("BGSAVE")
	eventually(t, "a save fails", func() bool { return strings.Contains(s.Do("INFO", "persistence"), "rdb_last_bgsave_status:err") })
}

// TestRecoversOnTheWay has the connection be slow, talk nonsense, and break.
func TestRecoversOnTheWay(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	p := redislab.NewProxy(t, s.Addr)
	k := call(t, config.Redis{Addrs: []string{p.Addr}})
	p.Delay(200 * time.Millisecond)
	k.await(Down)
	p.Delay(0)
	k.await(Up)
	p.Garble(true)
	k.await(Down)
	p.Garble(false)
	k.await(Up)
	for range 5 {
		p.Cut()
		k.await(Up)
	}
}

// TestCase59Restart has a server forget its scripts while it stays up: calls go on.
func TestCase59Restart(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	k := call(t, config.Redis{Addrs: []string{s.Addr}, Timeout: 5 * time.Second})
	for range 3 {
		s.Do("SCRIPT", "FLUSH")
		k.await(Up)
	}
	if got := k.State(); got.Errors != 0 || got.Opened != 0 {
		t.Errorf("%+v", got)
	}
	if n := s.Count("EVAL"); n < 3 || n > 200 {
		t.Errorf("%d calls sent with the script", n)
	}
}

// TestPasswordChanges has the password be wrong, and then another one be written to the file.
func TestPasswordChanges(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	file := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	s.Do("ACL", "SETUSER", "gate", "on", ">old", "~*", "&*", "+@all")
	k := call(t, config.Redis{Addrs: []string{s.Addr}, Username: "gate", PasswordFile: file})
	s.Do("ACL", "SETUSER", "gate", "resetpass", ">new")
	s.Do("CLIENT", "KILL", "USER", "gate")
	k.await(Down)
	k.awaitError("WRONGPASS")
	write("new")
	k.await(Up)
}

// TestNobodyAnswers has a server that takes connections and says nothing from the beginning, as half-open ones do.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	s.Stop()
	c, err := Open(Options{Config: config.Redis{Addrs: []string{s.Addr}}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is left alone", func() bool {
		_, err := c.Do(Call{Script: counter, Keys: []string{"a"}}, 0)
		return errors.Is(err, ErrOpen)
	})
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	s.Continue()
}

// TestSharedRuns has many ask at once by a script that does it for many: the server runs it less often than it is called, also
// after it has forgotten it, and each gets what is its own.
func TestSharedRuns(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	c, err := Open(Options{Config: config.Redis{Addrs: []string{s.Addr}, Timeout: 10 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	echo := NewScript(`return redis.call('ECHO', KEYS[1] .. ARGV[1])`).
		WithEach(`local all = {} for i = 1, #KEYS do all[i] = redis.call('ECHO', KEYS[i] .. ARGV[i]) end return all`)
	const callers, each = 64, 50
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for k := range each {
				if i == 0 && k%20 == 0 {
					s.Do("SCRIPT", "FLUSH")
				}
				key, arg := strconv.Itoa(i), strconv.Itoa(k)
				if got, err := c.Do(Call{echo, []string{key}, []string{arg}}, 0); err != nil || got != key+arg {
					t.Errorf("%s %s: %q, %v", key, arg, got, err)
				}
			}
		})
	}
	all.Wait()
	if got := s.Count("ECHO"); got != callers*each {
		t.Errorf("done %d times, want %d", got, callers*each)
	}
	if runs := s.Count("EVALSHA") + s.Count("EVAL"); runs > callers*each/2 {
		t.Errorf("%d runs for %d calls", runs, callers*each)
	}
}
