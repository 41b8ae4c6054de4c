package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// TestShippedConfiguration reads the file that the package installs: as it is it limits, counts and serves nothing, and
// each of its steps can be taken in after those above it, and does what it says.
func TestShippedConfiguration(t *testing.T) {
	text, err := os.ReadFile("../../deploy/headgate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	proposal := regexp.MustCompile(`(?m)^#([a-z ]*[a-z]+:.*)$`)
	taken := func(steps int) *config.File {
		all := regexp.MustCompile(`(?m)^# \d\. `).Split(string(text), -1)
		if len(all) != 5 {
			t.Fatalf("it has %d steps", len(all)-1)
		}
		for i := range all {
			if i <= steps {
				all[i] = proposal.ReplaceAllString(all[i], "$1")
			}
		}
		file, err := config.Parse("headgate.yaml", []byte(strings.Join(all, "# ")))
		if err != nil {
			t.Fatalf("with %d steps: %v", steps, err)
		}
		if len(file.Warnings) > 0 {
			t.Errorf("with %d steps: %v", steps, file.Warnings)
		}
		return file
	}
	for steps, want := range []struct{ kernel, limited, served, handedDown bool }{
		{},
		{kernel: true},
		{kernel: true, limited: true},
		{kernel: true, limited: true, served: true},
		{kernel: true, limited: true, served: true, handedDown: true},
	} {
		file := taken(steps)
		got := want
		got.kernel = file.Kernel != nil
		got.limited = got.kernel && !file.Kernel.Default.IsZero()
		got.served = len(file.Listen) > 0 && len(file.HTTP.Rules) > 0
		got.handedDown = file.HandDown != nil
		if got != want || file.Metrics == nil || file.Admin == nil {
			t.Errorf("with %d steps: got %+v, want %+v", steps, got, want)
		}
	}
}

// TestUnitsAgreeWithTheProgram looks for what the units say of the program.
func TestUnitsAgreeWithTheProgram(t *testing.T) {
	units, err := filepath.Glob("../../deploy/*.service")
	if err != nil || len(units) != 2 {
		t.Fatalf("units are %v, %v", units, err)
	}
	root := newRoot(newEnv())
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		commands := regexp.MustCompile(`(?m)^Exec\w+=/usr/local/bin/headgate (.*)$`).FindAllStringSubmatch(string(text), -1)
		if len(commands) == 0 {
			t.Errorf("%s runs nothing", unit)
		}
		for _, c := range commands {
			if found, _, err := root.Find(strings.Fields(c[1])); err != nil || found == root {
				t.Errorf("%s: headgate %s: %v", unit, c[1], err)
			}
		}
	}
}

// TestUnitsInOrder looks for what keeps the units from working against each other, and the agent from being given up.
func TestUnitsInOrder(t *testing.T) {
	for unit, lines := range map[string][]string{
		"headgate-attach.service": {"Conflicts=headgate.service", "Before=headgate.service"},
		"headgate.service":        {"Type=notify", "Restart=on-failure", "StartLimitIntervalSec=0"},
	} {
		text, err := os.ReadFile("../../deploy/" + unit)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), "\n"+line+"\n") {
				t.Errorf("%s lacks %s", unit, line)
			}
		}
	}
}

// TestPackageHasAllRecipes looks for each directory of recipes among what the package installs.
func TestPackageHasAllRecipes(t *testing.T) {
	text, err := os.ReadFile("../../deploy/nfpm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("../../deploy")
	if err != nil || len(entries) < 5 {
		t.Fatalf("deploy has %v, %v", entries, err)
	}
	for _, e := range entries {
		line := "{src: deploy/" + e.Name() + "/*, dst: /usr/share/doc/headgate/deploy/" + e.Name() + "/, "
		if e.IsDir() && e.Name() != "deb" && !strings.Contains(string(text), line) {
			t.Errorf("the package lacks the recipes of %s", e.Name())
		}
	}
}

// TestMaintainerScripts runs the scripts of the Debian package, in a directory, with programs that only tell how they were called. No
// unit takes its file: that is no reason to fail.
func TestMaintainerScripts(t *testing.T) {
	const active, inactive = "exit 0", "exit 3"
	for name, tt := range map[string]struct {
		script, attach string
		args           []string
		calls          string
		stay           bool // the logs
	}{
		"installed": {"postinst", inactive, []string{"configure", ""}, "systemctl daemon-reload\n", true},
		"upgraded": {
			"postinst", inactive, []string{"configure", "0.1.0"},
			"systemctl daemon-reload\nsystemctl try-restart headgate.service\nsystemctl --quiet is-active headgate-attach.service\n", true,
		},
		"upgraded without an agent": {
			"postinst", active, []string{"configure", "0.1.0"},
			"systemctl daemon-reload\nsystemctl try-restart headgate.service\nsystemctl --quiet is-active headgate-attach.service\n" +
				"systemctl reload headgate-attach.service\n", true,
		},
		"about to be removed": {
			"prerm", active, []string{"remove"},
			"systemctl --no-reload disable --now headgate.socket headgate.service headgate-attach.service\nheadgate detach --all\n", true,
		},
		"about to be upgraded": {"prerm", active, []string{"upgrade", "0.2.0"}, "", true},
		"removed":              {"postrm", active, []string{"remove"}, "systemctl daemon-reload\n", true},
		"purged":               {"postrm", active, []string{"purge"}, "systemctl daemon-reload\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			logs, calls := filepath.Join(root, "var/log/headgate"), filepath.Join(root, "calls")
			for _, dir := range []string{logs, filepath.Join(root, "run/systemd/system"), filepath.Join(root, "bin")} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, program := range []string{"systemctl", "headgate"} {
				text := "#!/bin/sh\necho " + program + " \"$*\" >> " + calls + "\ncase \"$*\" in *is-active*) " + tt.attach + ";; *try-restart*|'reload '*) exit 1;; esac\n"
				if err := os.WriteFile(filepath.Join(root, "bin", program), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "sh", append([]string{"../../deploy/deb/" + tt.script}, tt.args...)...)
			cmd.Env = []string{"DPKG_ROOT=" + root, "PATH=" + filepath.Join(root, "bin") + ":/usr/bin:/bin"}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got, err := os.ReadFile(calls)
			if err != nil && tt.calls != "" || string(got) != tt.calls {
				t.Errorf("called\n%s(%v), want\n%s", got, err, tt.calls)
			}
			if _, err := os.Stat(logs); (err == nil) != tt.stay {
				t.Errorf("the logs: %v", err)
			}
		})
	}
}
