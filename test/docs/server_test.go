package docs_test

import (
	"bufio"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestResponses starts the examples that are servers, sends the requests that console blocks show with
// curl, and compares the responses but for their date. It does without curl, which not every machine has.
func TestResponses(t *testing.T) {
	bin := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./examples/...")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	started := map[string]bool{}
	for _, path := range documents(t) {
		all, err := blocks(read(t, path))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var new edits
		for _, b := range all {
			if b.server == "" {
				continue
			}
			program, _, _ := strings.Cut(b.server, " ")
			started[program] = true
			new = append(new, differences(t, path, b, func() string { return startServer(t, bin, b.server) })...)
		}
		new.apply(t, path)
		for _, e := range new {
			if !*update {
				t.Errorf("%s:%d: %s: responds\n%s\nbut the document shows\n%s", path, e.line, e.text, e.prints, e.shows)
			}
		}
	}
	for _, program := range []string{"examples/perip", "examples/server"} {
		if !started[program] {
			t.Errorf("no document shows a request to %s", program)
		}
	}
}

// differences sends the requests of a block, and returns those whose responses are not what is shown. The
// clock of a server is the real one, and the numbers are others where the machine stops for a second: then
// the third try counts.
func differences(t *testing.T, path string, b block, start func() string) (found edits) {
	t.Helper()
	for range 3 {
		found = nil
		server := start()
		for _, c := range b.commands {
			got, err := curlTo(server, c.text)
			if err != nil {
				t.Fatalf("%s:%d: %s: %v", path, c.line, c.text, err)
			}
			if undated(got) != undated(c.shows) {
				found.add(c, got)
			}
		}
		if len(found) == 0 {
			break
		}
	}
	return found
}

var date = regexp.MustCompile(`(?m)^Date: .*$`)

func undated(text string) string { return date.ReplaceAllString(text, "Date:") }

// startServer starts an example for the time of the test and returns its address.
func startServer(t *testing.T, bin, line string) string {
	t.Helper()
	words := strings.Fields(line)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, filepath.Base(words[0])), append(words[1:], "-listen", "127.0.0.1:0")...)
	cmd.Dir = root
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // it was killed when the context of the test ended
	said := bufio.NewScanner(stderr)
	for said.Scan() {
		if _, address, ok := strings.Cut(said.Text(), "listening on http://"); ok {
			return address
		}
	}
	t.Fatalf("%s: does not say where it listens", line)
	return ""
}

// curlTo does what a command line of curl asks for, with the server in place of the one in the URL, and
// returns what curl would print.
func curlTo(server, line string) (string, error) {
	r, err := parseCurl(line)
	if err != nil {
		return "", err
	}
	return r.do(func(limit time.Duration) (net.Conn, error) { return net.DialTimeout("tcp", server, limit) })
}
