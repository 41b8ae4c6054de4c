package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Software is what packages to download together.
type Software struct {
	Name     string   // its directory in the cache
	Packages []string // those asked for
	// Parts is what the names of those begin with that are downloaded too if one of Packages, or another part, depends on
	// them, besides libraries; Without are none.
	Parts, Without []string
}

// Program is a program and where its libraries are, if not where the system's are.
type Program struct {
	Path      string
	Libraries []string
}

// Command returns a command that runs the program, in no other environment than it needs.
func (p Program) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.Env = []string{"LC_ALL=C"}
	if len(p.Libraries) > 0 {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+strings.Join(p.Libraries, ":"))
	}
	return cmd
}

// Get returns a program that the software has at a path such as /usr/bin/redis-server, from the cache directory. What was
// downloaded once stays there.
func (s Software) Get(ctx context.Context, cache, path string) (_ Program, err error) {
	dir := filepath.Join(cache, "headgate", s.Name)
	if p, err := unpacked(dir, path); err == nil {
		return p, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return Program{}, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "download-")
	if err != nil {
		return Program{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := s.download(ctx, temp); err != nil {
		return Program{}, err
	}
	// Another process may have been quicker. Then its copy is there, and as good.
	renameErr := os.Rename(filepath.Join(temp, "root"), dir)
	p, err := unpacked(dir, path)
	if err != nil && renameErr != nil {
		return Program{}, renameErr
	}
	return p, err
}

// unpacked returns the program in a directory that packages were unpacked to.
func unpacked(dir, path string) (Program, error) {
	p := Program{Path: filepath.Join(dir, path)}
	if _, err := os.Stat(p.Path); err != nil {
		return Program{}, fmt.Errorf("the packages have no %s: %w", path, err)
	}
	for _, pattern := range []string{"lib/*-linux-gnu", "usr/lib/*-linux-gnu"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return Program{}, err
		}
		p.Libraries = append(p.Libraries, found...)
	}
	return p, nil
}
