package docs_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// curlRequest is what the arguments of curl say, as far as documents use them.
type curlRequest struct {
	include bool // the head is printed
	discard bool // the body is not
	write   string
	limit   time.Duration // for each request
	socket  string        // of a unix socket
	method  string
	host    string
	paths   []string // one for each request
	fields  []string
	body    string
}

// errTimedOut says that --max-time is over, of which curl prints the status 000.
var errTimedOut = errors.New("timed out")

// timedOut is the exit code of curl for that.
const timedOut = 28

// do sends the requests over one connection, and returns what curl would print.
func (r *curlRequest) do(dial func(time.Duration) (net.Conn, error)) (string, error) {
	conn, err := dial(r.limit)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return r.written("000"), errTimedOut
	}
	if err != nil {
		return "", err
	}
	defer conn.Close()
	in, raw := new(bufio.Reader), new(bytes.Buffer)
	in.Reset(io.TeeReader(conn, raw))
	var out strings.Builder
	for _, path := range r.paths {
		raw.Reset()
		text, err := r.ask(conn, in, raw, path)
		out.WriteString(text)
		if err != nil {
			return out.String(), err
		}
	}
	return out.String(), nil
}

// ask sends one request. raw is what was read of its response.
func (r *curlRequest) ask(conn net.Conn, in *bufio.Reader, raw *bytes.Buffer, path string) (string, error) {
	if err := conn.SetDeadline(time.Now().Add(r.limit)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, r.text(path)); err != nil {
		return "", err
	}
	response, err := http.ReadResponse(in, nil)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return r.written("000"), errTimedOut
	}
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	out := r.written(strconv.Itoa(response.StatusCode))
	if !r.discard {
		out = string(body) + out
	}
	if r.include {
		head, _, _ := bytes.Cut(raw.Bytes(), []byte("\r\n\r\n"))
		out = strings.ReplaceAll(string(head), "\r\n", "\n") + "\n\n" + out
	}
	return out, nil
}

func (r *curlRequest) written(status string) string {
	return strings.NewReplacer("%{http_code}", status, `\n`, "\n").Replace(r.write)
}

func (r *curlRequest) text(path string) string {
	fields := append([]string{"Host: " + r.host}, r.fields...)
	if !slices.ContainsFunc(r.fields, func(f string) bool { return strings.HasPrefix(f, "Accept:") }) {
		fields = append(fields, "Accept: */*")
	}
	if r.body != "" {
		fields = append(fields, "Content-Length: "+strconv.Itoa(len(r.body)))
	}
	return fmt.Sprintf("%s %s HTTP/1.1\r\n%s\r\n\r\n%s", r.method, path, strings.Join(fields, "\r\n"), r.body)
}

func (r *curlRequest) network() string {
	if r.socket != "" {
		return "unix"
	}
	return "tcp"
}

func (r *curlRequest) address() string {
	if r.socket != "" {
		return r.socket
	}
	return r.host
}

var (
	curlWord  = regexp.MustCompile(`'[^']*'|\S+`)
	curlRange = regexp.MustCompile(`\[1-(\d+)\]`)
)

func parseCurl(line string) (*curlRequest, error) {
	words := curlWord.FindAllString(line, -1)
	if len(words) == 0 || words[0] != "curl" {
		return nil, fmt.Errorf("%q is not curl", line)
	}
	r := &curlRequest{method: http.MethodGet, limit: commandLimit}
	for i := 1; i < len(words); i++ {
		word := strings.Trim(words[i], "'")
		if r.flag(word) {
			continue
		}
		if i++; i == len(words) {
			return nil, fmt.Errorf("%q is an argument that the test does not know", word)
		}
		if err := r.value(word, strings.Trim(words[i], "'")); err != nil {
			return nil, err
		}
	}
	if r.host == "" {
		return nil, errors.New("no URL")
	}
	return r, nil
}

// flag reads an argument that has no value, and the URL.
func (r *curlRequest) flag(word string) bool {
	url, isURL := strings.CutPrefix(word, "http://")
	switch {
	case isURL:
		r.url(url)
	case word == "-i":
		r.include = true
	case word != "-s":
		return false
	}
	return true
}

// url reads a URL; one with [1-N] stands for N of them.
func (r *curlRequest) url(text string) {
	host, path, _ := strings.Cut(text, "/")
	r.host = host
	times := 1
	match := curlRange.FindStringSubmatch(path)
	if match != nil {
		times, _ = strconv.Atoi(match[1])
	}
	for n := range times {
		one := "/" + path
		if match != nil {
			one = strings.Replace(one, match[0], strconv.Itoa(n+1), 1)
		}
		r.paths = append(r.paths, one)
	}
}

// value reads an argument and its value.
func (r *curlRequest) value(word, value string) error {
	switch word {
	case "-X":
		r.method = value
	case "-H":
		r.fields = append(r.fields, value)
	case "-o":
		r.discard = value == "/dev/null"
	case "-w":
		r.write = value
	case "-d":
		r.method, r.body = http.MethodPost, value
	case "--unix-socket":
		r.socket = value
	case "--max-time":
		seconds, err := strconv.Atoi(value)
		r.limit = time.Duration(seconds) * time.Second
		return err
	default:
		return fmt.Errorf("%q is an argument that the test does not know", word)
	}
	return nil
}

func TestParseCurl(t *testing.T) {
	r, err := parseCurl(`curl -s -o /dev/null -w '%{http_code}\n' --max-time 2 -H 'A: b c' 'http://192.0.2.1:8080/?[1-3]'`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", *r), `{include:false discard:true write:%{http_code}\n limit:2000000000 socket: method:GET `+
		`host:192.0.2.1:8080 paths:[/?1 /?2 /?3] fields:[A: b c] body:}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, wrong := range []string{"wget x", "curl", "curl -k http://x/", "curl -X"} {
		if _, err := parseCurl(wrong); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}
