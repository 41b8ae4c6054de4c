package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// The values of Listener.Network.
const (
	NetworkTCP     = "tcp"
	NetworkUnix    = "unix"
	NetworkSystemd = "systemd"
)

// TCP returns what package net calls the network of a listener of NetworkTCP: tcp4 or tcp6 where its address is of one
// family, also if it stands for all addresses of it, else tcp.
func (l Listener) TCP() string {
	host, _, err := net.SplitHostPort(l.Address)
	a, err2 := netip.ParseAddr(host)
	switch {
	case err != nil || err2 != nil:
		return "tcp"
	case a.Unmap().Is4():
		return "tcp4"
	default:
		return "tcp6"
	}
}

// address returns what is listened on, nothing if it is wrong.
func (v value) address() (network, address string) {
	text, ok := v.text()
	if !ok {
		return "", ""
	}
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if v.checkSocket(path) {
			return NetworkUnix, path
		}
		return "", ""
	}
	if name, ok := strings.CutPrefix(text, "systemd:"); ok {
		if v.checkSystemd(name) {
			return NetworkSystemd, name
		}
		return "", ""
	}
	if address, ok := v.tcpAddress(text); ok {
		return NetworkTCP, address
	}
	return "", ""
}

// checkSystemd adds an error unless name is one that systemd gives to a socket.
func (v value) checkSystemd(name string) bool {
	const longest = 255
	odd := func(c rune) bool { return c <= ' ' || c > '~' || c == ':' }
	if name == "" || len(name) > longest || strings.ContainsFunc(name, odd) {
		v.fail("%.40q is no FileDescriptorName of systemd; use up to %d printable characters without colon", name, longest)
		return false
	}
	return true
}

// tcpAddress returns HOST:PORT as it is listened on: the host is an IP address, or empty for all of both families.
func (v value) tcpAddress(text string) (string, bool) {
	host, portText, err := net.SplitHostPort(text)
	if err != nil {
		v.fail("%.60q: %s", text, v.notHostPort(text))
		return "", false
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		v.fail("%.60q: the port is not 1 to 65535; use %s", text, v.form)
		return "", false
	}
	if port == 0 {
		v.warn("port 0 is another one at each start; use the one that clients are told")
	}
	if host == "" {
		return net.JoinHostPort("", strconv.FormatUint(port, 10)), true
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		v.fail("%.60q: names are not looked up here; use an IP address, 127.0.0.1:%d for this machine alone or :%d for all", text, port, port)
		return "", false
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(port)).String(), true
}

// notHostPort says what is wrong with a text that is not HOST:PORT.
func (v value) notHostPort(text string) string {
	i := strings.LastIndexByte(text, ':')
	whole, wholeErr := netip.ParseAddr(strings.Trim(text, "[]"))
	before, beforeErr := netip.ParseAddr(text[:max(i, 0)])
	switch {
	case strings.Trim(text, "0123456789") == "":
		return "no address; use :" + text + " for all addresses, or 127.0.0.1:" + text + " for this machine alone"
	case strings.Contains(text, "://"):
		return "a URL; use its host and port only"
	case beforeErr == nil && wholeErr != nil: // fe80::1:65536 and the like
		return "use brackets, [" + before.String() + "]" + text[i:]
	case wholeErr == nil && whole.Is6():
		return "use brackets and a port, [" + whole.String() + "]:8080"
	case wholeErr == nil:
		return "no port; use " + whole.String() + ":8080"
	default:
		return "no address with a port; use " + v.form
	}
}
