package percent

import (
	"fmt"
	"testing"
)

func TestDecode(t *testing.T) {
	for c := range 256 {
		for _, form := range []string{"%%%02x", "%%%02Xabc"} {
			s := fmt.Sprintf(form, c)
			if got, n := Decode(s); got != byte(c) || n != 3 {
				t.Errorf("Decode(%q) = %q, %d", s, got, n)
			}
		}
	}
	for _, s := range []string{"a", "+", "%", "%2", "%g0", "%0g", "%%41", "% 41", "%\x1041"} {
		if got, n := Decode(s); got != s[0] || n != 1 {
			t.Errorf("Decode(%q) = %q, %d", s, got, n)
		}
	}
}
