package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cilium/ebpf/link"
)

// The agent detaches again from what its file does not name any more, and leaves alone what others
// have attached. What it attached is marked by a directory that is named after the link: the kernel's
// number of a link stays, whatever becomes of the interface's name, number and network namespace.

func (i *Instance) markPath(id link.ID) string {
	return filepath.Join(i.dir, agentDir, strconv.FormatUint(uint64(id), 10))
}

// mark marks a link as the agent's, before it is pinned: what is cut short leaves a mark of nothing.
func (i *Instance) mark(l link.Link) error {
	info, err := l.Info()
	if err != nil {
		return fmt.Errorf("ask about the link: %w", err)
	}
	if err := os.MkdirAll(i.markPath(info.ID), dirMode); err != nil {
		return fmt.Errorf("mark the link as the agent's: %w", err)
	}
	return nil
}

func (i *Instance) marked(id link.ID) bool {
	_, err := os.Stat(i.markPath(id))
	return err == nil
}

// tidyMarks removes the marks of links that are not there any more.
func (i *Instance) tidyMarks(pins []pinned) error {
	entries, err := os.ReadDir(filepath.Join(i.dir, agentDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // an instance of a build that made none
	}
	if err != nil {
		return fmt.Errorf("list the agent's links: %w", err)
	}
	used := map[string]bool{}
	for _, p := range pins {
		used[filepath.Base(i.markPath(p.link))] = true
	}
	for _, e := range entries {
		if used[e.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(i.dir, agentDir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget a link of the agent's: %w", err)
		}
	}
	return nil
}
