package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Problem is an error of the API (RFC 9457).
type Problem struct {
	Type   string `json:"type" doc:"about:blank: the title says it"`
	Title  string `json:"title" doc:"of the status"`
	Status int    `json:"status" doc:"of the answer"`
	Detail string `json:"detail" doc:"what was wrong, and what to do"`
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// problem returns a Problem of a status.
func problem(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// problemOf returns err as a Problem: an agent's by what kind it is of.
func problemOf(err error) *Problem {
	var known *Problem
	var refusal Refusal
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, ErrNotFound):
		return problem(http.StatusNotFound, "%v", err)
	case errors.Is(err, ErrOff):
		return problem(http.StatusConflict, "%v", err)
	case errors.Is(err, ErrAway):
		return problem(http.StatusServiceUnavailable, "%v", err)
	case errors.As(err, &refusal):
		return problem(http.StatusUnprocessableEntity, "%v", err)
	default:
		return problem(http.StatusInternalServerError, "%v", err)
	}
}

// write answers with the problem.
func (p *Problem) write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil { // it has only texts and a number
		panic(err)
	}
	header := w.Header()
	header.Set("Content-Type", "application/problem+json")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // a client that has gone needs no answer
}
