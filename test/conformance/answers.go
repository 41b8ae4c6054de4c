package conformance

// answers are scenarios of how answers look.
func answers() []Scenario {
	styles := []Scenario{{
		"a status and what the client accepts", `
  zones: {perip: {key: ip, rate: 1r/h}}
  rules: [{limits: [{zone: perip}], status: 503}]
`, []Step{
			get("/", first()),
			get("/", unavailable("text/html; charset=utf-8"), "Accept", "text/html, */*;q=0.1"),
			get("/", unavailable("text/plain; charset=utf-8"), "Accept", "text/plain"),
			get("/", unavailable("application/problem+json"), "Accept", "application/json"),
			get("/", unavailable("application/problem+json"), "Accept", "image/png"),
			get("/", unavailable("application/problem+json")).method("HEAD"),
		},
	}, {
		"no fields", `
  headers: off` + oneAnHour, []Step{
			get("/", unlimited()),
			get("/", refusal(429, 3600, problemJSON)),
		},
	}}
	for _, s := range []struct{ style, prefix string }{{"polli", "Ratelimit-"}, {"x-ratelimit", "X-Ratelimit-"}, {"x-rate-limit", "X-Rate-Limit-"}} {
		fields := []string{s.prefix + "Limit", "1", s.prefix + "Remaining", "0", s.prefix + "Reset", "3600"}
		styles = append(styles, Scenario{"fields of " + s.style, "\n  headers: " + s.style + oneAnHour, []Step{
			get("/", Answer{Status: 200, Header: header(fields...)}),
			get("/", refusal(429, 3600, problemJSON, fields...)).times(2),
		}})
	}
	return styles
}

const problemJSON = "application/problem+json"

func unavailable(contentType string) Answer {
	return refusal(503, 3600, contentType, "Ratelimit-Policy", `"perip";q=1;w=3600`, "Ratelimit", `"perip";r=0;t=3600`)
}
