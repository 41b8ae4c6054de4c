package admin_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// A client reads no more of an answer than a bound, whoever it has got to.
func TestAnswersAreBounded(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 1<<20)
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/status" {
			_, _ = w.Write([]byte(`{"version":"`))
		}
		for range 65 {
			if _, err := w.Write(long); err != nil {
				return // the client has gone
			}
		}
	}))
	if _, err := c.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("status: %v", err)
	}
	events, err := c.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	if _, err := events.Next(); err == nil || !strings.Contains(err.Error(), "longer than 256 KiB") {
		t.Errorf("events: %v", err)
	}
}
