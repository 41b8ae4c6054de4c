package policymap

import (
	"errors"
	"testing"
)

// fakeConfigs are configurations, of which the fallback may be missing.
type fakeConfigs struct {
	current  Config
	fallback *Config
	err      error
}

func (f fakeConfigs) Load() (Config, error) { return f.current, f.err }

func (f fakeConfigs) Fallback() (Config, bool, error) {
	if f.fallback == nil {
		return Config{}, false, nil
	}
	return *f.fallback, true, nil
}

func TestInForce(t *testing.T) {
	tried := Config{ValidUntil: 100, IPv4Prefix: 1}
	kept := Config{ValidUntil: Forever, IPv4Prefix: 2}
	tests := []struct {
		name string
		m    fakeConfigs
		now  uint64
		want int
	}{
		{"for good", fakeConfigs{current: kept}, 1 << 60, 2},
		{"being tried", fakeConfigs{current: tried, fallback: &kept}, 99, 1},
		{"tried", fakeConfigs{current: tried, fallback: &kept}, 100, 2},
		{"tried, nothing before", fakeConfigs{current: tried}, 100, NewConfig().IPv4Prefix},
	}
	for _, tt := range tests {
		got, err := inForce(tt.m, tt.now)
		if err != nil || got.IPv4Prefix != tt.want {
			t.Errorf("%s: the one with %d, want %d; %v", tt.name, got.IPv4Prefix, tt.want, err)
		}
	}
	broken := errors.New("broken")
	if _, err := inForce(fakeConfigs{err: broken}, 0); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
