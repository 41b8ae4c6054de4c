package debian

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// download downloads the packages and their libraries to dir and unpacks them in dir/root. It installs nothing.
func (s Software) download(ctx context.Context, dir string) error {
	root := filepath.Join(dir, "root")
	packages := slices.Clone(s.Packages)
	for done := 0; done < len(packages); done++ {
		name := packages[done]
		deb, err := fetch(ctx, dir, name)
		if err != nil {
			return err
		}
		if err := run(ctx, dir, "dpkg-deb", "-x", deb, root); err != nil {
			return err
		}
		if !s.isPart(name) {
			continue // what libraries need beyond libraries, the programs can do without
		}
		needed, err := exec.CommandContext(ctx, "dpkg-deb", "-f", deb, "Pre-Depends", "Depends").Output()
		if err != nil {
			return fmt.Errorf("what %s depends on: %w", name, err)
		}
		packages = s.appendNeeded(packages, string(needed))
	}
	return nil
}

// fetch downloads a package, with apt's lists brought up to date if that is needed, and returns where it is.
func fetch(ctx context.Context, dir, name string) (string, error) {
	into := filepath.Join(dir, "deb-"+name)
	if err := os.Mkdir(into, 0o700); err != nil {
		return "", err
	}
	if err := run(ctx, into, "apt-get", "-q", "download", name); err != nil {
		if err := run(ctx, into, "apt-get", "-q", "update"); err != nil {
			return "", err
		}
		if err := run(ctx, into, "apt-get", "-q", "download", name); err != nil {
			return "", err
		}
	}
	debs, err := filepath.Glob(filepath.Join(into, "*.deb"))
	if err != nil || len(debs) != 1 {
		return "", fmt.Errorf("apt-get download %s left %d packages", name, len(debs))
	}
	return debs[0], nil
}

// appendNeeded appends to packages those that a Depends field names and the programs do not run without: other parts and
// libraries, save the C library, which the machine has.
func (s Software) appendNeeded(packages []string, depends string) []string {
	for _, line := range strings.Split(depends, "\n") {
		_, list, _ := strings.Cut(line, ": ")
		for _, alternatives := range strings.Split(list, ",") {
			fields := strings.Fields(alternatives)
			if len(fields) == 0 {
				continue
			}
			name, _, _ := strings.Cut(fields[0], ":")
			if name != "libc6" && (s.isPart(name) || hasPrefix(name, "lib", "zlib")) && !slices.Contains(packages, name) {
				packages = append(packages, name)
			}
		}
	}
	return packages
}

func (s Software) isPart(name string) bool {
	return hasPrefix(name, s.Parts...) && !slices.Contains(s.Without, name)
}

func hasPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
