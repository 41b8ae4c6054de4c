package config

import "github.com/headgate/headgate/userspace/rate"

// listenForm is how a listener is written.
const listenForm = `"0.0.0.0:8080", "[::]:8080", "unix:/run/x.sock", "systemd:NAME" or {address: "0.0.0.0:8443", tls: {...}}`

// groupForm is how a group of users is written.
const groupForm = "a group, www-data or 33"

func listenerFields() []Field {
	return []Field{
		{"address", `"0.0.0.0:8080", "[::]:8080", "unix:/run/x.sock" or "systemd:NAME"`, required, "an address of IPv4 is not for IPv6, nor the reverse; :8080 is for both; NAME is the FileDescriptorName of a socket of systemd"},
		{"tls", "{certificate: FILE, key: FILE}", "no TLS", "who speaks TLS here, by which certificate"},
		{"proxy_protocol", "a list of addresses and prefixes, [10.0.0.0/8]", "nobody", "the peers that begin each connection with a PROXY protocol header; only under listen"},
		{"mode", "0660 or 0666", "0660", "of a unix socket: who may connect, as of a file"},
		{"group", groupForm, "the agent's, or the directory's if that is setgid", "of a unix socket: the file's, so that its members may connect"},
	}
}

func tlsFields() []Field {
	return []Field{
		{"certificate", fileForm, required, "the certificate and those between it and the root, in PEM; read again when it changes"},
		{"key", fileForm, required, "its private key, in PEM"},
	}
}

func upstreamFields() []Field {
	return []Field{
		{"servers", `a list, ["http://127.0.0.1:9000"]`, required, "where requests are sent: http or https, a host, and perhaps a port"},
		{"timeout", "a time, 60s", formatDuration(defaultUpstreamTimeout), "how long a server may take until its response begins"},
		{"preserve_host", "true or false", "true", "true sends the Host that the client sent, false that of the server"},
		{"health", "{path: /healthz}", "servers are not asked", "how servers are asked whether they are well"},
	}
}

func healthFields() []Field {
	h := defaultHealth()
	return []Field{
		{"path", "a path, /healthz", required, "what is asked for; 200 to 399 is well"},
		{"interval", "a time, 5s", formatDuration(h.Interval), "how often"},
		{"timeout", "a time, 1s, up to interval", formatDuration(h.Timeout), "how long an answer may take"},
		{"failures", "a number from 1 to 100", rate.FormatCount(uint64(h.Failures)), "after how many bad answers a server is left out"},
		{"successes", "a number from 1 to 100", rate.FormatCount(uint64(h.Successes)), "after how many good answers it is taken back"},
	}
}

func timeoutFields() []Field {
	t := defaultTimeouts()
	return []Field{
		{"header", "a time, 10s", formatDuration(t.Header), "until the header of a request is there"},
		{"read", "a time, 60s", formatDuration(t.Read), "until the next bytes of a request's body are there"},
		{"write", "a time, 60s", formatDuration(t.Write), "until the client takes the next bytes of a response"},
		{"idle", "a time, 75s", formatDuration(t.Idle), "between two requests of a connection"},
		{"tunnel", "a time, 1h", formatDuration(t.Tunnel), "in which nothing goes through a connection that was taken over, as of a websocket"},
		{"drain", "a time, 30s", formatDuration(t.Drain), "for requests under way when the agent ends"},
	}
}

func authFields() []Field {
	return []Field{
		{"listen", listenForm + ", or a list of these", "required, or grpc", "for auth_request of nginx, and forward-auth of Traefik and Caddy; as under listen, but for proxy_protocol"},
		{"grpc", listenForm + ", or a list of these", "required, or listen", "for ext_authz and rate limits of Envoy"},
		{"gateways", "a list of addresses and prefixes, [127.0.0.0/8]", "those of this machine, 127.0.0.0/8 and ::1", "the peers that may ask, beside those on unix sockets"},
		{"domain", "a text, headgate", "all", "the only domain of Envoy's rate limits that is limited"},
	}
}
