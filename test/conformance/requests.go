package conformance

// requests are scenarios of what a request is taken for.
func requests() []Scenario {
	logins := func(left int, retry int) Answer {
		if retry > 0 {
			return refused(`"login";q=2;w=24`, `"login";r=0;t=12`, retry)
		}
		return passes(`"login";q=2;w=24`, []string{`"login";r=0;t=12`, `"login";r=1;t=12`}[left])
	}
	return []Scenario{{
		"no way around by the path", `
  zones: {login: {key: ip, rate: 5r/m}}
  rules: [{match: {path: /login}, limits: [{zone: login, burst: 1, nodelay: true}]}]
`, []Step{
			get("/login", logins(1, 0)),
			get("//login?again", logins(0, 0)),
			get("/./login", logins(0, 12)),
			get("/%6cogin", logins(0, 12)),
			get("/x/../login", logins(0, 12)),
			get("/%2e/x/%2E%2e//login", logins(0, 12)),
			get("/login?next=/a%2fb", logins(0, 12)),
			get("/LOGIN", unlimited()),
			get("/login/", unlimited()),
			get("/login;x", unlimited()),
			get("/", unlimited()),
		},
	}, {
		"prefixes of paths, by both readings", `
  zones: {api: {key: path, rate: 1r/h}}
  rules: [{match: {path: "/api/*"}, limits: [{zone: api}]}]
`, []Step{
			get("/api/a", passes(`"api";q=1;w=3600`, `"api";r=0;t=3600`)),
			get("/api/x/../a", refused(`"api";q=1;w=3600`, `"api";r=0;t=3600`, 3600)),
			get("/api/x%2F..%2F..%2Fhealth", passes(`"api";q=1;w=3600`, `"api";r=0;t=3600`)),
			get("/health", unlimited()),
			get("/api", unlimited()),
		},
	}, {
		"methods and hosts", `
  zones: {post: {key: host, rate: 1r/h}}
  rules: [{match: {host: "*.example.com", method: [POST]}, limits: [{zone: post}]}]
`, []Step{
			get("/", passes(`"post";q=1;w=3600`, `"post";r=0;t=3600`)).method("POST").host("API.example.com:8443"),
			get("/x", refused(`"post";q=1;w=3600`, `"post";r=0;t=3600`, 3600)).method("POST").host("api.example.com"),
			get("/", unlimited()).host("api.example.com"),
			get("/", unlimited()).method("POST").host("example.com"),
			get("/", passes(`"post";q=1;w=3600`, `"post";r=0;t=3600`)).method("POST").host("www.example.com"),
		},
	}, {
		"what gateways tell is not taken from the client", `
  client_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8]}
  zones: {login: {key: [ip, host], rate: 1r/h}}
  rules: [{match: {path: /login, method: [POST]}, limits: [{zone: login}]}]
`, []Step{
			lying("192.0.2.7", "a.example", passes(`"login";q=1;w=3600`, `"login";r=0;t=3600`)),
			lying("192.0.2.7", "b.example", refused(`"login";q=1;w=3600`, `"login";r=0;t=3600`, 3600)),
			lying("10.0.0.1", "a.example", passes(`"login";q=1;w=3600`, `"login";r=0;t=3600`), "X-Forwarded-For", "203.0.113.1"),
			lying("10.0.0.2", "b.example", refused(`"login";q=1;w=3600`, `"login";r=0;t=3600`, 3600), "X-Forwarded-For", "203.0.113.1"),
		},
	}, {
		"fields, cookies and arguments as keys", `
  zones: {perapp: {key: ["header:appid", "cookie:sid", "query:a"], rate: 1r/h}}
  rules: [{limits: [{zone: perapp}]}]
`, []Step{
			get("/?a=x%20y", passes(`"perapp";q=1;w=3600`, `"perapp";r=0;t=3600`), "AppID", "7", "Cookie", "theme=dark; sid=s1"),
			get("/?b=1&a=x+y", refused(`"perapp";q=1;w=3600`, `"perapp";r=0;t=3600`, 3600), "appid", "7", "Cookie", `sid="s1"`),
			get("/?a=z", passes(`"perapp";q=1;w=3600`, `"perapp";r=0;t=3600`), "appid", "7", "Cookie", "sid=s1"),
			get("/?a=x%20y", unlimited(), "Cookie", "sid=s1"),
			get("/", unlimited(), "appid", "7", "Cookie", "sid=s1"),
		},
	}}
}

// lying is a login that says of itself what a gateway would, and nothing of it is true.
func lying(peer, host string, want Answer, fields ...string) Step {
	lies := []string{
		"X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/", "X-Forwarded-Host", host, "X-Forwarded-Proto", "https",
		"X-Headgate-Peer", "198.51.100.1", "X-Headgate-Method", "GET", "X-Headgate-Uri", "/", "X-Headgate-Host", host,
	}
	s := from(peer, want, append(lies, fields...)...).method("POST")
	s.Target = "/login"
	return s
}
