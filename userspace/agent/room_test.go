package agent

import (
	"slices"
	"testing"
)

// All connections of all fronts together, with those to servers, are fewer than the files.
func TestRooms(t *testing.T) {
	all := []role{proxyRole, proxyRole, authRole, grpcRole, metricsRole, adminRole, tokenRole}
	tests := map[string]struct {
		roles []role
		files int
		want  []int
	}{
		"the usual limit":      {[]role{proxyRole, metricsRole, adminRole}, 1024, []int{416, 32, 32}},
		"the proxy and others": {all, 1024, []int{100, 100, 200, 200, 32, 32, 32}},
		"the unit's":           {all, 1 << 20, []int{114640, 114640, 131072, 131072, 128, 128, 128}},
		"few":                  {all, 64, []int{6, 6, 12, 12, 2, 2, 2}},
		"next to none":         {all, 8, []int{1, 1, 1, 1, 1, 1, 1}},
		"only those for few":   {[]role{metricsRole}, 1024, []int{32}},
		"none":                 {nil, 1024, []int{}},
	}
	for name, tt := range tests {
		got := rooms(tt.roles, tt.files)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		used := 0
		for i, r := range tt.roles {
			used += got[i]
			if r == proxyRole {
				used += got[i]
			}
		}
		if used > tt.files-tt.files/8 && tt.files >= 64 {
			t.Errorf("%s: %d files of %d", name, used, tt.files)
		}
	}
}
