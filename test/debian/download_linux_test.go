package debian

import (
	"slices"
	"testing"
)

func TestAppendNeeded(t *testing.T) {
	const depends = "Pre-Depends: init-system-helpers (>= 1.54~)\n" +
		"Depends: nginx-core (<< 1.18) | nginx-full (<< 1.18), libc6 (>= 2.34), libssl3:any (>= 3.0.0), " +
		"zlib1g, iproute2, nginx-common (= 1.22.1), libpcre2-8-0\n"
	s := Software{Parts: []string{"nginx"}, Without: []string{"nginx-common"}}
	got := s.appendNeeded([]string{"nginx", "zlib1g"}, depends)
	if want := []string{"nginx", "zlib1g", "nginx-core", "libssl3", "libpcre2-8-0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
