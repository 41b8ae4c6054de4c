package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// TestShippedConfiguration reads the file that the package installs, as it is and with all that it proposes.
func TestShippedConfiguration(t *testing.T) {
	const name = "../../deploy/headgate.yaml"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	as := map[string]string{
		"as it is":     string(text),
		"as it may be": regexp.MustCompile(`(?m)^# ([a-z ]+:.*)$`).ReplaceAllString(string(text), "$1"),
	}
	for title, text := range as {
		file, err := config.Parse(title, []byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if proposed := file.Kernel != nil && file.HandDown != nil && len(file.Listen) > 0; proposed != (title == "as it may be") {
			t.Errorf("%s: %+v", title, file)
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
		"headgate.service":        {"Type=notify", "Restart=always", "StartLimitIntervalSec=0"},
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
