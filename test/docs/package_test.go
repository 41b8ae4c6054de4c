package docs_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// packageDocs is where the Debian package puts documents.
const packageDocs = "/usr/share/doc/headgate/"

// packaged returns what the Debian package has below packageDocs, and where each file comes from in the project; from is empty for
// a symbolic link.
func packaged(t *testing.T) (from map[string]string) {
	t.Helper()
	var described struct {
		Contents []struct{ Src, Dst, Type string }
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(root, "deploy/nfpm.yaml"))), &described); err != nil {
		t.Fatal(err)
	}
	from = make(map[string]string)
	for _, c := range described.Contents {
		dst, isDoc := strings.CutPrefix(c.Dst, packageDocs)
		switch {
		case !isDoc || strings.HasPrefix(c.Src, "bin/"): // what make deb makes
		case c.Type == "symlink":
			from[dst] = ""
		default:
			found, err := filepath.Glob(filepath.Join(root, c.Src))
			if err != nil || len(found) == 0 {
				t.Errorf("the package has %s, and there is none (%v)", c.Src, err)
			}
			for _, file := range found {
				from[inPackage(dst, file)] = file
			}
		}
	}
	return from
}

// inPackage returns where a file of a pattern is put: into a directory, or by that name.
func inPackage(dst, file string) string {
	if dst == "" || strings.HasSuffix(dst, "/") {
		return dst + filepath.Base(file)
	}
	return dst
}

// TestLinksOfThePackage checks that the documents that the Debian package installs link to nothing that it lacks.
func TestLinksOfThePackage(t *testing.T) {
	from := packaged(t)
	there := make(map[string]bool)
	for dst := range from {
		for ; dst != "."; dst = path.Dir(dst) {
			there[dst] = true
		}
	}
	seen := 0
	for dst, file := range from {
		if path.Ext(dst) != ".md" || file == "" {
			continue
		}
		for _, target := range links(read(t, file)) {
			seen++
			if !there[path.Join(path.Dir(dst), target)] {
				t.Errorf("%s links to %s, and the package lacks it", packageDocs+dst, target)
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d links", seen)
	}
}
