package loader

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// An open instance is locked and unlocked again, and is not locked where it is not there any more.
func TestLockAnOpenInstance(t *testing.T) {
	o := small(t)
	create(t, o).Close()
	i, err := OpenToRead(o)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	for range 2 {
		if err := i.Lock(0); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(o); !errors.Is(err, ErrLocked) {
			t.Errorf("opened beside it: %v", err)
		}
		if err := i.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	other := create(t, o)
	if err := i.Lock(0); !errors.Is(err, ErrLocked) {
		t.Errorf("locked beside another one: %v", err)
	}
	if err := other.RemoveAll(); err != nil {
		t.Fatal(err)
	}
	other.Close()
	if err := i.Lock(0); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("locked what was removed: %v", err)
	}
	create(t, o).Close()
	if err := i.Lock(0); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("locked what was replaced: %v", err)
	}
}

// What the agent attaches is marked, also after an upgrade, and what another one attaches then is not.
func TestAgentsAttachments(t *testing.T) {
	o := small(t)
	o.Agent = true
	i := create(t, o)
	pair := netlabtest.Pair(t, netlab.PairOptions{})
	if a := mustAttach(t, i, pair.Far, Auto); !a.Agent {
		t.Error("the agent's attachment is not marked")
	}
	if err := i.Upgrade(); err != nil {
		t.Fatal(err)
	}
	all, err := i.Attachments()
	if err != nil || len(all) != 1 || !all[0].Agent {
		t.Errorf("attachments after an upgrade: %+v, %v", all, err)
	}
	if err := i.Detach(pair.Far.Index); err != nil {
		t.Fatal(err)
	}
	i.agent = false
	if a := mustAttach(t, i, pair.Far, Auto); a.Agent {
		t.Error("another's attachment is marked")
	}
	marks, err := os.ReadDir(filepath.Join(i.dir, agentDir))
	if err != nil || len(marks) != 0 {
		t.Errorf("marks %v, %v; want none", marks, err)
	}
}
