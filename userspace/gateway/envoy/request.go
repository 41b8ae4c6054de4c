package envoy

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// requestOf returns the request that attributes describe, as net/http would have read it; nil if they describe none. Its
// header is that of f.
func requestOf(attributes *authv3.AttributeContext, f *fields) *ruleset.Request {
	asked := attributes.GetRequest().GetHttp()
	if asked == nil {
		return nil
	}
	r := &ruleset.Request{
		Peer:   peerOf(attributes.GetSource().GetAddress()),
		Method: asked.GetMethod(),
		Host:   asked.GetHost(),
		Header: f.header,
	}
	r.Path, r.RawQuery = splitTarget(asked.GetPath())
	f.collect(asked)
	return r
}

// peerOf returns the address of a socket, and an invalid one for a pipe.
func peerOf(a *corev3.Address) netip.Addr { return clientip.Peer(a.GetSocketAddress().GetAddress()) }

// fields are header fields that are being collected. Their memory is used again.
type fields struct {
	header http.Header
	values []string // room for values, of which most names have one
}

// newFields returns fields without any. They are given back by freeFields.
func (s *Server) newFields() *fields {
	if f, ok := s.fields.Get().(*fields); ok {
		return f
	}
	return &fields{header: http.Header{}}
}

// keptFields is the most fields whose memory is kept.
const keptFields = 64

func (s *Server) freeFields(f *fields) {
	if len(f.header) > keptFields || cap(f.values) > keptFields {
		return
	}
	clear(f.header)
	clear(f.values)
	f.values = f.values[:0]
	s.fields.Put(f)
}

// collect adds the fields of a request, from whichever of its two forms Envoy was told to send.
func (f *fields) collect(r *authv3.AttributeContext_HttpRequest) {
	raw := r.GetHeaderMap().GetHeaders()
	f.values = slices.Grow(f.values, len(r.GetHeaders())+len(raw))
	for name, value := range r.GetHeaders() {
		f.add(name, value)
	}
	for _, v := range raw {
		value := v.GetValue()
		if b := v.GetRawValue(); len(b) > 0 {
			value = string(b)
		}
		f.add(v.GetKey(), value)
	}
}

// add adds a field, but for those that net/http takes out of the header: pseudo ones and the host.
func (f *fields) add(name, value string) {
	if strings.HasPrefix(name, ":") {
		return
	}
	if name = http.CanonicalHeaderKey(name); name == "Host" {
		return
	}
	if known, has := f.header[name]; has {
		f.header[name] = append(known, value)
		return
	}
	n := len(f.values)
	f.values = append(f.values, value)
	f.header[name] = f.values[n : n+1 : n+1]
}

// splitTarget returns the decoded path of a request line, and its query, as url.ParseRequestURI does. An escape that
// is none, which that would refuse and Envoy lets pass, is taken as it stands: no limit is got around by it.
func splitTarget(target string) (path, rawQuery string) {
	path, rawQuery, _ = strings.Cut(target, "?")
	if strings.IndexByte(path, '%') < 0 {
		return path, rawQuery
	}
	var b strings.Builder
	for path != "" {
		c, n := decode(path)
		b.WriteByte(c)
		path = path[n:]
	}
	return b.String(), rawQuery
}

// decode returns the first byte of what s stands for, and by how many of s it is written. s is not empty.
func decode(s string) (byte, int) {
	if s[0] != '%' || len(s) < 3 {
		return s[0], 1
	}
	high, low := digit(s[1]), digit(s[2])
	if high < 0 || low < 0 {
		return s[0], 1
	}
	return byte(high<<4 | low), 3
}

// digit returns the value of a hexadecimal digit, -1 if c is none.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
