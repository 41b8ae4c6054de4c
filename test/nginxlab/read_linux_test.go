package nginxlab

import (
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/test/vectors"
)

func TestParseLine(t *testing.T) {
	tests := map[string]line{
		"2026/01/02 03:04:05 [debug] 678#678: *9 limit_req[0]: 0 0.000": {"9", "limit_req[0]: 0 0.000"},
		"2026/01/02 03:04:05 [debug] 678#678: worker cycle":             {"", "worker cycle"},
		"nginx: [emerg] unknown directive":                              {"", "nginx: [emerg] unknown directive"},
		"Server: nginx/1.22.1":                                          {"", "Server: nginx/1.22.1"},
		"":                                                              {},
	}
	for text, want := range tests {
		if got := parseLine(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestAnswerRead(t *testing.T) {
	lines := []line{
		{"8", "close http connection: 7"},
		{"9", "accept: unix: fd:7"},
		{"9", "event timer add: 7: 60000:100060000"},
		{"", "slab free: 00007F3C7820E080"},
		{"9", "limit_req[0]: -2 0.000"},
		{"9", "limit_req[1]: 0 12.040"},
		{"9", `delaying request, excess: 12.040, by zone "one"`},
		{"9", "event timer add: 7: 12040:100012040"},
	}
	var a Answer
	for i, l := range lines {
		if done := a.read(l); done != (i == len(lines)-1) {
			t.Errorf("line %d: done %v", i+1, done)
		}
	}
	want := []vectors.LimitReqLookup{{Zone: 0, RC: vectors.RCAgain}, {Zone: 1, RC: vectors.RCOK, Excess: 12_040}}
	if !slices.Equal(a.Lookups, want) || a.Delay != 12_040*time.Millisecond || a.Freed != 1 {
		t.Errorf("%+v", a)
	}
	if a.read(line{"8", "close http connection: 7"}) || !a.read(line{"9", "close http connection: 7"}) {
		t.Error("the end of another connection is taken for its own")
	}
}
