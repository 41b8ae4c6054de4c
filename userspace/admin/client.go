package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// DefaultSocket is where the agent listens, and a client looks, if nothing else is said.
const DefaultSocket = "/run/headgate/admin.sock"

const (
	dialTimeout = 5 * time.Second
	// callTimeout is for an answer. To reload may mean to set a million rules.
	callTimeout = time.Minute
	// maxProblem bounds how much of an error is read, in bytes, maxAnswer how much of an answer, and maxLine how long the
	// line of an event is.
	maxProblem = 64 << 10
	maxAnswer  = 64 << 20
	maxLine    = 256 << 10
)

// Errors of a Client, beside those that the agent answers with, which are each a *Problem.
var (
	// ErrNoAgent is of an address at which nobody listens.
	ErrNoAgent = errors.New("no agent answers")
	// ErrEnded is what a stream of events ends with when the agent does.
	ErrEnded = errors.New("the agent has ended the stream")
)

// Client asks an agent. Its methods may be called at the same time. Each waits for at most a minute, but for
// Events, and ends with ctx.
type Client struct {
	http      *http.Client
	address   string // as people know it
	base      string
	tokenFile string
}

// NewClient returns a client of the agent at an address: the path of its socket, or a URL such as
// http://127.0.0.1:9091, for which tokenFile has the token. Nothing is connected yet.
func NewClient(address, tokenFile string) (*Client, error) {
	c := &Client{address: address, base: "http://localhost", tokenFile: tokenFile}
	dialer := &net.Dialer{Timeout: dialTimeout}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", address)
	}
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return nil, fmt.Errorf("agent %q: use the path of its socket, or a URL such as http://127.0.0.1:9091", address)
		}
		if tokenFile == "" {
			return nil, fmt.Errorf("agent %q: on TCP it asks for a token; name the file that has it (token file)", address)
		}
		if !isLoopback(u.Host) { // no agent answers there, and all on the way would read the token
			return nil, fmt.Errorf("agent %q: an agent listens on loopback only; forward a port to it, as with ssh -L, and ask http://127.0.0.1:PORT", address)
		}
		c.base, dial = "http://"+u.Host, dialer.DialContext
	}
	c.http = &http.Client{
		Transport:     &http.Transport{DialContext: dial, MaxIdleConns: 2, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// Close closes connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call asks for an operation and returns what it answers; in is its body, nil for none.
func call[Out any](ctx context.Context, c *Client, method, path string, query url.Values, in any) (out Out, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := c.ask(ctx, method, path, query, in)
	if err != nil {
		return out, err
	}
	defer response.Body.Close()
	body := &io.LimitedReader{R: response.Body, N: maxAnswer}
	err = json.NewDecoder(body).Decode(&out)
	switch {
	case err != nil && body.N == 0:
		return out, fmt.Errorf("the agent's answer is longer than %d MiB; ask for less", maxAnswer>>20)
	case err != nil:
		return out, fmt.Errorf("read the agent's answer: %w", err)
	}
	return out, nil
}

// ask returns an answer that is no error. The caller closes its body.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	r, err := c.request(ctx, method, path, query, in)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, c.failed(err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, problemFrom(response)
	}
	return response, nil
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	r.URL.RawQuery = query.Encode()
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.tokenFile != "" {
		token, err := readToken(c.tokenFile)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r, nil
}

// failed says why there was no answer.
func (c *Client) failed(err error) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err // without the URL, which is made up
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w at %s", ErrNoAgent, c.address)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the agent at %s did not answer in time: %w", c.address, err)
	default:
		return fmt.Errorf("ask the agent at %s: %w", c.address, err)
	}
}

// problemFrom returns the error that the agent answered with.
func problemFrom(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxProblem))
	if err != nil {
		return fmt.Errorf("read the agent's answer: %w", err)
	}
	p := &Problem{}
	if json.Unmarshal(text, p) != nil || p.Detail == "" {
		return problem(response.StatusCode, "the agent answered with %s, and %.200q; is it one?", response.Status, text)
	}
	return p
}
