package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/conformance"
	"github.com/headgate/headgate/test/nginxlab"
	"github.com/headgate/headgate/userspace/config"
)

// TestNginx: what clients of the real nginx get with the recipe is what those of the middleware get.
func TestNginx(t *testing.T) { conformance.Run(t, openNginx) }

// nginx is the real one with the recipe, between clients, headgate and an application.
type nginx struct{ conformance.Site }

const nginxServer = `
upstream headgate { server unix:%[1]s; keepalive 4; }
server {
	listen unix:%[2]s proxy_protocol;
	set_real_ip_from unix:;
	real_ip_header proxy_protocol;
	include %[3]s;
	location / { proxy_pass http://unix:%[4]s; }
	location = /denied { deny all; }
}
`

// startNginx starts nginx with a recipe. Who serves at the other sockets of the site is the caller's affair.
func startNginx(t *testing.T, recipe string) nginx {
	t.Helper()
	s := conformance.NewSite(t)
	file := filepath.Join(s.Dir, "headgate.conf")
	if err := os.WriteFile(file, []byte(recipe), 0o600); err != nil {
		t.Fatal(err)
	}
	nginxlab.Start(t, time.Hour, fmt.Sprintf(nginxServer, s.Auth(), s.Front(), file, s.App()), nil)
	return nginx{s}
}

func openNginx(t *testing.T, r conformance.Rules) conformance.Front {
	n := startNginx(t, recipeFor(t, r.HTTP.Headers))
	n.ServeRules(t, r)
	return n
}

// nginxRecipe returns the recipe of deploy.
func nginxRecipe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/nginx/headgate.conf")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// recipeFor returns the recipe for header fields of a style.
func recipeFor(t *testing.T, style config.HeaderStyle) string {
	t.Helper()
	prefix, other := map[config.HeaderStyle]string{
		config.HeadersPolli: "RateLimit", config.HeadersXRateLimit: "X-RateLimit", config.HeadersXRate: "X-Rate-Limit",
	}[style]
	if !other {
		return nginxRecipe(t)
	}
	var b strings.Builder
	for line := range strings.Lines(nginxRecipe(t)) {
		b.WriteString(inStyle(line, prefix))
	}
	return b.String()
}

// inStyle returns what a line of the recipe is for the three fields with a prefix: those stand where the recipe has
// RateLimit-Policy, and where it has RateLimit nothing does.
func inStyle(line, prefix string) string {
	switch {
	case strings.HasPrefix(line, "#"):
		return line
	case strings.Contains(line, "$headgate_ratelimit"):
		return ""
	case !strings.Contains(line, "$headgate_policy"):
		return line
	}
	var b strings.Builder
	for _, what := range []string{"-Limit", "-Remaining", "-Reset"} {
		name := prefix + what
		variable := strings.ToLower(strings.ReplaceAll(name, "-", "_"))
		b.WriteString(strings.NewReplacer("$headgate_policy", "$headgate_"+variable, "RateLimit-Policy", name, "ratelimit_policy", variable).Replace(line))
	}
	return b.String()
}

// Name implements conformance.Front.
func (nginx) Name() string { return "nginx" }

// Do implements conformance.Front.
func (n nginx) Do(t *testing.T, s conformance.Step) conformance.Answer {
	t.Helper()
	return n.Send(t, s)
}

// Expect implements conformance.Partial.
func (nginx) Expect(_ conformance.Step, a conformance.Answer) conformance.Answer {
	return asNginxSays(a)
}
