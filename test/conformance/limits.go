package conformance

import "time"

// limits are scenarios of how limits count.
func limits() []Scenario {
	return []Scenario{{
		"a burst, then a request a second", `
  zones: {perip: {key: ip, rate: 1r/s}}
  rules: [{limits: [{zone: perip, burst: 2, nodelay: true}]}]
`, []Step{
			get("/", passes(`"perip";q=3;w=3`, `"perip";r=2;t=1`)),
			get("/", passes(`"perip";q=3;w=3`, `"perip";r=1;t=1`)),
			get("/", passes(`"perip";q=3;w=3`, `"perip";r=0;t=1`)),
			get("/", refused(`"perip";q=3;w=3`, `"perip";r=0;t=1`, 1)).times(3),
			from("192.0.2.8", passes(`"perip";q=3;w=3`, `"perip";r=2;t=1`)),
			after(time.Second-1, get("/", refused(`"perip";q=3;w=3`, `"perip";r=0;t=1`, 1))),
			after(1, get("/", passes(`"perip";q=3;w=3`, `"perip";r=0;t=1`))),
			after(time.Hour, get("/", passes(`"perip";q=3;w=3`, `"perip";r=2;t=1`))),
		},
	}, {
		"several limits, all or none", `
  zones:
    wide:   {key: ip, rate: 100r/m, algorithm: window}
    narrow: {key: path, rate: 2r/m, algorithm: sliding}
  rules: [{limits: [{zone: wide}, {zone: narrow}]}]
`, []Step{
			get("/a", passes(`"wide";q=100;w=60, "narrow";q=2;w=60`, `"wide";r=99;t=60, "narrow";r=1;t=61`)),
			get("/a", passes(`"wide";q=100;w=60, "narrow";q=2;w=60`, `"wide";r=98;t=60, "narrow";r=0;t=61`)),
			get("/a", refused(`"wide";q=100;w=60, "narrow";q=2;w=60`, `"wide";r=98;t=60, "narrow";r=0;t=61`, 61)).times(20),
			get("/b", passes(`"wide";q=100;w=60, "narrow";q=2;w=60`, `"wide";r=97;t=60, "narrow";r=1;t=61`)),
		},
	}, {
		"requests that cost more", `
  zones: {budget: {key: ip, rate: 10r/m, algorithm: window}}
  rules:
    - {match: {path: /export}, limits: [{zone: budget, cost: 4}]}
    - limits: [{zone: budget}]
`, []Step{
			get("/export", passes(`"budget";q=10;w=60`, `"budget";r=6;t=60`)),
			get("/", passes(`"budget";q=10;w=60`, `"budget";r=5;t=60`)),
			get("/export", passes(`"budget";q=10;w=60`, `"budget";r=1;t=60`)),
			get("/export", refused(`"budget";q=10;w=60`, `"budget";r=1;t=60`, 60)),
			get("/", passes(`"budget";q=10;w=60`, `"budget";r=0;t=60`)),
		},
	}, {
		"a rule that is tried out", `
  zones:
    next: {key: ip, rate: 1r/h}
    now:  {key: ip, rate: 3r/h, algorithm: window}
  rules:
    - {dry_run: true, continue: true, limits: [{zone: next}]}
    - limits: [{zone: now}]
`, []Step{
			get("/", passes(`"now";q=3;w=3600`, `"now";r=2;t=3600`)),
			get("/", passes(`"now";q=3;w=3600`, `"now";r=1;t=3600`)),
			get("/", passes(`"now";q=3;w=3600`, `"now";r=0;t=3600`)),
			get("/", refused(`"now";q=3;w=3600`, `"now";r=0;t=3600`, 3600)),
		},
	}, {
		"overrides and exemptions", `
  allow: [198.51.100.0/24]
  zones:
    perip:
      key: ip
      rate: 1r/h
      algorithm: window
      overrides: [{value: 203.0.113.0/24, rate: 2r/h}]
      allow: [203.0.113.9]
  rules:
    - {match: {path: /health}, limits: []}
    - limits: [{zone: perip}]
`, []Step{
			from("192.0.2.7", passes(`"perip";q=1;w=3600`, `"perip";r=0;t=3600`)),
			from("192.0.2.7", refused(`"perip";q=1;w=3600`, `"perip";r=0;t=3600`, 3600)),
			get("/health", unlimited()).times(3),
			from("203.0.113.1", passes(`"perip";q=2;w=3600`, `"perip";r=1;t=3600`)),
			from("203.0.113.1", passes(`"perip";q=2;w=3600`, `"perip";r=0;t=3600`)),
			from("203.0.113.1", refused(`"perip";q=2;w=3600`, `"perip";r=0;t=3600`, 3600)),
			from("203.0.113.9", unlimited()).times(3),
			from("198.51.100.3", unlimited()).times(3),
		},
	}, {
		"nginx and the sketch", `
  zones:
    like: {key: ip, rate: 1r/s, algorithm: nginx}
    tags: {key: ip, rate: 1r/s, algorithm: sketch}
  rules:
    - {match: {path: /nginx}, limits: [{zone: like, burst: 1, nodelay: true}]}
    - limits: [{zone: tags, burst: 1, nodelay: true}]
`, []Step{
			get("/nginx", passes(`"like";q=2;w=2`, `"like";r=1;t=1`)),
			get("/nginx", passes(`"like";q=2;w=2`, `"like";r=0;t=1`)),
			get("/nginx", refused(`"like";q=2;w=2`, `"like";r=0;t=1`, 1)),
			get("/", passes(`"tags";q=2;w=2`, `"tags";r=1;t=1`)),
			get("/", passes(`"tags";q=2;w=2`, `"tags";r=0;t=1`)),
			get("/", refused(`"tags";q=2;w=2`, `"tags";r=0;t=1`, 1)),
		},
	}}
}

// after makes s come later.
func after(d time.Duration, s Step) Step { s.After = d; return s }
