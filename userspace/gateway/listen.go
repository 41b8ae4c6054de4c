package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// ListenOptions are what a config.Listener does not say. The zero value is ready.
type ListenOptions struct {
	// Sockets are those that systemd has opened, of Inherited.
	Sockets Sockets
	// HeaderTimeout is how long a PROXY protocol header may take; 10 s by default.
	HeaderTimeout time.Duration
	Log           *slog.Logger // slog.Default if nil
}

// DefaultHeaderTimeout applies where ListenOptions say nothing.
const DefaultHeaderTimeout = 10 * time.Second

// Listen listens on l: with TLS, and for PROXY protocol headers, if l says so. An error names the address and
// what is wrong with it. Nothing is left open after one.
//
// A unix socket that nobody listens on any more is replaced. Closing the listener removes its file, if that
// is still its own.
func Listen(l config.Listener, o ListenOptions) (net.Listener, error) {
	base, err := Open(l, o)
	if err != nil {
		return nil, err
	}
	wrapped, err := Wrap(base, l, o)
	if err != nil {
		base.Close()
		return nil, err
	}
	return wrapped, nil
}

// listen opens the socket, or takes over systemd's.
func listen(l config.Listener, o ListenOptions) (net.Listener, error) {
	switch l.Network {
	case "tcp":
		return new(net.ListenConfig).Listen(context.Background(), l.TCP(), l.Address)
	case "unix":
		return listenUnix(l.Address, l.Access)
	case "systemd":
		return o.Sockets.listen(l.Address)
	default:
		return nil, errors.New("unknown network; use tcp, unix or systemd")
	}
}

// wrap puts around base what l wants. The PROXY protocol header comes before the TLS handshake.
func wrap(base net.Listener, l config.Listener, o ListenOptions) (net.Listener, error) {
	if len(l.ProxyProtocol) > 0 {
		base = expectHeader(base, l.ProxyProtocol, cmp.Or(o.HeaderTimeout, DefaultHeaderTimeout))
	}
	if l.TLS == nil {
		return base, nil
	}
	c, err := newCertificate(*l.TLS, cmp.Or(o.Log, slog.Default()).With("address", l.Address))
	if err != nil {
		return nil, err
	}
	return tls.NewListener(base, &tls.Config{
		GetCertificate: c.get,
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
	}), nil
}
