package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/vectors"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// replayedLine is a line of `headgate replay -o json`, as programs read it.
type replayedLine struct {
	TMS          json.Number `json:"t_ms"`
	Allowed      bool        `json:"allowed"`
	DelayMS      json.Number `json:"delay_ms"`
	Status       int         `json:"status"`
	DryRun       bool        `json:"dry_run"`
	Zone         string      `json:"zone"`
	Excess       json.Number `json:"excess"`
	Rule         string      `json:"rule"`
	Key          string      `json:"key"`
	Line         int         `json:"line"`
	Would        string      `json:"would"`
	WouldDelayMS json.Number `json:"would_delay_ms"`
}

// TestReplayRecordedFromNginx: of each of the requests recorded from nginx, `headgate replay` says what nginx did.
func TestReplayRecordedFromNginx(t *testing.T) {
	requests := 0
	for n, c := range vectors.LimitReqs(t) {
		console := newConsole()
		if code := console.run(t, replayArgs(t, c)...); code != exitDone {
			t.Fatalf("case %d: exit %d, %s", n+1, code, console.err.String())
		}
		requests += checkReplayed(t, n+1, c, console.out.Bytes())
	}
	if requests != 7085 {
		t.Errorf("%d requests, want 7085", requests)
	}
}

// TestReplayBinaryOnRecorded: the same, of the built command, for the case with the most requests.
func TestReplayBinaryOnRecorded(t *testing.T) {
	var most vectors.LimitReq
	for _, c := range vectors.LimitReqs(t) {
		if len(c.Steps) > len(most.Steps) {
			most = c
		}
	}
	binary := filepath.Join(t.TempDir(), "headgate")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), binary, replayArgs(t, most)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	checkReplayed(t, 0, most, out)
}

// replayArgs writes the files of a case, and returns how to replay it.
func replayArgs(t *testing.T, c vectors.LimitReq) []string {
	t.Helper()
	dir := t.TempDir()
	var file, trace bytes.Buffer
	file.WriteString("http:\n  zones:\n")
	for i, z := range c.Zones {
		fmt.Fprintf(&file, "    z%d: {key: \"query:%s\", rate: %s, algorithm: nginx}\n", i, z.Key, z.Rate)
	}
	fmt.Fprintf(&file, "  rules:\n    - status: 503\n      dry_run: %t\n      limits:\n", c.DryRun)
	for i, z := range c.Zones {
		fmt.Fprintf(&file, "        - {zone: z%d, burst: %d, delay: %d}\n", i, z.Burst, z.Free())
	}
	for _, step := range c.Steps {
		fmt.Fprintf(&trace, `{"t_ms":%d,"ip":"192.0.2.1","path":"/","query":%q}`+"\n",
			step.T, url.Values{"a": {step.A}, "b": {step.B}}.Encode())
	}
	config, recording := filepath.Join(dir, "headgate.yaml"), filepath.Join(dir, "trace.jsonl")
	for name, text := range map[string][]byte{config: file.Bytes(), recording: trace.Bytes()} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"replay", "-c", config, "--trace", recording, "-o", "json"}
}

// checkReplayed compares each line with what nginx did, and returns how many there are.
func checkReplayed(t *testing.T, n int, c vectors.LimitReq, out []byte) int {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(c.Steps) {
		t.Fatalf("case %d: %d lines, want %d", n, len(lines), len(c.Steps))
	}
	for i, step := range c.Steps {
		var got replayedLine
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if want := wantReplayed(c, i+1, step); got != want {
			t.Errorf("case %d, request %d: %+v, want %+v", n, i+1, got, want)
		}
	}
	return len(lines)
}

func wantReplayed(c vectors.LimitReq, line int, step vectors.LimitReqRequest) replayedLine {
	want := replayedLine{
		TMS: json.Number(fmt.Sprint(step.T)), Allowed: true, DelayMS: "0", Status: 200, Excess: "0.0", Line: line,
	}
	switch delay := json.Number(fmt.Sprint(step.Delay().Milliseconds())); step.Verdict {
	case "REJECTED":
		want.Allowed, want.Status = false, 503
	case "DELAYED":
		want.DelayMS = delay
	case "REJECTED_DRY_RUN":
		want.DryRun, want.Would = true, "refuse"
	case "DELAYED_DRY_RUN":
		want.DryRun, want.Would, want.WouldDelayMS = true, "delay", wouldDelay(c, step)
	}
	if l, ok := decidingLookup(c, step); ok {
		want.Zone, want.Rule, want.Key = fmt.Sprintf("z%d", l.Zone), "rule 1", step.Key(c.Zones[l.Zone])
		want.Excess = json.Number(thousandths(l.Excess))
	}
	return want
}

// decidingLookup returns the look-up of the zone that decided: the one that refused, the one that delays
// longest, or the one with the largest excess.
func decidingLookup(c vectors.LimitReq, step vectors.LimitReqRequest) (most vectors.LimitReqLookup, ok bool) {
	if len(step.Lookups) == 0 {
		return most, false
	}
	if last := step.Lookups[len(step.Lookups)-1]; last.RC == vectors.RCBusy {
		return last, true
	}
	most = step.Lookups[0]
	for _, l := range step.Lookups[1:] {
		a, b := lookupDelay(c, l), lookupDelay(c, most)
		if a > b || a == 0 && b == 0 && l.Excess > most.Excess {
			most = l
		}
	}
	return most, true
}

// lookupDelay is how long nginx delays for a look-up that allows the request.
func lookupDelay(c vectors.LimitReq, l vectors.LimitReqLookup) int64 {
	rate, err := nginx.ParseRate(c.Zones[l.Zone].Rate)
	if err != nil {
		panic(err) // it is what nginx was started with
	}
	free := int64(c.Zones[l.Zone].Free()) * 1000
	return max(0, l.Excess-free) * 1000 / int64(rate)
}

func wouldDelay(c vectors.LimitReq, step vectors.LimitReqRequest) json.Number {
	l, _ := decidingLookup(c, step)
	return json.Number(fmt.Sprint(lookupDelay(c, l)))
}

func thousandths(n int64) string {
	text := fmt.Sprintf("%d.%03d", n/1000, n%1000)
	for strings.HasSuffix(text, "0") && !strings.HasSuffix(text, ".0") {
		text = strings.TrimSuffix(text, "0")
	}
	return text
}
