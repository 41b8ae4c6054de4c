package docs_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestModulesOfTheMiddleware checks which other modules come into a program with the middleware.
func TestModulesOfTheMiddleware(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}",
		"./userspace/httplimit", "./userspace/config", "./userspace/ruleset")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Compact(slices.Sorted(strings.FieldsSeq(string(out))))
	if want := []string{"github.com/felixge/httpsnoop", "go.yaml.in/yaml/v3"}; !slices.Equal(got, want) {
		t.Errorf("%q, and the guide says %q", got, want)
	}
}
