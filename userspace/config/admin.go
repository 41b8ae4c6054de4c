package config

import (
	"strconv"
	"strings"
)

const (
	// defaultSocketMode lets only the agent's own user in.
	defaultSocketMode = 0o600
	// mostSocketMode has no more bits than permissions do.
	mostSocketMode = 0o777
)

func (w *whole) readAdmin(v value) {
	m, ok := v.mapping(adminFields())
	if !ok {
		return
	}
	a := &Admin{TokenFile: m.filePath("token_file"), Pprof: m.flag("pprof"), Mode: m.socketMode()}
	w.Admin = a
	if s := m.field("socket"); s.given() {
		a.Socket = w.adminSocket(s)
	}
	if l := m.field("listen"); l.given() {
		a.Listen = w.adminListener(l)
	}
	checkAdmin(m)
}

// checkAdmin looks for fields that are nothing without another one.
func checkAdmin(m mapping) {
	if !m.has("socket") && !m.has("listen") {
		m.lack(m.value, "nothing to reach it by; add socket: /run/headgate/admin.sock")
	}
	for _, name := range []string{"mode", "pprof"} {
		if f := m.field(name); f.given() && !m.has("socket") && m.has("listen") {
			m.lack(f, "it is of the socket; add socket: /run/headgate/admin.sock, or remove "+name)
		}
	}
	switch {
	case m.has("listen") && !m.has("token_file"):
		m.lack(m.field("listen"), "anybody on this machine could change everything; add token_file: FILE")
	case m.has("token_file") && !m.has("listen"):
		m.lack(m.field("token_file"), "the socket asks for no token; remove token_file, or add listen: \"127.0.0.1:9091\"")
	}
}

// adminSocket returns the path of a unix socket that nothing else listens on.
func (w *whole) adminSocket(v value) string {
	path, ok := v.text()
	switch {
	case !ok:
	case strings.HasPrefix(path, "unix:"):
		v.fail("it is a unix socket without saying so; use %.60s", strings.TrimPrefix(path, "unix:"))
	case v.checkSocket(path) && w.taken.take(v, Listener{Network: NetworkUnix, Address: path, Line: v.node.Line}):
		return path
	}
	return ""
}

func (w *whole) adminListener(v value) *Listener {
	l, ok := w.listener(v, plainListenerFields())
	switch {
	case !ok:
	case l.Network == NetworkUnix:
		v.fail("a unix socket has no token; use socket: %.60s", l.Address)
	case l.Network == NetworkSystemd || !l.loopback():
		v.fail("who changes everything must be on this machine; use 127.0.0.1 or [::1]")
	default:
		return &l
	}
	return nil
}

// socketMode returns the permissions of the socket, which are written in octal.
func (m mapping) socketMode() uint32 {
	v := m.field("mode")
	if !v.given() {
		return defaultSocketMode
	}
	text, ok := v.text()
	if !ok {
		return defaultSocketMode
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0o"), "0")
	n, err := strconv.ParseUint(digits, 8, 32)
	switch {
	case err != nil || len(digits) != 3 || n > mostSocketMode:
		v.fail("%.20q is no mode of a file; use %s", text, v.form)
	case n&defaultSocketMode != defaultSocketMode:
		v.fail("%s keeps the owner out; use %s", text, v.form)
	default:
		if n&0o002 != 0 {
			v.warn("with %s anybody on this machine can change everything; use %s", text, v.form)
		}
		return uint32(n)
	}
	return defaultSocketMode
}
