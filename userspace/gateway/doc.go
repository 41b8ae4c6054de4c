// Package gateway is what clients and other gateways connect to: listeners, the server behind them, the reverse
// proxy, and the fronts that nginx, Traefik and Caddy ask whether a request may pass.
//
// It limits nothing itself. The proxy is a handler to be wrapped by httplimit.New; the auth fronts turn what a
// gateway tells about a client's request back into that request and give it to the same middleware, so that they
// decide and answer as the proxy does.
//
// # Who is who
//
// The peer of a request is who the connection is from, unless somebody who may says otherwise: a PROXY protocol header
// of a peer that Listener.ProxyProtocol lists, or a gateway that asks an auth front. http.Request.RemoteAddr is the
// peer then, and clientip.Conn the connection's own end. Header fields change neither.
//
// # Time
//
// Nobody may hold a connection by doing nothing. One that was taken over, as of a websocket, ends when one of its ends closes
// it, or does not take what it is sent, or when nothing has gone through it for config.Timeouts.Tunnel. A request's header has config.Timeouts.Header to come, a
// TLS handshake and a PROXY protocol header as well. Bodies and responses may take any time as long as they move:
// the next bytes of a body must come within Read, and each write be taken within Write. So a
// stream of events lives while the client takes what there is, and a stalled download ends.
package gateway
