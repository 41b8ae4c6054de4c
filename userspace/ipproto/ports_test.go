package ipproto_test

import (
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/ipproto"
)

func TestParsePorts(t *testing.T) {
	for text, want := range map[string][2]uint16{"53": {53, 53}, "1-65535": {1, 65535}, "80-80": {80, 80}, "080": {80, 80}} {
		if first, last, err := ipproto.ParsePorts(text); err != nil || [2]uint16{first, last} != want {
			t.Errorf("%s: %d-%d, %v; want %v", text, first, last, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "use a port", "0": "use a port", "65536": "use a port", "53-": "use a port", "-53": "use a port",
		"0-5": "use a port", "1-2-3": "use a port", "dns": "use a port", "any": "use a port", "9-5": "use 5-9",
	} {
		if first, last, err := ipproto.ParsePorts(text); err == nil || !strings.Contains(err.Error(), want) || first != 0 || last != 0 {
			t.Errorf("%q: %d-%d, %v; want an error with %q", text, first, last, err, want)
		}
	}
}
