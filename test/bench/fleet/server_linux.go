package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/test/thread"
)

// patience is how long a server may take to start.
const patience = 30 * time.Second

// server is a redis-server process.
type server struct {
	addr    string
	dir     string
	process *exec.Cmd
	admin   *redis.Client
}

// startServer starts a server that is to save its data some day.
func startServer(ctx context.Context) (*server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "headgate-fleet-")
	if err != nil {
		return nil, err
	}
	s := &server{addr: net.JoinHostPort("127.0.0.1", port), dir: dir}
	s.admin = redis.NewClient(&redis.Options{Addr: s.addr, DialerRetries: 1})
	if err := s.begin(ctx); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// freePort returns a port that nobody listens on.
func freePort(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// begin starts the process, and waits until it answers.
func (s *server) begin(ctx context.Context) error {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	s.process, err = redislab.Command(context.WithoutCancel(ctx), "redis-server", "--bind", "127.0.0.1", "--port", port,
		"--dir", s.dir, "--save", "3600 1", "--appendonly", "no", "--daemonize", "no")
	if err != nil {
		return err
	}
	s.process.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := thread.Start(s.process, nil); err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := s.admin.Ping(ctx).Err()
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

// kill kills the process as kill -9 does.
func (s *server) kill() {
	if s.process != nil && s.process.Process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait() // says that it was killed
	}
	s.process = nil
}

func (s *server) end() {
	s.admin.Close()
	s.kill()
	_ = os.RemoveAll(s.dir)
}

func (s *server) signal(sig unix.Signal) error { return s.process.Process.Signal(sig) }

// noDisk puts a directory where the server writes its file, which is more than even root can write over.
func (s *server) noDisk(ctx context.Context) error {
	if err := os.Mkdir(filepath.Join(s.dir, "dump.rdb"), 0o700); err != nil {
		return err
	}
	if err := s.admin.BgSave(ctx).Err(); err != nil {
		return err
	}
	for {
		info, err := s.admin.Info(ctx, "persistence").Result()
		if err != nil || strings.Contains(info, "rdb_last_bgsave_status:err") {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// disk ends noDisk.
func (s *server) disk(ctx context.Context) error {
	if err := os.Remove(filepath.Join(s.dir, "dump.rdb")); err != nil {
		return err
	}
	return s.admin.Save(ctx).Err()
}

// usage is what a server has done since it began.
type usage struct {
	reads float64
	cpu   time.Duration
}

func (s *server) usage(ctx context.Context) (usage, error) {
	info, err := s.admin.Info(ctx).Result()
	if err != nil {
		return usage{}, err
	}
	figures := map[string]float64{}
	for line := range strings.Lines(info) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			figures[name] = n
		}
	}
	for _, name := range []string{"total_reads_processed", "used_cpu_user", "used_cpu_sys"} {
		if _, is := figures[name]; !is {
			return usage{}, fmt.Errorf("INFO has no %s; it takes Redis 6 or later", name)
		}
	}
	cpu := figures["used_cpu_user"] + figures["used_cpu_sys"]
	return usage{figures["total_reads_processed"], time.Duration(cpu * float64(time.Second))}, nil
}
