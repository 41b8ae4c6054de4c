package gateway

import (
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"
)

// Sockets are what systemd has opened for the process, by name (FileDescriptorName=). They stay open
// as long as the process lives, so that each can be listened on again.
type Sockets map[string][]*os.File

// Inherited returns the sockets that systemd has passed, none if it has not. It is to be called once, before child
// processes are started: it removes what tells of them from the environment.
func Inherited() Sockets {
	sockets := make(Sockets)
	for _, f := range activation.Files(true) {
		sockets[f.Name()] = append(sockets[f.Name()], f)
	}
	return sockets
}

// listen returns a listener on the socket of that name; closing it leaves the socket open.
func (s Sockets) listen(name string) (net.Listener, error) {
	switch files := s[name]; len(files) {
	case 0:
		return nil, fmt.Errorf("systemd has passed no socket of that name, but %s; name it by FileDescriptorName= in a .socket unit", s.names())
	case 1:
		return inheritedListener(files[0])
	default:
		return nil, fmt.Errorf("systemd has passed %d sockets of that name; give each a .socket unit and name of its own", len(files))
	}
}

// inheritedListener listens on a copy of f. A unix socket's file is systemd's and stays when it is closed.
func inheritedListener(f *os.File) (net.Listener, error) {
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("systemd's socket: %w; use ListenStream=", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	return l, nil
}

func (s Sockets) names() string {
	if len(s) == 0 {
		return "none at all"
	}
	return strings.Join(slices.Sorted(maps.Keys(s)), ", ")
}
