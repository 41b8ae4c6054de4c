package envoy

import (
	"cmp"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// check is a CheckRequest: what of it describes a request. Its memory is used again.
type check struct {
	source         string // the address of its socket; empty if that is none
	method, host   string
	target         string
	described      bool   // it has a request.http
	mapped, listed []pair // header fields, in the two forms that Envoy may be told to send

	fields   fields
	asked    ruleset.Request
	response httplimit.Response
}

// request returns the request, as net/http would have read it; nil if none is described.
func (c *check) request() *ruleset.Request {
	if !c.described {
		return nil
	}
	c.fields.collect(c.mapped, c.listed)
	c.asked = ruleset.Request{Peer: clientip.Peer(c.source), Method: c.method, Host: c.host, Header: c.fields.empty()}
	c.asked.Path, c.asked.RawQuery = splitTarget(c.target)
	return &c.asked
}

// read implements readable. The numbers are those of the fields of service.auth.v3.
func (c *check) read(m message) error { return m.within(1, c.attribute) }

func (c *check) attribute(f field) error {
	switch f.tag {
	case 1<<3 | asBytes:
		return f.within(1, c.address)
	case 4<<3 | asBytes:
		return f.each(c.part)
	}
	return nil
}

// address reads a form of the source's address. There is one at a time: the last.
func (c *check) address(f field) error {
	switch f.tag {
	case 1<<3 | asBytes: // a socket
		return f.each(func(f field) error {
			if f.tag == 2<<3|asBytes {
				return f.into(&c.source)
			}
			return nil
		})
	case 2<<3 | asBytes, 3<<3 | asBytes: // a pipe, or a listener inside of Envoy
		c.source = ""
	}
	return nil
}

// part reads a part of what is said about the request.
func (c *check) part(f field) error {
	if f.tag != 2<<3|asBytes {
		return nil
	}
	c.described = true
	return f.each(c.http)
}

func (c *check) http(f field) error {
	switch f.tag {
	case 2<<3 | asBytes:
		return f.into(&c.method)
	case 3<<3 | asBytes:
		return appendPair(&c.mapped, f)
	case 4<<3 | asBytes:
		return f.into(&c.target)
	case 5<<3 | asBytes:
		return f.into(&c.host)
	case 13<<3 | asBytes:
		return f.each(c.list)
	}
	return nil
}

// list reads the header that Envoy sends as a list, whose values may be in a form that need not be UTF-8.
func (c *check) list(f field) error {
	if f.tag != 1<<3|asBytes {
		return nil
	}
	var p pair
	var raw string
	err := f.each(func(f field) error {
		if f.tag == 3<<3|asBytes {
			raw = f.text
			return nil
		}
		return p.read(f)
	})
	c.listed = append(c.listed, pair{p.key, cmp.Or(raw, p.value)})
	return err
}

// reset forgets the request, and reports whether the memory is worth keeping.
func (c *check) reset() bool {
	kept := max(len(c.mapped), len(c.listed)) <= keptFields && c.fields.reset()
	clear(c.mapped)
	clear(c.listed)
	*c = check{mapped: c.mapped[:0], listed: c.listed[:0], fields: c.fields, response: c.response}
	return kept
}
