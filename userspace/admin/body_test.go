package admin_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/userspace/admin"
)

// A body is one JSON object of known fields, and of nothing that a reader could take in two ways.
func TestBodies(t *testing.T) {
	const right = `{"prefix":"203.0.113.7"}`
	tests := []struct {
		body   string
		status int
		want   string
	}{
		{right, 200, ""},
		{" \n" + right + "\t\r\n", 200, ""},
		{`{"prefix":"203.0.113.\u0037"}`, 200, ""},
		{" ", 400, "not a JSON object"},
		{"null", 400, "not a JSON object"},
		{"[]", 400, "not a JSON object"},
		{`"x"`, 400, "not a JSON object"},
		{"{", 400, "not JSON: unexpected EOF"},
		{`{"prefix"`, 400, "not JSON"},
		{`{"prefix":`, 400, "not JSON"},
		{`{"prefix":"203.0.113.7"`, 400, "not JSON"},
		{`{"prefix":"203.0.113.7",}`, 400, "not JSON"},
		{`{prefix:"203.0.113.7"}`, 400, "not JSON"},
		{right + right, 400, "more behind the object"},
		{right + "]", 400, "more behind the object"},
		{`{"Prefix":"203.0.113.7"}`, 400, `unknown field "Prefix"; there is prefix, reason, count`},
		{`{"prefix":"203.0.113.7","extra":1}`, 400, `unknown field "extra"`},
		{`{"prefix":"203.0.113.7","prefix":"203.0.113.8"}`, 400, `the field "prefix" is there twice`},
		{`{"prefix":"203.0.113.7","\u0070refix":"203.0.113.8"}`, 400, `the field "prefix" is there twice`},
		{`{"prefix":null}`, 400, `the field "prefix" is null`},
		{`{"prefix":7}`, 400, `"prefix" is a number; use a value of type string`},
		{`{"prefix":"203.0.113.7","count":"1"}`, 400, `"count" is a string; use a value of type integer`},
		{`{"prefix":"203.0.113.7","count":1.5}`, 400, `"count" is a number 1.5; use a value of type integer`},
		{`{"prefix":"203.0.113.7","count":1e99}`, 400, `"count"`},
		{"{\"prefix\":\"203.0.113.7\xff\"}", 400, "not UTF-8"},
		{`{"prefix":"203.0.113.7","reason":"` + strings.Repeat("x", 1<<16) + `"}`, 413, "longer than 65536 bytes"},
		{strings.Repeat("[", 60000), 400, "not a JSON object"},
		{`{"prefix":` + strings.Repeat("[", 60000), 400, "not JSON"},
	}
	for _, tt := range tests {
		a := &agentfake.Agent{}
		w := asks(admin.NewHandler(a, admin.Options{}), "POST", "/v1/reports", tt.body)
		if tt.status == http.StatusOK {
			if w.Code != tt.status || len(a.Calls()) != 1 {
				t.Errorf("%s: %d, %s", tt.body, w.Code, w.Body)
			}
			continue
		}
		checkProblem(t, tt.body[:min(len(tt.body), 80)], w.Code, w.Header(), w.Body.Bytes(), tt.status, tt.want)
		if calls := a.Calls(); len(calls) > 0 {
			t.Errorf("%s: done all the same: %s", tt.body, calls)
		}
	}
}

// checkAnswer fails unless an answer is JSON, of a kind that the API has, and nothing of the agent's fault.
func checkAnswer(t *testing.T, h http.Handler, r request) {
	t.Helper()
	w := asks(h, r.method, r.target, r.body)
	if w.Code >= 500 || w.Code >= 300 && w.Code < 400 && w.Header().Get("Location") == "" {
		t.Errorf("%s %q %q: %d, %s", r.method, r.target, r.body, w.Code, w.Body)
	}
	if w.Code < 300 && !json.Valid(w.Body.Bytes()) {
		t.Errorf("%s %q %q: not JSON: %s", r.method, r.target, r.body, w.Body)
	}
	if w.Code >= 400 {
		checkProblem(t, r.target, w.Code, w.Header(), w.Body.Bytes(), w.Code, "")
	}
}

func FuzzBody(f *testing.F) {
	for i, r := range good() {
		f.Add(i, r.body)
	}
	f.Add(2, `{"prefix":"\ud800"}`)
	f.Add(12, `{"prefix":"::/0","action":"limit","bandwidth":"400Gbit/s","bandwidth_burst":18446744073709551615}`)
	f.Fuzz(func(t *testing.T, i int, body string) {
		r := good()[uint(i)%uint(len(good()))]
		r.body = body
		h, _ := newHandler()
		checkAnswer(t, h, r)
	})
}

// Names and keys are of any bytes, as long as they are escaped.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"perip", "a/b", "..", ".", "", "\x00", "\xff", "ä", "{zone}", "a%2fb", strings.Repeat("x", 5000), "203.0.113.7", "::1%eth0"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, name, part string) {
		h, _ := newHandler()
		name, part = url.PathEscape(name), url.QueryEscape(part)
		for _, r := range []request{
			{"GET", "/v1/zones/" + name, ""}, {"GET", "/v1/zones/" + name + "/keys?n=" + part, ""},
			{"GET", "/v1/zones/perip/key?part=" + part, ""}, {"DELETE", "/v1/zones/slots/key?part=" + part + "&part=" + part, ""},
			{"PATCH", "/v1/zones/" + name, `{"rate":"1r/s"}`}, {"DELETE", "/v1/rules?prefix=" + part, ""},
			{"PUT", "/v1/policies/" + name, `{"rate":"1pps"}`}, {"DELETE", "/v1/policies/" + name, ""}, {"GET", "/v1/rules?origin=" + part, ""},
		} {
			checkAnswer(t, h, r)
		}
	})
}
