package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// exchangeKey is the key of a request's exchange in its context.
type exchangeKey struct{}

// exchange is a request on its way through the proxy. httputil.ReverseProxy has several functions to hook into, and
// nothing that they share but the request's context, which this is therefore.
type exchange struct {
	context.Context
	w      http.ResponseWriter
	fields []field   // that the response had before the proxy
	server *server   // that has it now; nil for none
	body   *sentBody // nil if the request has none
	room   [4]field
}

// field is one of a header.
type field struct {
	name   string
	values []string
}

func newExchange(ctx context.Context, w http.ResponseWriter) *exchange {
	x := &exchange{Context: ctx, w: w}
	x.fields = x.room[:0]
	for name, values := range w.Header() {
		x.fields = append(x.fields, field{name, values})
	}
	return x
}

// Value implements context.Context.
func (x *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return x
	}
	return x.Context.Value(key)
}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// enter makes s the server that has the request.
func (x *exchange) enter(s *server) {
	x.leave()
	x.server = s
	s.inFlight.Add(1)
	s.requests.Add(1)
}

// leave makes no server have the request.
func (x *exchange) leave() {
	if x.server != nil {
		x.server.inFlight.Add(-1)
		x.server = nil
	}
}

// restore sets again what ReverseProxy clears when it has passed on a response of 1xx.
func (x *exchange) restore() {
	h := x.w.Header()
	if len(h) > 0 {
		return
	}
	for _, f := range x.fields {
		h[f.name] = f.values
	}
}

// modifyResponse lets the fields of limits that have one value be ours, where we set them.
func modifyResponse(res *http.Response) error {
	x := exchangeOf(res.Request.Context())
	x.restore()
	for _, f := range x.fields {
		if hasOneLimit(f.name) {
			delete(res.Header, f.name)
		}
	}
	return nil
}

// hasOneLimit reports whether a field tells of one limit. Draft10's are lists, to which a server may add.
func hasOneLimit(name string) bool {
	for _, prefix := range []string{"Ratelimit-", "X-Ratelimit-", "X-Rate-Limit-"} {
		if what, ok := strings.CutPrefix(name, prefix); ok {
			return what == "Limit" || what == "Remaining" || what == "Reset"
		}
	}
	return false
}

// sentBody is a request's body that can be given to another server as long as none has read of it, and
// that knows whether it was the client that did not send it.
type sentBody struct {
	io.Reader
	read atomic.Bool

	mu  sync.Mutex
	err error
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	b.read.Store(true)
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		b.mu.Lock()
		b.err = err
		b.mu.Unlock()
	}
	return n, err
}

// Close does nothing: a transport closes the body of a request that it could not send. ReverseProxy sees to it that
// nobody reads after the handler.
func (b *sentBody) Close() error { return nil }

// isWhole reports whether nobody has read. It is true for no body.
func (b *sentBody) isWhole() bool { return b == nil || !b.read.Load() }

// failure returns the error of reading, nil if there was none or there is no body.
func (b *sentBody) failure() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
