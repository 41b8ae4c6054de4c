package part

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// counter is a backend that counts requests by the client that the proxy names.
type counter struct {
	mu     sync.Mutex
	counts Counted
}

// ServeHTTP implements http.Handler.
func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.counts[r.Header.Get("X-Forwarded-For")]++
	c.mu.Unlock()
	_, _ = io.WriteString(w, "hello\n") // who is gone says so himself
}

func (c *counter) counted() Counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// serve is the backend. At each order it tells what it counted.
func serve(s Script, orders io.Reader, out io.Writer) error {
	c := &counter{counts: Counted{}}
	on, err := net.Listen("tcp", s.Server.String())
	if err != nil {
		return err
	}
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(on) }() // it ends with Close only
	defer server.Close()
	told := json.NewEncoder(out)
	for lines := bufio.NewScanner(orders); ; {
		if err := told.Encode(c.counted()); err != nil {
			return fmt.Errorf("tell what was counted: %w", err)
		}
		if !lines.Scan() {
			return lines.Err()
		}
	}
}
