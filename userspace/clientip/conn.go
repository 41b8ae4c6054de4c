package clientip

import (
	"context"
	"net/netip"
)

// connKey is the key of the address of WithConn in a context.
type connKey struct{}

// WithConn returns ctx with the address that the TCP connection itself is from, for connections
// whose RemoteAddr something told, as the PROXY protocol does. It is for http.Server.ConnContext.
func WithConn(ctx context.Context, addr netip.Addr) context.Context {
	return context.WithValue(ctx, connKey{}, addr)
}

// Conn returns the address of WithConn, and an invalid one where there is none.
func Conn(ctx context.Context) netip.Addr {
	addr, _ := ctx.Value(connKey{}).(netip.Addr)
	return addr
}
