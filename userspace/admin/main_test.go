package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/userspace/admin"
)

// asks sends one request to an API, with a body if it is not empty.
func asks(h http.Handler, method, target, body string, fields ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// newHandler returns the API of a fake agent with all sections.
func newHandler() (http.Handler, *agentfake.Agent) {
	a := &agentfake.Agent{WithKernel: true}
	return admin.NewHandler(a, admin.Options{}), a
}
