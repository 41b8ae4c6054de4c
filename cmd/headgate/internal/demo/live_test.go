package demo

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/golden"
)

func TestLive(t *testing.T) {
	records, phases := played(t)
	tests := []struct {
		name          string
		width, height int
		ok            bool
	}{
		{"live_plain", 0, 0, false},
		{"live_no_size", 0, 0, true},
		{"live_terminal", 80, 24, true},
		{"live_narrow", 40, 24, true},
		{"live_low", 80, 5, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			l := &live{w: &b, terminal: func() (int, int, bool) { return tt.width, tt.height, tt.ok }}
			now := time.Unix(1, 0)
			err := errors.Join(
				l.intro(),
				l.begin(1, &phases[0]), l.end(records),
				l.begin(2, &phases[1]),
				l.tick(now, records), l.tick(now.Add(redraw/2), records), l.tick(now.Add(redraw), records),
				l.end(records), l.close(),
			)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, tt.name, []byte(strings.ReplaceAll(b.String(), "\x1b", "ESC")))
		})
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestLiveWriteError(t *testing.T) {
	records, phases := played(t)
	for _, ok := range []bool{true, false} {
		l := &live{w: full{}, terminal: func() (int, int, bool) { return 80, 24, ok }}
		for name, err := range map[string]error{
			"intro": l.intro(), "begin": l.begin(1, &phases[1]), "end": l.end(records),
		} {
			if err == nil {
				t.Errorf("%s, terminal %t: output that cannot be written is no error", name, ok)
			}
		}
	}
}
