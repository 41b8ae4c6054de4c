package caddy_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile" // the adapter of Caddyfiles
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/proxyprotocol"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
	_ "github.com/caddyserver/caddy/v2/modules/logging"

	"github.com/headgate/headgate/test/conformance"
)

// recipe returns the Caddyfile of deploy.
func recipe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/caddy/Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// edit replaces texts of a Caddyfile, which all have to be there.
func edit(t *testing.T, text string, oldnew ...string) string {
	t.Helper()
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(text, oldnew[i]) {
			t.Fatalf("the recipe has no %q", oldnew[i])
		}
		text = strings.ReplaceAll(text, oldnew[i], oldnew[i+1])
	}
	return text
}

// options are global options: nothing is written but to the site, and nothing listened on but there.
const options = `{
	admin off
	persist_config off
	auto_https off
	storage file_system %s
	log {
		output discard
	}
	servers {
		listener_wrappers {
			proxy_protocol
		}
		%s
	}
}
`

// start runs Caddy with a text that is the recipe but for a few edits, until the end of the test. There is one Caddy in
// a process. Who serves at the other sockets of the site is the caller's affair.
func start(t *testing.T, text, servers string) conformance.Site {
	t.Helper()
	s := conformance.NewSite(t)
	text = edit(t, text,
		"example.com {", "http:// {\n\tbind unix/"+s.Front(),
		"127.0.0.1:8081 {", "unix/"+s.Auth()+" {",
		"127.0.0.1:9000", "unix/"+s.App())
	config, _ := adapt(t, fmt.Sprintf(options, s.Dir, servers)+text)
	if err := caddy.Load(config, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// adapt returns the configuration that a Caddyfile stands for.
func adapt(t *testing.T, text string) ([]byte, []caddyconfig.Warning) {
	t.Helper()
	config, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatal(err)
	}
	return config, warnings
}

// trusting returns the server options that believe proxies.
func trusting(proxies []netip.Prefix) string {
	if len(proxies) == 0 {
		return ""
	}
	line := "trusted_proxies static"
	for _, p := range proxies {
		line += " " + p.String()
	}
	return line
}
