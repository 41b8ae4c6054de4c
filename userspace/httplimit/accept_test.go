package httplimit

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestNegotiate(t *testing.T) {
	for _, c := range []struct {
		accept string
		want   mediaType
	}{
		{"", problemJSON},
		{"*/*", problemJSON}, // curl
		{"application/json", problemJSON},
		{"application/json, text/plain, */*", problemJSON}, // axios
		{"application/*", problemJSON},
		{"application/problem+xml", problemJSON}, // none of ours
		{"image/png, image/*;q=0.8", problemJSON},
		{"text/plain", plainText},
		{"text/*", plainText},
		{"TEXT/Plain", plainText},
		{"text/html", htmlText},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", htmlText}, // browsers
		{"text/html;q=0.5, text/plain;q=0.6", plainText},
		{"text/plain;q=0.5, text/html;q=0.501", htmlText},
		{"text/plain;q=0.5, text/html;q=0.5", plainText},
		{"text/*;q=0.9, text/plain;q=0.1", htmlText}, // the more specific counts
		{"text/plain;q=0.1, text/*;q=0.9", htmlText},
		{"*/*, application/json;q=0, text/*;q=0.2", plainText}, // the more specific counts, also if 0
		{"*/*;q=0", problemJSON},
		{"text/html;level=1;q=0.4, text/plain;q=0.3", htmlText},
		{`text/html;a="x,text/plain;q=1";q=0.4, text/plain;q=0.5`, plainText},
		{`text/html;a="\",";q=0.4`, htmlText},
		{"text/html ; Q = 1.000 ,text/plain;q=1.", plainText},
		{"text/html;q=2, text/plain;q=0.1", plainText}, // what cannot be read is passed over
		{"text/html;q=1.001, text/plain;q=0.001", plainText},
		{"text/html;q=0.1234, text/plain;q=0.001", plainText},
		{"text/html;q=0.x, text/plain;q=0.001", plainText},
		{"text/html;q=-1, text/plain;q=0.001", plainText},
		{"text/html;q=NaN, text/plain;q=0.001", plainText},
		{"text/html;q=, text/plain;q=0.001", plainText},
		{",,;;,=,text/plain", plainText},
		{`"text/html`, problemJSON},
	} {
		if got := negotiate(c.accept); got != c.want {
			t.Errorf("%q: %d, want %d", c.accept, got, c.want)
		}
	}
}

// Several Accept fields are one list.
func TestNegotiateSeveralFields(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header["Accept"] = []string{"application/json;q=0.1", "text/html"}
	reject(w, r, refusal(time.Second, applied("perip", refuses(time.Second))))
	if got := w.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("%q", got)
	}
}

// Whatever is written, weights are in range, and a range that is added before it and means one type only
// decides about that.
func FuzzAccept(f *testing.F) {
	f.Add("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	f.Add(`text/html;a="x,\"y";q=0.4, text/plain ; q = 0.5`)
	f.Fuzz(func(t *testing.T, accept string) {
		for i, q := range qualities(accept) {
			if q < 0 || q > 1000 {
				t.Errorf("weight of %d is %d", i, q)
			}
		}
		if q := qualities("text/html;q=0.123," + accept); q[htmlText] != 123 {
			t.Errorf("weight of HTML is %d, want 123", q[htmlText])
		}
		before, after := cutUnquoted(accept, ',')
		if joined := before + "," + after; joined != accept && before != accept {
			t.Errorf("%q is neither %q nor the whole", joined, accept)
		}
		if strings.Contains(before, ",") && !strings.Contains(before, `"`) {
			t.Errorf("%q was not cut at its comma", before)
		}
	})
}
