package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Check is something that headgate needs to be ready.
type Check struct {
	Name string
	// Ready returns nil, or an error that says what is missing. It must not block.
	Ready func() error
}

// Healthz answers 200 to whoever asks whether the process lives.
func Healthz() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "text/plain; charset=utf-8", "ok\n")
	})
}

// Readyz answers 200 if all checks are, else 503, and tells about each: as text, or as JSON to who accepts that.
func Readyz(checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, status := look(checks), http.StatusOK
		if !found.Ready {
			status = http.StatusServiceUnavailable
		}
		if wantsJSON(r) {
			body, _ := json.Marshal(found) // texts and booleans always can be
			answer(w, status, "application/json", string(body)+"\n")
			return
		}
		answer(w, status, "text/plain; charset=utf-8", found.text())
	})
}

// NewMux serves /metrics, /healthz and /readyz, for GET and HEAD.
func NewMux(m *Metrics, checks ...Check) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	mux.Handle("GET /healthz", Healthz())
	mux.Handle("GET /readyz", Readyz(checks...))
	return mux
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready  bool     `json:"ready"`
	Checks []result `json:"checks"`
}

type result struct {
	Name   string `json:"name"`
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`
}

func look(checks []Check) readiness {
	found := readiness{Ready: true, Checks: []result{}}
	for _, c := range checks {
		r := result{Name: c.Name, Ready: true}
		if err := c.Ready(); err != nil {
			r.Ready, r.Reason = false, err.Error()
			found.Ready = false
		}
		found.Checks = append(found.Checks, r)
	}
	return found
}

func (f readiness) text() string {
	var b strings.Builder
	if f.Ready {
		b.WriteString("ready\n")
	} else {
		b.WriteString("not ready\n")
	}
	for _, c := range f.Checks {
		if c.Ready {
			fmt.Fprintf(&b, "  %s: ready\n", c.Name)
		} else {
			fmt.Fprintf(&b, "  %s: %s\n", c.Name, c.Reason)
		}
	}
	return b.String()
}

func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

func answer(w http.ResponseWriter, status int, contentType, body string) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // who asked has gone
}
