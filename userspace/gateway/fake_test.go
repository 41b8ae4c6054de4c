package gateway

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// fakeServers answers for servers by their host; an error of one counts as what it is.
type fakeServers struct {
	mu     sync.Mutex
	answer map[string]func(*http.Request) (*http.Response, error)
	asked  []string
}

func (f *fakeServers) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.asked = append(f.asked, r.URL.Host)
	answer := f.answer[r.URL.Host]
	f.mu.Unlock()
	return answer(r)
}

func (f *fakeServers) set(host string, answer func(*http.Request) (*http.Response, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer[host] = answer
}

// taken returns who was asked since.
func (f *fakeServers) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func answering(status int) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
}

func failing(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// readingFirst fails after it has read of the body.
func readingFirst(err error) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = r.Body.Read(make([]byte, 1))
		}
		return nil, err
	}
}

type timeoutError struct{ error }

func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// servers returns the URLs of servers of these names.
func servers(t testing.TB, names ...string) (u []*url.URL) {
	for _, n := range names {
		u = append(u, parse(t, "http://"+n))
	}
	return u
}

// sent is a request as a server of net/http gets it.
func sent(method, body string) *http.Request {
	r, _ := http.NewRequest(method, "http://h/", nil)
	if body != "" {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}
	r.RemoteAddr = "203.0.113.7:4711"
	return r
}

// answer serves r by h, and returns what was answered.
func answer(h http.Handler, r *http.Request) got {
	w := &recorder{header: http.Header{}}
	h.ServeHTTP(w, r)
	return got{w.status, w.header, w.body.String()}
}

// recorder is a http.ResponseWriter.
type recorder struct {
	header http.Header
	status int
	body   strings.Builder
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}
func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}
