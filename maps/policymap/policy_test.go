package policymap

import "testing"

func TestPortsString(t *testing.T) {
	for want, p := range map[string]Ports{"": {}, "53": {53, 53}, "1000-2000": {1000, 2000}} {
		if got := p.String(); got != want {
			t.Errorf("%v: %q, want %q", [2]uint16{p.First, p.Last}, got, want)
		}
	}
}
