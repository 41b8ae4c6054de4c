package main

import (
	"strings"
	"testing"
)

// Whoever calls what only the demo calls is told what is wrong.
func TestDemoUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"demo", "x"}, exitUsage, `demo takes no arguments, and there is "x"`},
		{[]string{"demo", "-o", "xml"}, exitUsage, `output "xml": use table or json`},
		{[]string{"demo-part", "flooder", "{"}, exitUsage, `script "{": unexpected end of JSON input`},
		{[]string{"demo-part", "prompter", "{}"}, exitFailed, ""},
	} {
		c := newConsole()
		if code := c.run(t, tt.args...); code != tt.code || !strings.Contains(c.err.String(), tt.want) {
			t.Errorf("%q: exit %d, %q, want %d, %q", tt.args, code, c.err.String(), tt.code, tt.want)
		}
	}
}
