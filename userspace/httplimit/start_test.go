package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// A server that has just begun is to nginx's limits no machine that has: a new key has all of its burst at once, though nginx
// takes it for last used when the clock was 0 in all zones but the last.
func TestServerThatHasJustBegun(t *testing.T) {
	file, err := config.Parse("test", []byte(`
http:
  zones:
    login: {key: ip, rate: 5r/m, algorithm: nginx}
    perip: {key: ip, rate: 10r/s, algorithm: nginx}
  rules:
    - limits: [{zone: login, burst: 4, nodelay: true}, {zone: perip, burst: 20, nodelay: true}]
`))
	if err != nil {
		t.Fatal(err)
	}
	set, err := ruleset.New(file.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	handler := httplimit.New(set, httplimit.Options{})(http.NotFoundHandler())
	passed := 0
	for range 8 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code == http.StatusNotFound {
			passed++
		}
	}
	if passed != 5 {
		t.Errorf("%d of 8 pass, want 5", passed)
	}
}
