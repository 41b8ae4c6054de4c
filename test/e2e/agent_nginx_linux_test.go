package e2e_test

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/test/nginxlab"
)

// startNginx runs the real nginx on the site's host, in front of nothing: it limits clients by itself, and logs that.
func (s *site) startNginx() {
	s.tb.Helper()
	conf := strings.ReplaceAll(`
daemon off; master_process off; pid DIR/nginx.pid; lock_file DIR/nginx.lock; error_log DIR/error.log error;
events { worker_connections 128; }
http {
  access_log off;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  limit_req_zone $binary_remote_addr zone=perip:1m rate=1r/m;
  limit_req_status 429;
  server {
    listen 8080;
    location / { limit_req zone=perip; try_files /answer =404; root DIR; }
  }
}
`, "DIR", s.dir)
	for name, text := range map[string]string{"nginx.conf": conf, "answer": "ok"} {
		if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
			s.tb.Fatal(err)
		}
	}
	cmd, err := nginxlab.Command(s.tb.Context(), "-p", s.dir, "-c", s.path("nginx.conf"), "-e", s.path("error.log"))
	if err != nil {
		s.tb.Fatal(err)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGKILL) }
	if err := s.pair.Far.Namespace.Do(cmd.Start); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // a signal is its end
	})
	await(s.tb, "nginx answering", func() bool {
		_, err := s.local(webPort).try("/")
		return err == nil
	})
}

// Who the real nginx refuses is dropped by the kernel, as nginx's log is read. What a client writes into that log hits
// nobody else.
func TestAgentFollowsNginx(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startNginx()
	a := s.start(`
kernel: {interfaces: [IFACE], max_sources: 4096}
handdown: {after: 3, within: 10s, action: block, for: 1h, nginx_logs: [DIR/error.log]}
metrics: {listen: "127.0.0.1:9090"}
`)
	await(t, "the log being read", func() bool { return a.hasOpen(s.path("error.log")) })
	offender := s.browser(flooder)
	forged := "/?%22,%20client:%20" + modest + ",%20server:%20x"
	if r := offender.get("/", "X-Forwarded-For", modest); r.status != http.StatusOK {
		t.Fatalf("nginx answers %d: %s", r.status, r.body)
	}
	for range 3 {
		r := offender.get(forged, "X-Forwarded-For", modest, "Referer", `", client: `+modest+`, server: "`)
		if r.status != http.StatusTooManyRequests {
			t.Errorf("nginx answers %d", r.status)
		}
	}
	refused := time.Now()
	s.awaitDropped()
	t.Logf("the first packet was dropped %v after nginx's third refusal", time.Since(refused))
	a.awaitLine("handed down", flooder, "origin=nginx", "zone=perip")
	s.wantPassed(flooder, 20, 0)
	s.wantPassed(modest, 20, 20)
	if r := s.browser(modest).get("/"); r.status != http.StatusOK {
		t.Errorf("another client gets %d", r.status)
	}
	if got := s.rulesByPrefix(); len(got) != 1 || got[flooder+"/32"] != "block handdown" {
		t.Errorf("rules are %v", got)
	}
	if got := s.metric("headgate_handdown_offences_total", `origin="nginx"`); got != 3 {
		t.Errorf("%v offences were counted, want 3", got)
	}
}
