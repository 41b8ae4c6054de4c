package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
)

// parseTrace reads a line of a trace into r, which is empty.
func parseTrace(line string, r *Request, n names) error {
	if scanTrace(line, r, n) {
		return nil
	}
	number := r.Line
	r.reset()
	r.Line = number
	return decodeTrace(line, r)
}

// decodeTrace is what a line of a trace means: scanTrace reads the same, faster, or gives up.
func decodeTrace(line string, r *Request) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		return notAnObject(err)
	}
	for _, f := range []struct {
		name string
		read func(*Request, json.RawMessage) error
	}{
		{"t_ms", (*Request).readTime},
		{"took_ms", (*Request).readTook},
		{"ip", (*Request).readIP},
		{"method", readText(func(r *Request) *string { return &r.Method })},
		{"host", readText(func(r *Request) *string { return &r.Host })},
		{"path", readText(func(r *Request) *string { return &r.Path })},
		{"query", readText(func(r *Request) *string { return &r.RawQuery })},
		{"headers", (*Request).readHeaders},
	} {
		value := fields[f.name]
		if isNull(value) {
			value = nil
		}
		if err := f.read(r, value); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	r.complete()
	return nil
}

func notAnObject(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("a JSON %s; write an object: {\"t_ms\":0,\"ip\":\"203.0.113.7\"}", wrong.Value)
	}
	return fmt.Errorf("not JSON: %w", err)
}

func isNull(value json.RawMessage) bool { return bytes.Equal(value, []byte("null")) }

// complete sets what is not recorded.
func (r *Request) complete() {
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.Path == "" {
		r.Path = "/"
	}
	if host := r.Header["Host"]; host != nil { // net/http takes it out of the header
		if r.Host == "" {
			r.Host = host[0]
		}
		delete(r.Header, "Host")
	}
}

func (r *Request) readTime(value json.RawMessage) (err error) {
	if value == nil {
		return errors.New("is lacking; it is when the request came, in milliseconds")
	}
	r.At, err = milliseconds(string(value))
	return err
}

func (r *Request) readTook(value json.RawMessage) (err error) {
	if value == nil {
		return nil
	}
	if r.Took, err = milliseconds(string(value)); err == nil && r.Took < 0 {
		err = errors.New("is negative; it is how long the request took, in milliseconds")
	}
	return err
}

func (r *Request) readIP(value json.RawMessage) error {
	var text string
	if value != nil {
		if err := json.Unmarshal(value, &text); err != nil {
			return errors.New("not a text")
		}
	}
	addr, ok := peer(text)
	switch {
	case text == "":
		return errors.New("is lacking; it is the address of the peer, or unix: for a Unix socket")
	case !ok:
		return fmt.Errorf("%.60q is not an address; write one as 203.0.113.7 or 2001:db8::1, without a port", text)
	}
	r.Peer = addr
	return nil
}

// peer reads the address of a TCP peer, or "unix:", by which nginx names one on a Unix socket.
func peer(s string) (addr netip.Addr, ok bool) {
	if s == "unix:" {
		return netip.Addr{}, true
	}
	addr, err := netip.ParseAddr(s)
	return addr, err == nil
}

func readText(of func(*Request) *string) func(*Request, json.RawMessage) error {
	return func(r *Request, value json.RawMessage) error {
		if value == nil {
			return nil
		}
		if err := json.Unmarshal(value, of(r)); err != nil {
			return errors.New("not a text")
		}
		return nil
	}
}

func (r *Request) readHeaders(value json.RawMessage) error {
	var fields map[string]json.RawMessage
	if value == nil {
		return nil
	}
	if err := json.Unmarshal(value, &fields); err != nil {
		return errors.New(`not an object; write {"appid": "1"}`)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) { // so that the same one is told each time
		values, err := texts(fields[name])
		if err != nil {
			return fmt.Errorf("%.60q: %w", name, err)
		}
		canonical := http.CanonicalHeaderKey(name)
		if _, twice := r.Header[canonical]; twice {
			return fmt.Errorf("%.60q is there twice; write a list of its values", canonical)
		}
		if len(values) > 0 {
			r.add(canonical, values...)
		}
	}
	return nil
}

// texts reads a text or a list of texts.
func texts(value json.RawMessage) ([]string, error) {
	if isNull(value) {
		return nil, nil
	}
	var one string
	if err := json.Unmarshal(value, &one); err == nil {
		return []string{one}, nil
	}
	var several []*string
	if err := json.Unmarshal(value, &several); err != nil || slices.Contains(several, nil) {
		return nil, errors.New("neither a text nor a list of texts")
	}
	values := make([]string, len(several))
	for i, s := range several {
		values[i] = *s
	}
	return values, nil
}
