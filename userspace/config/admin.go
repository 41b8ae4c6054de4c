package config

import "strings"

// defaultAdminMode lets only the agent's own user in.
const defaultAdminMode = 0o600

func (w *whole) readAdmin(v value) {
	m, ok := v.mapping(adminFields())
	if !ok {
		return
	}
	a := &Admin{TokenFile: m.filePath("token_file"), Pprof: m.flag("pprof"), Access: Access{Mode: m.socketMode(defaultAdminMode), Group: m.group()}}
	w.Admin = a
	if s := m.field("socket"); s.given() {
		a.Socket = w.adminSocket(s)
	}
	if l := m.field("listen"); l.given() {
		a.Listen = w.adminListener(l)
	}
	if a.Access.Mode&0o002 != 0 {
		m.field("mode").warn("with %04o anybody on this machine can change everything; use %s", a.Access.Mode, m.field("mode").form)
	}
	m.warnOfGroup(a.Access)
	checkAdmin(m)
}

// checkAdmin looks for fields that are nothing without another one.
func checkAdmin(m mapping) {
	if !m.has("socket") && !m.has("listen") {
		m.lack(m.value, "nothing to reach it by; add socket: /run/headgate/admin.sock")
	}
	for _, name := range []string{"mode", "group", "pprof"} {
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
