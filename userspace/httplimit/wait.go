package httplimit

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// aheadMost is how many bytes of a body are read while its request waits: room for a form, and not
// more than net/http itself needs for a connection.
const aheadMost = 16 << 10

// wait waits for delay. It reports false if the request ended before.
func wait(r *http.Request, delay time.Duration) bool {
	readAhead(r)
	select {
	case <-time.After(delay):
		return true
	case <-r.Context().Done():
		return false
	}
}

// readAhead begins to read the body of an HTTP/1 request if it is small. Only when net/http has read all of
// a body does it look whether the client is still there.
//
// It leaves alone what is around a body, since that may do more than read, at a time when somebody else is at it:
// http.MaxBytesReader sets header fields of the response, and the server's own reader of a body that the client holds
// back sends 100 Continue.
func readAhead(r *http.Request) {
	n := r.ContentLength
	if r.ProtoMajor != 1 || n <= 0 || n > aheadMost || !MayReadAhead(r.Body) {
		return
	}
	a := &ahead{body: r.Body, read: make(chan struct{})}
	go a.fill(int(n))
	r.Body = a
}

// MayReadAhead reports whether body may be read by another goroutine than the handler's: it is one as the server of net/http makes
// it, whose methods lock it, or says so itself by a method MayReadAhead. The former's type has no name here; where it is called otherwise,
// nothing is read ahead.
func MayReadAhead(body io.ReadCloser) bool {
	if b, says := body.(interface{ MayReadAhead() bool }); says {
		return b.MayReadAhead()
	}
	return fmt.Sprintf("%T", body) == "*http.body"
}

// ahead is a body that is read before somebody asks for it.
type ahead struct {
	body io.ReadCloser
	read chan struct{} // closed when data and err are there
	data []byte
	err  error
}

// fill reads n bytes. It ends when the request does at the latest, because net/http ends its reads then.
func (a *ahead) fill(n int) {
	defer close(a.read)
	data := make([]byte, n)
	got, err := io.ReadFull(a.body, data)
	if err == nil {
		err = io.EOF
	}
	a.data, a.err = data[:got], err
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	<-a.read
	if len(a.data) == 0 {
		return 0, a.err
	}
	n := copy(p, a.data)
	a.data = a.data[n:]
	return n, nil
}

// Close implements io.Closer.
func (a *ahead) Close() error { return a.body.Close() }
