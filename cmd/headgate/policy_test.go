package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/maps/policymap"
)

func TestParseProto(t *testing.T) {
	tests := []struct {
		text  string
		proto uint8
		match bool
	}{
		{"tcp", 6, true}, {"UDP", 17, true}, {"icmp", 1, true}, {"icmpv6", 58, true},
		{"0", 0, true}, {"255", 255, true}, {"any", 0, false},
	}
	for _, tt := range tests {
		proto, match, err := parseProto(tt.text)
		if err != nil || proto != tt.proto || match != tt.match {
			t.Errorf("%q: %d, %t, %v; want %d, %t", tt.text, proto, match, err, tt.proto, tt.match)
		}
	}
	for _, text := range []string{"", "256", "-1", "quic", "0x6"} {
		if proto, _, err := parseProto(text); err == nil {
			t.Errorf("%q is %d, want an error", text, proto)
		}
	}
}

func TestParsePorts(t *testing.T) {
	for text, want := range map[string]policymap.Ports{
		"53": {First: 53, Last: 53}, "1-65535": {First: 1, Last: 65535}, "80-80": {First: 80, Last: 80}, "any": {},
	} {
		if got, err := parsePorts(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "use a port", "0": "use a port", "65536": "use a port", "53-": "use a port", "-53": "use a port",
		"0-5": "use a port", "1-2-3": "use a port", "dns": "use a port", "9-5": "use 5-9",
	} {
		if got, err := parsePorts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestParseKey(t *testing.T) {
	for text, want := range map[string]policymap.Key{"source": policymap.PerSource, "shared": policymap.Shared} {
		if got, err := parseKey(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := parseKey("dest"); err == nil {
		t.Error("no error for a key that there is not")
	}
}

// A bar is drawn on a terminal, for a change that takes some time, and on stderr alone.
func TestProgress(t *testing.T) {
	tests := []struct {
		name     string
		terminal bool
		steps    int
		want     bool
	}{
		{"long", true, progressFrom, true},
		{"short", true, progressFrom - 1, false},
		{"no terminal", false, progressFrom, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newConsole()
			c.terminal = func(w io.Writer) (int, int, bool) { return 80, 24, tt.terminal && w == c.stderr }
			p := c.progress(tt.steps, "blocking")
			p.set(tt.steps / 2)
			p.finish()
			if got := strings.Contains(c.err.String(), "blocking"); got != tt.want {
				t.Errorf("drawn %q, want that it is drawn: %t", c.err.String(), tt.want)
			}
			if c.out.Len() > 0 {
				t.Errorf("output %q", c.out.String())
			}
		})
	}
}

// The first thing that is wrong with how a verb is called is found before anything is looked at.
func TestChangingUsage(t *testing.T) {
	for args, want := range map[string]string{
		"attach":                            "name at least one interface; use: headgate attach IFACE...",
		"attach x --mode fast":              `--mode "fast"`,
		"attach x --ipv4-prefix 64":         "--ipv6-prefix is the one for IPv6",
		"attach x --try 0s":                 "at least 1s",
		"attach x --max-rules 0":            "above 0",
		"set default":                       "set what?",
		"set default --rate 0pps":           "a rate of 0",
		"set 10.0.0.0/8 -o xml":             `output "xml"`,
		"set x --rate 1pps":                 `prefix "x"`,
		"set 10.0.0.1 --rate 1pps --for 0s": "above 0",
		"block":                             "at least one address",
		"allow x":                           `prefix "x"`,
		"unset":                             "at least one address",
		"detach":                            "name the interfaces",
		"detach x --all":                    "not both",
		"policy set default --rate 1pps":    "headgate set default",
		"policy set":                        "name one policy, not 0; use: headgate policy set NAME",
		"policy bogus":                      "unknown command \"bogus\" for \"headgate policy\"; see `headgate policy --help`",
		"policy delet":                      "perhaps you mean delete; see `headgate policy --help`",
		"blok 10.0.0.1":                     "perhaps you mean block; see `headgate --help`",
	} {
		t.Run(args, func(t *testing.T) {
			c := newConsole()
			if code := c.run(t, append(strings.Fields(args), "--pin", "/nonexistent")...); code != exitUsage {
				t.Errorf("exit %d, want %d", code, exitUsage)
			}
			got := c.err.String()
			if strings.Count(got, "\n") != 1 || !strings.Contains(got, want) || c.out.Len() > 0 {
				t.Errorf("errors %q and output %q, want one line with %q", got, c.out.String(), want)
			}
		})
	}
}

func TestOnTrial(t *testing.T) {
	config := policymap.Config{ValidUntil: testBoot + uint64(90*time.Second)}
	want := "the last attach is on trial for another 1m30s; in its terminal, Enter keeps it and " +
		"Ctrl-C goes back; or wait until it has gone back"
	if got := newConsole().onTrial(config).Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
