package docs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
			got, err := curl(server, c.text)
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

// curl does what a command line of curl asks for, with the server in place of the one in the URL, and
// returns what curl would print.
func curl(server, line string) (string, error) {
	r, err := parseCurl(line)
	if err != nil {
		return "", err
	}
	conn, err := net.DialTimeout("tcp", server, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(commandLimit)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, r.text()); err != nil {
		return "", err
	}
	head, body, err := readResponse(bufio.NewReader(conn))
	if !r.include {
		head = ""
	}
	return head + body, err
}

// curlRequest is what the arguments of curl say.
type curlRequest struct {
	include            bool // the head is printed
	method, host, path string
	fields             []string
}

func (r curlRequest) text() string {
	fields := append([]string{"Host: " + r.host}, r.fields...)
	if !slices.ContainsFunc(r.fields, func(f string) bool { return strings.HasPrefix(f, "Accept:") }) {
		fields = append(fields, "Accept: */*")
	}
	return fmt.Sprintf("%s %s HTTP/1.1\r\n%s\r\n\r\n", r.method, r.path, strings.Join(fields, "\r\n"))
}

var curlWord = regexp.MustCompile(`'[^']*'|\S+`)

func parseCurl(line string) (r curlRequest, err error) {
	r.method = "GET"
	words := curlWord.FindAllString(line, -1)
	if len(words) == 0 || words[0] != "curl" {
		return r, fmt.Errorf("%q is not curl", line)
	}
	for i := 1; i < len(words); i++ {
		url, isURL := strings.CutPrefix(words[i], "http://")
		switch {
		case isURL:
			var path string
			r.host, path, _ = strings.Cut(url, "/")
			r.path = "/" + path
		case words[i] == "-i":
			r.include = true
		case words[i] == "-X" && i+1 < len(words):
			i++
			r.method = words[i]
		case words[i] == "-H" && i+1 < len(words):
			i++
			r.fields = append(r.fields, strings.Trim(words[i], "'"))
		default:
			return r, fmt.Errorf("%q is an argument that the test does not know", words[i])
		}
	}
	if r.host == "" {
		return r, errors.New("no URL")
	}
	return r, nil
}

// readResponse reads a response with a Content-Length. Line ends are those of the documents.
func readResponse(in *bufio.Reader) (head, body string, err error) {
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		line = strings.TrimRight(line, "\r\n")
		head += line + "\n"
		if line == "" {
			break
		}
		if text, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if length, err = strconv.Atoi(text); err != nil {
				return "", "", err
			}
		}
	}
	content := make([]byte, length)
	_, err = io.ReadFull(in, content)
	return head, string(content), err
}
