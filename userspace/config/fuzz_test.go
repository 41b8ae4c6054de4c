package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

// FuzzParse checks that any text gives a file that holds what its types promise, or errors that
// tell what and where.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range append(paths, "testdata/example.yaml", "testdata/full.yaml") {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := config.Parse("FILE", data)
		if err != nil {
			checkErrors(t, err)
		}
		if (file == nil) == (err == nil) {
			t.Fatalf("file %v, error %v: want one of them", file, err)
		}
		if file != nil {
			checkFile(t, file)
		}
	})
}

func checkErrors(t *testing.T, err error) {
	t.Helper()
	problems, ok := errors.AsType[config.Errors](err)
	if !ok || len(problems) == 0 {
		t.Fatalf("error %v is not Errors", err)
	}
	for _, p := range problems {
		if p.Text == "" || p.Line < 1 || p.File != "FILE" || strings.Contains(p.Error(), "\n") {
			t.Errorf("problem %+v: want text and position in a line", p)
		}
	}
}

// checkFile checks what users of a File rely on.
func checkFile(t *testing.T, file *config.File) {
	t.Helper()
	checkAgent(t, file)
	named := make(map[string]bool)
	for _, z := range file.HTTP.Zones {
		if named[z.Name] || z.Name == "" || len(z.Key) == 0 || (z.Algorithm == config.Concurrent) != (z.Slots > 0) {
			t.Errorf("zone %+v", z)
		}
		named[z.Name] = true
		if z.Slots == 0 {
			checkQuota(t, z.Algorithm, z.Quota)
		}
		for _, o := range z.Overrides {
			if len(o.Value) != len(z.Key) || (o.Slots > 0) != (z.Slots > 0) {
				t.Errorf("override %+v of a key of %d parts", o, len(z.Key))
			}
			if o.Slots == 0 {
				checkQuota(t, z.Algorithm, o.Quota)
			}
		}
	}
	for _, r := range file.HTTP.Rules {
		if r.Name == "" || r.Status < 400 || r.Status > 599 {
			t.Errorf("rule %+v", r)
		}
		for _, u := range r.Limits {
			checkUse(t, file.HTTP.Zones, u)
		}
	}
}

func checkQuota(t *testing.T, a config.Algorithm, q config.Quota) {
	t.Helper()
	_, err := rate.FromInterval(q.Count, q.Per, rate.Requests)
	switch a {
	case config.Window:
		_, err = limit.NewWindow(q.Count, q.Per)
	case config.Sliding:
		_, err = limit.NewSliding(q.Count, q.Per)
	}
	if err != nil || q.Text == "" {
		t.Errorf("quota %+v of %s: %v", q, a, err)
	}
}

func checkUse(t *testing.T, zones []config.Zone, u config.Use) {
	t.Helper()
	if u.Zone < 0 || u.Zone >= len(zones) || u.Delay > u.Burst || u.Cost == 0 {
		t.Fatalf("use %+v of %d zones", u, len(zones))
	}
	z := zones[u.Zone]
	switch z.Algorithm {
	case config.Leaky, config.Sketch:
		r, err := rate.FromInterval(z.Quota.Count, z.Quota.Per, rate.Requests)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := limit.NewLeaky(r, u.Burst, u.Delay); err != nil {
			t.Errorf("use %+v of %+v: %v", u, z, err)
		}
	case config.Nginx:
	default:
		if u.Burst != 0 {
			t.Errorf("use %+v of a zone by %s", u, z.Algorithm)
		}
	}
}
