package admin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/test/golden"
	"github.com/headgate/headgate/userspace/admin"
)

// request is one that an operation answers well.
type request struct{ method, target, body string }

// good has one request for each operation that has an end.
func good() []request {
	return []request{
		{"GET", "/v1/status", ""},
		{"GET", "/v1/offenders?n=1", ""},
		{"POST", "/v1/reports", `{"prefix":"203.0.113.7","reason":"failed login","count":20}`},
		{"POST", "/v1/reload", "{}"},
		{"POST", "/v1/drain", "{}"},
		{"GET", "/v1/zones", ""},
		{"GET", "/v1/zones/perip", ""},
		{"PATCH", "/v1/zones/perip", `{"rate":"20r/s"}`},
		{"GET", "/v1/zones/perip/keys", ""},
		{"GET", "/v1/zones/slots/key?part=203.0.113.7&part=%2Flogin", ""},
		{"DELETE", "/v1/zones/perip/key?part=203.0.113.7", ""},
		{"GET", "/v1/rules", ""},
		{"PUT", "/v1/rules", `{"prefix":"203.0.113.0/24","action":"limit","rate":"100pps","for":"10m"}`},
		{"DELETE", "/v1/rules?prefix=203.0.113.7&prefix=2001:db8::/32", ""},
		{"GET", "/v1/fleet", ""},
		{"GET", "/v1/fleet/rules", ""},
		{"PUT", "/v1/fleet/rules", `{"prefixes":["203.0.113.7","2001:db8::/32"],"action":"block","for":"10m","reason":"scans"}`},
		{"PUT", "/v1/fleet/rules", `{"prefixes":["192.0.2.1"],"action":"block"}`},
		{"DELETE", "/v1/fleet/rules?prefix=203.0.113.7&prefix=2001:db8::/32", ""},
		{"GET", "/v1/policies", ""},
		{"PUT", "/v1/policies/dns", `{"proto":"udp","ports":"53","rate":"50pps","burst":100}`},
		{"DELETE", "/v1/policies/dns", ""},
		{"GET", "/v1/top", ""},
		{"GET", "/v1/openapi.json", ""},
	}
}

func TestAnswers(t *testing.T) {
	var all bytes.Buffer
	for _, r := range good() {
		h, a := newHandler()
		w := asks(h, r.method, r.target, r.body)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: %d, %v, %s", r.method, r.target, w.Code, w.Header(), w.Body)
		}
		if r.target != "/v1/openapi.json" { // it has a file of its own
			fmt.Fprintf(&all, "%s %s %s\n%s%s\n\n", r.method, r.target, r.body, w.Body, strings.Join(a.Calls(), "\n"))
		}
	}
	golden.Check(t, "answers", all.Bytes())
}

// A list without elements is an empty one.
func TestEmptyList(t *testing.T) {
	h, _ := newHandler()
	if w := asks(h, "GET", "/v1/zones/slots/keys", ""); w.Body.String() != "[]\n" {
		t.Errorf("%d, %s", w.Code, w.Body)
	}
}

// Rules are chosen by what they do, and by who made them.
func TestChosenRules(t *testing.T) {
	for query, want := range map[string]string{
		"action=block":              "203.0.113.7/32",
		"origin=cli":                "203.0.113.0/24",
		"origin=cli&action=limit":   "203.0.113.0/24",
		"origin=handdown":           "203.0.113.7/32",
		"origin=config":             "",
		"origin=cli&action=block":   "",
		"action=allow&origin=fleet": "",
	} {
		h, _ := newHandler()
		var rules []admin.KernelRule
		w := asks(h, "GET", "/v1/rules?"+query, "")
		if err := json.Unmarshal(w.Body.Bytes(), &rules); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rules {
			got = append(got, r.Prefix.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// What is wrong is refused with what to do, in the form of a problem, and nothing is done.
func TestRefusals(t *testing.T) {
	tests := []struct {
		request
		status int
		want   string
	}{
		{request{"GET", "/v1/nothing", ""}, 404, `nothing is at "/v1/nothing"; GET /v1/openapi.json says what there is`},
		{request{"GET", "/", ""}, 404, "nothing is at"},
		{request{"GET", "/debug/pprof/", ""}, 404, "nothing is at"},
		{request{"DELETE", "/v1/status", ""}, 405, `"DELETE" is no method of "/v1/status"; use GET, HEAD`},
		{request{"OPTIONS", "/v1/reload", ""}, 405, `use POST`},
		{request{"POST", "/v1/reload", ""}, 415, "Content-Type: application/json"},
		{request{"GET", "/v1/top?n=0", ""}, 400, `n="0"; use a number from 1 to 1000`},
		{request{"GET", "/v1/top?n=1001", ""}, 400, `use a number from 1 to 1000`},
		{request{"GET", "/v1/top?n=", ""}, 400, `use a number from 1 to 1000`},
		{request{"GET", "/v1/top?n=1&n=2", ""}, 400, `"n" is there twice`},
		{request{"GET", "/v1/top?m=1", ""}, 400, `unknown parameter "m"; there is n`},
		{request{"GET", "/v1/status?x", ""}, 400, `unknown parameter "x"; there is none`},
		{request{"GET", "/v1/top?n=%zz", ""}, 400, `invalid URL escape`},
		{request{"GET", "/v1/rules?action=drop", ""}, 400, `use one of allow, block, limit`},
		{request{"GET", "/v1/rules?action=%ff", ""}, 400, `use one of`},
		{request{"GET", "/v1/zones/none", ""}, 404, `no zone "none"`},
		{request{"GET", "/v1/zones/none/keys", ""}, 404, `zone "none": not found`},
		{request{"GET", "/v1/zones/perip/key", ""}, 400, `parameter "part" is missing`},
		{request{"GET", "/v1/zones/slots/key?part=x", ""}, 422, `has 2 parts, not 1`},
		{request{"PATCH", "/v1/zones/perip", `{}`}, 422, `one of the two`},
		{request{"PATCH", "/v1/zones/perip", `{"rate":"1r/s","concurrent":1}`}, 422, `one of the two`},
		{request{"PATCH", "/v1/zones/perip", `{"concurrent":1}`}, 422, `has a rate, 10r/s`},
		{request{"PATCH", "/v1/zones/slots", `{"rate":"1r/s"}`}, 422, `counts requests at a time`},
		{request{"PATCH", "/v1/zones/perip", `{"rate":"10kps"}`}, 422, `10kps`},
		{request{"PATCH", "/v1/zones/perip", `{"rate":"0r/s"}`}, 422, `0r/s`},
		{request{"PATCH", "/v1/zones/none", `{"rate":"1r/s"}`}, 404, `no zone "none"`},
		{request{"PUT", "/v1/rules", `{"action":"block"}`}, 400, `the field "prefix" is missing`},
		{request{"PUT", "/v1/rules", `{"prefix":"0.0.0.0/0","action":"block"}`}, 422, "cut off the gateway"},
		{request{"PUT", "/v1/rules", `{"prefix":"203.0.113.7/24","action":"block"}`}, 422, "use 203.0.113.0/24"},
		{request{"PUT", "/v1/rules", `{"prefix":"fe80::1%eth0","action":"block"}`}, 422, "leave out the zone"},
		{request{"PUT", "/v1/rules", `{"prefix":"::1","action":"drop"}`}, 422, `action "drop": use allow, block or limit`},
		{request{"PUT", "/v1/rules", `{"prefix":"::1","action":"limit"}`}, 422, "needs a rate or a bandwidth"},
		{request{"PUT", "/v1/rules", `{"prefix":"::1","action":"allow","rate":"1pps"}`}, 422, "has no limit"},
		{request{"PUT", "/v1/rules", `{"prefix":"::1","action":"limit","burst":1}`}, 422, "there is a burst and no rate"},
		{request{"PUT", "/v1/rules", `{"prefix":"::1","action":"limit","rate":"10kps"}`}, 422, `10kps`},
		{request{"PUT", "/v1/rules", `{"prefix":"::1","action":"limit","rate":"1pps","burst":18446744073709551615}`}, 422, `too large`},
		{request{"PUT", "/v1/rules", `{"prefix":"::1","action":"limit","bandwidth":"100Mbps"}`}, 422, `bits or bytes`},
		{request{"PUT", "/v1/rules", `{"prefix":"::1","action":"block","for":"soon"}`}, 422, `use a time above 0`},
		{request{"PUT", "/v1/rules", `{"prefix":"::1","action":"block","for":"-1s"}`}, 422, `use a time above 0`},
		{request{"DELETE", "/v1/rules", ""}, 400, `"prefix" is missing`},
		{request{"DELETE", "/v1/rules?prefix=::1&prefix=x", ""}, 422, `prefix "x": use an address`},
		{request{"PUT", "/v1/fleet/rules", `{"action":"block"}`}, 400, `the field "prefixes" is missing`},
		{request{"PUT", "/v1/fleet/rules", `{"prefixes":[],"action":"block"}`}, 422, "there is no prefix"},
		{request{"PUT", "/v1/fleet/rules", `{"prefixes":["::1","x"],"action":"block"}`}, 422, `prefix "x": use an address`},
		{request{"PUT", "/v1/fleet/rules", `{"prefixes":["::1"],"action":"limit"}`}, 422, "needs a rate or a bandwidth"},
		{request{"PUT", "/v1/fleet/rules", `{"prefixes":["::1"],"action":"block","for":"0s"}`}, 422, "use a time above 0"},
		{request{"PUT", "/v1/fleet/rules", `{"prefixes":["::1"],"action":"block","policy":"dns"}`}, 400, `unknown field "policy"`},
		{request{"PUT", "/v1/fleet/rules", `{"prefixes":["::1"],"action":"block","reason":"a\nb"}`}, 422, "do not print"},
		{request{"PUT", "/v1/fleet/rules", `{"prefixes":["::1"],"action":"block","reason":"` + strings.Repeat("x", 201) + `"}`}, 422, "longer than 200 bytes"},
		{
			request{"PUT", "/v1/fleet/rules", `{"prefixes":["` + strings.Repeat("x", 1<<20) + `"],"action":"block"}`}, 413,
			"the body is longer than 1048576 bytes, as a list of more than 20000 prefixes may be; a machine publishes fleet.max_published rules a minute",
		},
		{request{"DELETE", "/v1/fleet/rules", ""}, 400, `"prefix" is missing`},
		{request{"DELETE", "/v1/fleet/rules?prefix=::1&prefix=x", ""}, 422, `prefix "x": use an address`},
		{request{"PUT", "/v1/policies/dns", `{"proto":"udp"}`}, 422, "needs a rate or a bandwidth"},
		{request{"PUT", "/v1/policies/dns", `{"rate":"1pps","ports":"0"}`}, 422, "use a port from 1 to 65535"},
		{request{"PUT", "/v1/policies/dns", `{"rate":"1pps","ports":"2-1"}`}, 422, `ports "2-1": the range ends before it starts; use 1-2`},
		{request{"PUT", "/v1/policies/dns", `{"rate":"1pps","overflow":"shared"}`}, 422, `overflow "shared": use estimate, pass or drop`},
		{request{"PUT", "/v1/policies/dns", `{"rate":"1pps","key":"x"}`}, 422, `key "x": use source or shared`},
		{request{"PUT", "/v1/policies/dns", `{"rate":"1pps","proto":"256"}`}, 422, `256`},
		{request{"DELETE", "/v1/policies/web", ""}, 404, "there is dns"},
		{request{"POST", "/v1/reports", `{"prefix":"203.0.113.0/24"}`}, 422, "report addresses"},
		{request{"POST", "/v1/reports", `{"prefix":"::1","count":-1}`}, 422, "count -1: use 1 to 1000000"},
		{request{"POST", "/v1/reports", `{"prefix":"::1","reason":"a\nb"}`}, 422, "do not print"},
		{request{"POST", "/v1/reports", `{"prefix":"::1","reason":"` + strings.Repeat("x", 201) + `"}`}, 422, "longer than 200 bytes"},
		{request{"GET", "/v1/events?kind=x", ""}, 400, "use one of refused, dropped"},
	}
	for _, tt := range tests {
		h, a := newHandler()
		w := asks(h, tt.method, tt.target, tt.body)
		checkProblem(t, tt.method+" "+tt.target+" "+tt.body, w.Code, w.Header(), w.Body.Bytes(), tt.status, tt.want)
		for _, call := range a.Calls() {
			if !strings.HasPrefix(call, "report 203.0.113.0/24") && !strings.HasPrefix(call, "set 0.0.0.0/0") {
				t.Errorf("%s %s %s: done all the same: %s", tt.method, tt.target, tt.body, call)
			}
		}
	}
}

func checkProblem(t *testing.T, what string, code int, header http.Header, body []byte, status int, detail string) {
	t.Helper()
	var p admin.Problem
	err := json.Unmarshal(body, &p)
	wrong := err != nil || code != status || p.Status != status || p.Title != http.StatusText(status) || p.Type != "about:blank"
	if wrong || !strings.Contains(p.Detail, detail) || header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: %d, %s; want %d, %s", what, code, body, status, detail)
	}
}

// What the configuration has no section for is said to be that.
func TestSectionsThatAreNotThere(t *testing.T) {
	h := admin.NewHandler(&agentfake.Agent{Off: true}, admin.Options{})
	for _, r := range good() {
		path, _, _ := strings.Cut(r.target, "?")
		kernel := strings.HasPrefix(path, "/v1/rules") || strings.HasPrefix(path, "/v1/policies") || path == "/v1/top"
		var want string
		switch {
		case kernel:
			want = "the kernel's limiter is not configured; add a kernel section to the agent's file"
		case path == "/v1/offenders", path == "/v1/reports":
			want = "hand-down is not configured; add a handdown section"
		case strings.HasPrefix(path, "/v1/fleet"):
			want = "a fleet is not configured; add a redis section"
		default:
			continue
		}
		w := asks(h, r.method, r.target, r.body)
		checkProblem(t, r.method+" "+r.target, w.Code, w.Header(), w.Body.Bytes(), http.StatusConflict, want)
	}
}

// An error of the agent says which it is: a refusal is the caller's, another the agent's.
func TestErrorsOfTheAgent(t *testing.T) {
	for err, status := range map[error]int{
		errors.New("disk full"):                             http.StatusInternalServerError,
		admin.Refusal{Err: errors.New("f.yaml:3:1: wrong")}: http.StatusUnprocessableEntity,
	} {
		h := admin.NewHandler(&agentfake.Agent{ReloadError: err}, admin.Options{})
		w := asks(h, "POST", "/v1/reload", "{}")
		checkProblem(t, "reload", w.Code, w.Header(), w.Body.Bytes(), status, err.Error())
	}
}

// Where Redis does not answer nothing is done, and that is nobody's mistake.
func TestRedisIsAway(t *testing.T) {
	away := fmt.Errorf("%w (connection refused); nothing was published", admin.ErrAway)
	h := admin.NewHandler(&agentfake.Agent{FleetError: away}, admin.Options{})
	for _, r := range good() {
		if path, _, _ := strings.Cut(r.target, "?"); path == "/v1/fleet/rules" && r.method != "GET" {
			w := asks(h, r.method, r.target, r.body)
			checkProblem(t, r.method+" "+r.target, w.Code, w.Header(), w.Body.Bytes(), http.StatusServiceUnavailable, away.Error())
		}
	}
}

// logTo returns a log without times.
func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
			if attr.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return attr
		},
	}))
}

// Each change is a line in the log, done or refused, with what was before and what was asked for. Reading is none, and what
// keeps a reload from happening the agent tells itself.
func TestChangesAreLogged(t *testing.T) {
	var log bytes.Buffer
	a := &agentfake.Agent{WithKernel: true, ReloadError: errors.New("headgate.yaml:3:1: wrong")}
	h := admin.NewHandler(a, admin.Options{Log: logTo(&log)})
	asks(h, "GET", "/v1/zones", "")
	asks(h, "PATCH", "/v1/zones/perip", `{"rate":"20r/s"}`)
	asks(h, "PATCH", "/v1/zones/slots", `{"concurrent":7}`)
	asks(h, "PATCH", "/v1/zones/none", `{"rate":"20r/s"}`)
	asks(h, "DELETE", "/v1/zones/perip/key?part=a%0ab", "")
	asks(h, "PUT", "/v1/rules", `{"prefix":"203.0.113.7","action":"block","for":"10m"}`)
	asks(h, "DELETE", "/v1/rules?prefix=203.0.113.7", "")
	asks(h, "PUT", "/v1/policies/dns", `{"proto":"udp","ports":"53","rate":"70pps"}`)
	asks(h, "PUT", "/v1/policies/new", `{"rate":"70pps"}`)
	asks(h, "POST", "/v1/reports", `{"prefix":"203.0.113.7","reason":"failed login"}`)
	asks(h, "PUT", "/v1/fleet/rules", `{"prefixes":["203.0.113.7"],"action":"block"}`)
	asks(h, "PUT", "/v1/fleet/rules", `{"prefixes":["::1","::2","::3","::4","::5","::6","::7"],"action":"allow","for":"1h"}`)
	asks(h, "DELETE", "/v1/fleet/rules?prefix=203.0.113.7", "")
	asks(h, "POST", "/v1/reload", "{}")
	golden.Check(t, "log", log.Bytes())
}

// Whoever may connect cannot fill the log with requests that are not admitted.
func TestStrangersAreLoggedSeldom(t *testing.T) {
	var log bytes.Buffer
	h := admin.NewHandler(&agentfake.Agent{}, admin.Options{TokenFile: tokenFile(t, token), Log: logTo(&log)})
	const many = 1000
	for range many {
		asks(h, "GET", "/v1/status", "")
	}
	if n := strings.Count(log.String(), "not admitted"); n < 1 || n > many/100 {
		t.Errorf("%d lines of %d requests:\n%s", n, many, &log)
	}
}

// Profiles are served where the options say so, and never over TCP.
func TestPprof(t *testing.T) {
	for path, want := range map[string]string{"/debug/pprof/": "goroutine", "/debug/pprof/heap": "", "/debug/pprof/cmdline": "admin"} {
		h := admin.NewHandler(&agentfake.Agent{}, admin.Options{Pprof: true})
		if w := asks(h, "GET", path, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d", path, w.Code)
		}
		h = admin.NewHandler(&agentfake.Agent{}, admin.Options{Pprof: true, TokenFile: tokenFile(t, token)})
		if w := asks(h, "GET", path, "", "Authorization: Bearer "+token); w.Code != http.StatusNotFound {
			t.Errorf("%s over TCP: %d", path, w.Code)
		}
	}
}
