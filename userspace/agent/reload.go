package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/systemd"
	"github.com/headgate/headgate/userspace/watch"
)

// Reload reads the configuration again. All of the new file is in force when it returns, or nothing has changed and the
// error says why.
func (a *Agent) Reload() error {
	a.changing.Lock()
	defer a.changing.Unlock()
	return a.reload()
}

// reloadChanged is Reload for files that somebody has written, unless they were read since.
func (a *Agent) reloadChanged(files func() []string) {
	a.changing.Lock()
	defer a.changing.Unlock()
	if watch.Of(files()) == a.state.tried {
		return
	}
	a.log.Info("the configuration has changed", "file", a.options.Path)
	_ = a.reload() // it has told
}

// reload reads the configuration again, and tells how that went.
func (a *Agent) reload() error {
	if a.state.file == nil || a.state.ctx.Err() != nil {
		return errors.New("the agent is starting or ending")
	}
	systemd.Reloading()
	seen := watch.Of(sources(a.options.Path, a.state.file))
	r, err := a.read()
	if err == nil {
		err = a.apply(r)
	}
	if err != nil {
		a.refused(err, seen)
		a.log.Error("the configuration was not reloaded; what was in force stays", "error", err)
		a.bus.Publish(event.Event{Time: time.Now(), Kind: event.Reloaded, Reason: "refused: " + err.Error()})
	}
	systemd.Ready("limiting by " + a.options.Path)
	return err
}

// read is a configuration as it was read.
type read struct {
	file *config.File
	// sum is of all files that it consists of, and sha256 that of its own.
	sum    watch.Sum
	sha256 string
}

// readings is how often a file is read that is written meanwhile.
const readings = 10

// read reads the file.
func (a *Agent) read() (*read, error) {
	path, err := filepath.Abs(a.options.Path)
	if err != nil {
		return nil, err
	}
	for range readings {
		before := watch.Of([]string{path})
		r, err := parse(a.options.Path)
		if err != nil {
			return nil, err
		}
		r.file.MakeAbsolute(filepath.Dir(path))
		r.sum = watch.Of(sources(a.options.Path, r.file))
		if watch.Of([]string{path}) == before {
			return r, nil
		} // else it was written while it was read
	}
	return nil, fmt.Errorf("%s was written each time that it was read; write it in one step, as by renaming another file", path)
}

// parse reads a file. One that is empty was most likely cut off by whoever is about to write it.
func parse(path string) (*read, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err // it says which file
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file, and the agent reads it again when it changes; name one", path)
	case info.Size() == 0:
		return nil, fmt.Errorf("%s is empty; if nothing is to be limited, stop the agent", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	file, err := config.Read(path, io.TeeReader(f, sum))
	if err != nil {
		return nil, err
	}
	return &read{file: file, sha256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// refused notes that the files as they were seen were not taken.
func (a *Agent) refused(err error, seen watch.Sum) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.tried = seen
	r := &a.state.read
	r.failures++
	r.err, r.failedAt = err, time.Now()
}

// loaded tells that a file is in force, and what is doubtful in it.
func (a *Agent) loaded(r *read) {
	for _, w := range r.file.Warnings {
		a.log.Warn("the configuration is doubtful", "warning", w.Error())
	}
	a.log.Info("the configuration is in force", "file", a.options.Path, "sha256", r.sha256)
	a.bus.Publish(event.Event{Time: time.Now(), Kind: event.Reloaded, Name: a.options.Path})
}
