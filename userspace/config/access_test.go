package config_test

import (
	"slices"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// The groups of all sockets are named, each once: by them is decided whether the agent keeps the right to give files away.
func TestGroups(t *testing.T) {
	f, err := config.Parse("headgate.yaml", []byte(`
upstream: http://127.0.0.1:9000
listen: [{address: "unix:/run/a", group: web}, {address: "unix:/run/b", group: web}, "unix:/run/c"]
auth: {listen: {address: "unix:/run/d", group: "33"}, grpc: {address: "unix:/run/e", group: envoy}}
admin: {socket: /run/f, mode: 0660, group: adm}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Groups(), []string{"web", "33", "envoy", "adm"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
