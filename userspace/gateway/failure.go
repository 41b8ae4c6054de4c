package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// statusOf returns what a request is answered with that no server has answered because of err.
func statusOf(err error) int {
	switch {
	case isUnreachable(err):
		return http.StatusServiceUnavailable
	case isTimeout(err):
		return http.StatusGatewayTimeout
	default:
		return http.StatusBadGateway
	}
}

// retryUnreachable is when a client is to come back, in seconds, if no server could be reached. Those
// are restarts mostly.
const retryUnreachable = "5"

// fail is httputil.ReverseProxy.ErrorHandler.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	x.restore()
	if bodyErr := x.body.failure(); bodyErr != nil {
		failBody(w, r, bodyErr)
		return
	}
	status := statusOf(err)
	if r.Context().Err() == nil {
		if times, ok := p.failing.Now(); ok {
			p.log.Error("no answer from the upstream", "error", err, "status", status, "requests", times)
		}
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryUnreachable)
	}
	writeFailure(w, r, status, detailOf(status))
}

func detailOf(status int) string {
	switch status {
	case http.StatusServiceUnavailable:
		return "No server can be reached. Try again later."
	case http.StatusGatewayTimeout:
		return "The server did not answer in time."
	default:
		return "The server did not answer, or not in a way that can be passed on."
	}
}

// failBody answers a request whose client did not send what it was to send. The connection has no use after that.
func failBody(w http.ResponseWriter, r *http.Request, err error) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		writeFailure(w, r, http.StatusRequestEntityTooLarge, "The request's body is too large.")
	case isTimeout(err):
		writeFailure(w, r, http.StatusRequestTimeout, "The request's body did not come in time.")
	default:
		writeFailure(w, r, http.StatusBadRequest, "The request's body could not be read to its end.")
	}
}

// failure is an object of RFC 9457. Its type is about:blank, so that the title is the status's text.
type failure struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// writeFailure answers r with a status and why.
func writeFailure(w http.ResponseWriter, r *http.Request, status int, detail string) {
	body, err := json.Marshal(failure{http.StatusText(status), status, detail})
	if err != nil { // not of strings and numbers
		body = []byte("{}")
	}
	body = append(body, '\n')
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// An error is that the client left, which is its own affair.
		_, _ = w.Write(body)
	}
}
