package config

// Field is a field of the file.
type Field struct {
	// Path of the field, without numbers: http.rules[].limits[].zone. Where the
	// user chooses a name, NAME stands for it.
	Path    string
	Form    string // what to write
	Default string // what applies without it, "required" if nothing does
	Meaning string
}

// Fields returns all fields, in the order of the documentation. What several mappings have alike is listed once: limits
// at kernel.default, listeners at listen[].
func Fields() []Field {
	var all []Field
	for _, s := range []struct {
		path   string
		fields []Field
	}{
		{"", fileFields()},
		{"redis.", redisFields()},
		{"redis.tls.", redisTLSFields()},
		{"fleet.", fleetFields()},
		{"kernel.", kernelFields()},
		{"kernel.default.", limitFields()},
		{"kernel.policies[].", policyFields()},
		{"kernel.rules[].", prefixRuleFields()},
		{"kernel.rule_files[].", ruleFileFields()},
		{"http.", httpFields()},
		{"http.client_ip.", clientIPFields()},
		{"http.zones.NAME.", zoneFields()},
		{"http.zones.NAME.overrides[].", overrideFields()},
		{"http.rules[].", ruleFields()},
		{"http.rules[].match.", matchFields()},
		{"http.rules[].limits[].", useFields()},
		{"listen[].", listenerFields()},
		{"listen[].tls.", tlsFields()},
		{"upstream.", upstreamFields()},
		{"upstream.health.", healthFields()},
		{"timeouts.", timeoutFields()},
		{"auth.", authFields()},
		{"handdown.", handDownFields()},
		{"adaptive.", adaptiveFields()},
		{"adaptive.latency.", latencyFields()},
		{"metrics.", metricsFields()},
		{"admin.", adminFields()},
		{"log.", logFields()},
		{"tracing.", tracingFields()},
	} {
		for _, f := range s.fields {
			f.Path = s.path + f.Path
			all = append(all, f)
		}
	}
	return all
}

const required = "required"

func names(fields []Field) []string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.Path
	}
	return all
}

// fileFields are those of the top of the file.
func fileFields() []Field {
	return []Field{
		{"redis", `a section, {addrs: ["127.0.0.1:6379"]}`, "limits are of each machine alone", "the Redis or Valkey servers where machines share limits and rules"},
		{"fleet", "a section, {}, with redis", "rules are of each machine alone", "which rules of the kernel machines share"},
		{"kernel", "a section, {interfaces: [eth0]}", "packets are not limited, and no privilege is needed", "what the kernel limits, at the network interfaces"},
		{"http", "a section with zones and rules", "no limits", "how HTTP requests are limited"},
		{"listen", `a list, ["0.0.0.0:8080"]`, "nothing is served", "where the reverse proxy takes requests; needs upstream"},
		{"upstream", `a list, ["http://127.0.0.1:9000"], or {servers: [...]}`, "required with listen", "the servers that the proxy sends requests to"},
		{"timeouts", "a section, {header: 10s, drain: 30s}", "see below", "how long clients may take"},
		{"auth", `a section, {listen: ["127.0.0.1:8081"]}`, "no gateway can ask", "fronts for nginx, Traefik, Caddy and Envoy, which ask whether a request may pass"},
		{"handdown", "a section, {after: 20, within: 10s, action: block, for: 1m}", "the kernel learns nothing of HTTP", "when the kernel takes over a source that is refused again and again"},
		{"adaptive", "a section, {latency: {target: 200ms}}", "rates stay as they are written", "how the health of the servers moves the rates"},
		{"metrics", `a section, {listen: "127.0.0.1:9079"}`, "not served", "where Prometheus reads, with /healthz and /readyz"},
		{"admin", "a section, {socket: /run/headgate/admin.sock}", "not served", "where the commands and you reach the agent"},
		{"log", "a section, {format: json, level: info}", "text to standard error", "what is logged, and where"},
		{"tracing", `a section, {endpoint: "http://127.0.0.1:4318"}`, "no traces", "traces of decisions for OpenTelemetry"},
	}
}
