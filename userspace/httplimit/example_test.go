package httplimit_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// hello is a handler to be limited.
func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }

// show asks h and prints what it answers; not how much is left, since the clock of examples runs.
func show(h http.Handler, path string, header ...string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
}

// Each client may send 30 requests a minute, and 1 more at one instant.
func ExamplePerIP() {
	perIP, err := httplimit.PerIP("30r/m", 1, httplimit.Options{})
	if err != nil {
		log.Fatal(err)
	}
	handler := perIP(http.HandlerFunc(hello)) // for http.ListenAndServe

	show(handler, "/")
	show(handler, "/")
	// Output:
	// 200 "perip";q=2;w=4
	// 200 "perip";q=2;w=4
}

// The rules of a configuration file.
func ExampleNew() {
	file, err := config.Parse("headgate.yaml", []byte(`
http:
  zones:
    perip:  {key: ip, rate: 10r/s}
    perapp: {key: "header:appid", rate: 1r/m, algorithm: window}
  rules:
    - match: {path: "/api/*"}
      limits: [{zone: perip, burst: 20, nodelay: true}, {zone: perapp}]
`))
	if err != nil {
		log.Fatal(err)
	}
	set, err := ruleset.New(file.HTTP)
	if err != nil {
		log.Fatal(err)
	}
	limited := httplimit.New(set, httplimit.Options{Headers: file.HTTP.Headers})
	handler := limited(http.HandlerFunc(hello))

	show(handler, "/api/a", "appid", "1")
	show(handler, "/api/b", "appid", "1")
	show(handler, "/api/c", "appid", "2")
	show(handler, "/elsewhere")
	// Output:
	// 200 "perip";q=21;w=3, "perapp";q=1;w=60
	// 429 "perip";q=21;w=3, "perapp";q=1;w=60
	// 200 "perip";q=21;w=3, "perapp";q=1;w=60
	// 200
}

// A key and a limit of the program's own.
func ExampleLimit() {
	twoAMinute, err := limit.NewWindow(2, time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	perUser := keyed.New[keyed.Key](twoAMinute, keyed.Options[keyed.Key]{Name: "peruser"})
	user := func(r *http.Request) (keyed.Key, bool) {
		name, _, ok := r.BasicAuth()
		return keyed.KeyOf(name), ok
	}
	handler := httplimit.Limit(perUser, user, httplimit.Options{Headers: config.HeadersXRateLimit})(http.HandlerFunc(hello))

	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.SetBasicAuth("ada", "")
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("X-RateLimit-Remaining"))
	}
	// Output:
	// 200 1
	// 200 0
	// 429 0
}

// Requests at a time: each report is made for one client at once.
func ExampleLimit_slots() {
	reports := keyed.NewSlots(1, keyed.Options[string]{Name: "reports"})
	byPath := func(r *http.Request) (string, bool) { return r.URL.Path, true }

	var handler http.Handler
	handler = httplimit.Limit(reports, byPath, httplimit.Options{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Inner") == "" { // a second request comes while this one is answered
			show(handler, r.URL.Path, "Inner", "yes")
		}
	}))

	show(handler, "/report")
	show(handler, "/report")
	// Output:
	// 429 "reports";q=1;qu="concurrent-requests"
	// 200 "reports";q=1;qu="concurrent-requests"
	// 429 "reports";q=1;qu="concurrent-requests"
	// 200 "reports";q=1;qu="concurrent-requests"
}
