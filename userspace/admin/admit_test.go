package admin_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/userspace/admin"
)

const token = "0123456789abcdef0123456789abcdef"

func tokenFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Over TCP nothing is served without the token, whatever is asked for and how.
func TestToken(t *testing.T) {
	h := admin.NewHandler(&agentfake.Agent{WithKernel: true}, admin.Options{TokenFile: tokenFile(t, token+"\n")})
	for given, want := range map[string]int{
		"":                          http.StatusUnauthorized,
		"Bearer":                    http.StatusUnauthorized,
		"Bearer\x20":                http.StatusUnauthorized,
		token:                       http.StatusUnauthorized,
		"Basic " + token:            http.StatusUnauthorized,
		"Bearer " + token[1:]:       http.StatusUnauthorized,
		"Bearer " + token + "0":     http.StatusUnauthorized,
		"Bearer " + token[:16]:      http.StatusUnauthorized,
		"Bearer " + token:           http.StatusOK,
		"bearer " + token:           http.StatusOK,
		"BEARER  " + token + " ":    http.StatusOK,
		"Bearer " + token + ", x":   http.StatusUnauthorized,
		"Bearer " + token + "\x00":  http.StatusUnauthorized,
		"Bearer " + token + " more": http.StatusUnauthorized,
	} {
		for _, r := range append(good(), request{"GET", "/v1/nothing", ""}, request{"TRACE", "/", ""}) {
			if want == http.StatusOK && r.target == "/v1/nothing" || r.method == "TRACE" && want == http.StatusOK {
				continue
			}
			w := asks(h, r.method, r.target, r.body, "Authorization: "+given)
			if w.Code != want || (want == http.StatusUnauthorized) != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("%q for %s %s: %d, %s; want %d", given, r.method, r.target, w.Code, w.Body, want)
			}
		}
	}
}

// The token is the one that the file has now.
func TestTokenIsReadAgain(t *testing.T) {
	path := tokenFile(t, token)
	h := admin.NewHandler(&agentfake.Agent{}, admin.Options{TokenFile: path})
	next := strings.ToUpper(token)
	for _, step := range []struct {
		file     string
		old, new int
	}{
		{token, http.StatusOK, http.StatusUnauthorized},
		{next, http.StatusUnauthorized, http.StatusOK},
		{"", http.StatusInternalServerError, http.StatusInternalServerError},
		{"short", http.StatusInternalServerError, http.StatusInternalServerError},
		{strings.Repeat("x", 5000), http.StatusInternalServerError, http.StatusInternalServerError},
		{token + "\n" + next, http.StatusInternalServerError, http.StatusInternalServerError},
		{token, http.StatusOK, http.StatusUnauthorized},
	} {
		if err := os.WriteFile(path, []byte(step.file), 0o600); err != nil {
			t.Fatal(err)
		}
		for given, want := range map[string]int{token: step.old, next: step.new} {
			if w := asks(h, "GET", "/v1/status", "", "Authorization: Bearer "+given); w.Code != want {
				t.Errorf("%.40q in the file, %s given: %d, %s; want %d", step.file, given, w.Code, w.Body, want)
			}
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w := asks(h, "GET", "/v1/status", "", "Authorization: Bearer "+token)
	checkProblem(t, "no file", w.Code, w.Header(), w.Body.Bytes(), http.StatusInternalServerError, "read the admin token: open")
}

// A pipe would keep each request, and a thread for it, until somebody writes.
func TestPipeIsNoToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	h := admin.NewHandler(&agentfake.Agent{}, admin.Options{TokenFile: path})
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- asks(h, "GET", "/v1/status", "", "Authorization: Bearer "+token) }()
	select {
	case w := <-answered:
		checkProblem(t, "pipe", w.Code, w.Header(), w.Body.Bytes(), http.StatusInternalServerError, "is no regular file")
	case <-time.After(10 * time.Second):
		panic("the request waits for somebody who writes the token") // and no end of the test would end that
	}
}

// A name that somebody else has made resolve to this machine is refused, also with the token.
func TestHost(t *testing.T) {
	h := admin.NewHandler(&agentfake.Agent{}, admin.Options{TokenFile: tokenFile(t, token)})
	for host, want := range map[string]int{
		"localhost":            http.StatusOK,
		"LOCALHOST:9091":       http.StatusOK,
		"127.0.0.1":            http.StatusOK,
		"127.0.0.1:9091":       http.StatusOK,
		"127.8.9.1:9091":       http.StatusOK,
		"[::1]:9091":           http.StatusOK,
		"[::1]":                http.StatusOK,
		"[::ffff:127.0.0.1]:1": http.StatusOK,
		"":                     http.StatusForbidden,
		"evil.example":         http.StatusForbidden,
		"evil.example:9091":    http.StatusForbidden,
		"localhost.evil":       http.StatusForbidden,
		"127.0.0.1.evil":       http.StatusForbidden,
		"0.0.0.0":              http.StatusForbidden,
		"10.0.0.1:9091":        http.StatusForbidden,
	} {
		if w := asks(h, "GET", "/v1/status", "", "Host: "+host, "Authorization: Bearer "+token); w.Code != want {
			t.Errorf("%q: %d, %s; want %d", host, w.Code, w.Body, want)
		}
	}
}

// A page in a browser changes nothing, on a unix socket either, which some programs put behind a port.
func TestPagesChangeNothing(t *testing.T) {
	for _, r := range good() {
		if r.method == http.MethodGet {
			continue
		}
		for _, fields := range [][]string{
			{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"}, {"Origin: http://evil.example"}, {"Origin: null"},
		} {
			h, a := newHandler()
			w := asks(h, r.method, r.target, r.body, fields...)
			if w.Code != http.StatusForbidden || len(a.Calls()) > 0 {
				t.Errorf("%s %s with %s: %d, %s, %s", r.method, r.target, fields, w.Code, w.Body, a.Calls())
			}
			if w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s with %s: CORS", r.method, r.target, fields)
			}
		}
		if r.body == "" {
			continue
		}
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/json2"} {
			h, a := newHandler()
			w := asks(h, r.method, r.target, r.body, "Content-Type: "+kind)
			if w.Code != http.StatusUnsupportedMediaType || len(a.Calls()) > 0 {
				t.Errorf("%s %s as %q: %d, %s, %s", r.method, r.target, kind, w.Code, w.Body, a.Calls())
			}
		}
	}
}
