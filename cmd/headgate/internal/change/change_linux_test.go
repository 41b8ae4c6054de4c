package change

import (
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// What a change has detached it attaches again when it goes back, in the mode that it had.
func TestGoBackAttachesAgain(t *testing.T) {
	pair := netlabtest.Pair(t, netlab.PairOptions{})
	o := loader.Options{Dir: filepath.Join(netlabtest.BPFFS(t), "hg"), MaxSources: 4096, MaxRules: 100, Agent: true}
	err := pair.Far.Namespace.Do(func() error {
		c, err := Open(o, func(*loader.Instance) error { return nil })
		if err != nil {
			return err
		}
		defer c.Instance.Close()
		a, _, err := c.Instance.Attach(pair.Far.Name, loader.Generic)
		if err != nil {
			return err
		}
		c.Created = false // as if it had been there before
		if err := c.Detach(a); err != nil {
			return err
		}
		if all, err := c.Instance.Attachments(); err != nil || len(all) != 0 {
			t.Errorf("attachments after Detach: %+v, %v", all, err)
		}
		if err := c.GoBack(); err != nil {
			return err
		}
		all, err := c.Instance.Attachments()
		if err == nil && (len(all) != 1 || all[0] != a) {
			t.Errorf("attachments %+v, want %+v", all, a)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
