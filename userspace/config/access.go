package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

const (
	// ownerMode is what the owner of a socket needs.
	ownerMode = 0o600
	// mostMode has no more bits than permissions do.
	mostMode = 0o777
)

// socketMode returns the permissions of a socket, which are written in octal; otherwise if they are not given or wrong.
func (m mapping) socketMode(otherwise uint32) uint32 {
	v := m.field("mode")
	if !v.given() {
		return otherwise
	}
	text, ok := v.text()
	if !ok {
		return otherwise
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0o"), "0")
	n, err := strconv.ParseUint(digits, 8, 32)
	switch {
	case err != nil || len(digits) != 3 || n > mostMode:
		v.fail("%.20q is no mode of a file; use %s", text, v.form)
	case n&ownerMode != ownerMode:
		v.fail("%s keeps the owner out; use %s", text, v.form)
	default:
		return uint32(n)
	}
	return otherwise
}

// group returns a group of users, empty if it is not given or wrong. Whether there is one is for who opens the socket to find out.
func (m mapping) group() string {
	const longest = 32 // as of useradd
	v := m.field("group")
	if !v.given() {
		return ""
	}
	text, ok := v.text()
	odd := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(":,/", c) }
	switch {
	case !ok:
	case text == "" || len(text) > longest || strings.ContainsFunc(text, odd):
		v.fail("%.40q is no name of a group; use %s", text, v.form)
	default:
		return text
	}
	return ""
}

// checkAccess adds errors for what is said of the file of a socket that has none, or that is another's.
func (m mapping) checkAccess(network string) {
	for _, name := range []string{"mode", "group"} {
		f := m.field(name)
		switch {
		case !f.given() || network == NetworkUnix || network == "":
		case network == NetworkSystemd:
			f.fail("systemd makes this socket; use SocketMode= and SocketGroup= in its .socket unit, and remove %s", name)
		default:
			f.fail("only a unix socket is a file; remove %s", name)
		}
	}
}

// warnOfGroup warns of a group whose members may not connect all the same.
func (m mapping) warnOfGroup(a Access) {
	if mode := cmp.Or(a.Mode, DefaultSocketMode); a.Group != "" && mode&0o020 == 0 {
		m.field("group").warn("with mode %04o its members may not connect; use mode: 0660", mode)
	}
}

// Groups returns the groups that the files of sockets are to have, each once.
func (f *File) Groups() []string {
	var all []string
	add := func(a Access) {
		if a.Group != "" && !slices.Contains(all, a.Group) {
			all = append(all, a.Group)
		}
	}
	for _, l := range f.Listeners() {
		add(l.Access)
	}
	if f.Admin != nil {
		add(f.Admin.Access)
	}
	return all
}
