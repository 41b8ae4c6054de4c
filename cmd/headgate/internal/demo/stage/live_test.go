package stage

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/test/golden"
)

// sums is a table of a heading and four lines.
type sums []int

func (s sums) Table(p *render.Page) {
	var rows [][]string
	for n, sum := range s {
		rows = append(rows, []string{"203.0.113." + strconv.Itoa(n), "floods, from 100 addresses", strconv.Itoa(sum)})
	}
	p.Grid([]render.Column{{Name: "SOURCE"}, {Name: "WHAT IT DOES"}, {Name: "SENT", Right: true}}, rows)
}

func TestLive(t *testing.T) {
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
			l := NewLive(&b, func() (int, int, bool) { return tt.width, tt.height, tt.ok })
			now := time.Unix(1, 0)
			err := errors.Join(
				l.Introduce("The first act."),
				l.Begin("All arrives."), l.End(sums{30, 20, 3, 1}),
				l.Begin("Something is limited."), l.Command("headgate attach demo1", nil),
				l.Tick(now, sums{1, 1, 1, 1}), l.Tick(now.Add(redraw/2), sums{2, 2, 2, 2}), l.Tick(now.Add(redraw), sums{3, 3, 3, 3}),
				l.End(sums{4, 4, 4, 4}), l.Command("headgate rules", []byte("PREFIX  ACTION\n192.0.2.0/24  block\n")),
				l.Introduce("The second act."), l.Begin("It is another one."), l.Text([]byte("without a newline")),
				l.Tick(now.Add(2*redraw), sums{5, 5, 5, 5}), l.Close(),
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
	for _, ok := range []bool{true, false} {
		l := NewLive(full{}, func() (int, int, bool) { return 80, 24, ok })
		for name, err := range map[string]error{
			"introduce": l.Introduce("An act."), "begin": l.Begin("A phase."), "end": l.End(sums{1}),
			"command": l.Command("headgate rules", []byte("no rules\n")), "text": l.Text([]byte("a line\n")),
		} {
			if err == nil {
				t.Errorf("%s, terminal %t: output that cannot be written is no error", name, ok)
			}
		}
	}
}
