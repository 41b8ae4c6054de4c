package conformance

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/httplimit"
)

// Handler is a front that is a http.Handler.
type Handler struct {
	// Label is its Name.
	Label string
	http.Handler
	// Ask returns what the handler is given for a step.
	Ask func(t *testing.T, s Step) *http.Request
}

// openMiddleware is the first front, which all others are compared with.
func openMiddleware(_ *testing.T, r Rules) Front {
	passed := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	return Handler{"middleware", httplimit.New(r.Set, r.Options)(passed), Direct}
}

// Name implements Front.
func (h Handler) Name() string { return h.Label }

// Do implements Front.
func (h Handler) Do(t *testing.T, s Step) Answer {
	t.Helper()
	w := h.Record(t, s)
	return Answer{Status: w.Code, Header: Told(w.Header()), Body: w.Body.String()}
}

// Record returns all that the handler answers.
func (h Handler) Record(t *testing.T, s Step) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, h.Ask(t, s))
	return w
}

// Direct returns the request of a step as a server reads it from its client.
func Direct(t *testing.T, s Step) *http.Request {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(s.text())))
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr = "@" // as net/http has it of a unix socket
	if s.Peer.IsValid() {
		r.RemoteAddr = netip.AddrPortFrom(s.Peer, 4711).String()
	}
	return r.WithContext(t.Context())
}

// text returns the request as it is sent.
func (s Step) text() string {
	var b strings.Builder
	b.WriteString(s.Method + " " + s.Target + " HTTP/1.1\r\nHost: " + s.Host + "\r\n")
	_ = s.Header.Write(&b) // a Builder has no errors
	if s.Body != "" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(s.Body)) + "\r\n")
	}
	b.WriteString("\r\n" + s.Body)
	return b.String()
}
