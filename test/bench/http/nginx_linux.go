package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headgate/headgate/test/nginxlab"
)

// The limits of the flooded path, in the words of both: who attacks is refused all but 10 requests a second.
const (
	limitedPath = "/login"
	workPath    = "/work"
)

// nginxConf is nginx's configuration: what a limit needs, and no more. Its parts are the log and its level, and the backend.
const nginxConf = `daemon off;
master_process off;
pid nginx.pid;
lock_file nginx.lock;
error_log %s;
events { worker_connections 4096; }
http {
access_log off;
client_body_temp_path body;
proxy_temp_path proxy;
fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi;
scgi_temp_path scgi;
keepalive_requests 1000000000;
limit_req_zone $binary_remote_addr zone=login:10m rate=10r/s;
limit_req_status 429;
upstream backend { server %s; keepalive 64; keepalive_requests 1000000000; }
server {
listen 80;
proxy_http_version 1.1;
proxy_set_header Connection "";
location = /login { limit_req zone=login burst=20 nodelay; proxy_pass http://backend; }
location / { proxy_pass http://backend; }
}
}
`

// nginxLog is where nginx tells what it refuses, in its directory.
const nginxLog = "error.log"

// startNginx starts an nginx in a directory, which logs what it refuses or nothing.
func (l *lab) startNginx(dir string, logs bool) (*process, error) {
	log := "/dev/null emerg"
	if logs {
		log = filepath.Join(dir, nginxLog) + " error"
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, log, backendAddr), 0o600); err != nil {
		return nil, err
	}
	cmd, err := nginxlab.Command(l.ctx, "-p", dir, "-c", conf, "-e", "stderr")
	if err != nil {
		return nil, err
	}
	p := program{
		name: "nginx", in: l.server, at: l.atServer(), directory: dir,
		command: append([]string{cmd.Path}, cmd.Args[1:]...), env: cmd.Env,
	}
	return l.startServer(p, workedServer)
}

// loggedRefusals returns how many requests nginx says that it has refused.
func loggedRefusals(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, nginxLog))
	if err != nil {
		return 0, err
	}
	return bytes.Count(text, []byte(" limiting requests, excess: ")), nil
}
