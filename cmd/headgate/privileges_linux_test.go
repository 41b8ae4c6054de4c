package main

import (
	"slices"
	"testing"

	"kernel.org/pub/linux/libs/security/libcap/cap"

	"github.com/headgate/headgate/userspace/config"
)

// Each section keeps what it takes to go on with it, and nothing else.
func TestNeededPrivileges(t *testing.T) {
	const served = "upstream: [\"http://127.0.0.1:9000\"]\nlisten: "
	tls := "[{address: \"127.0.0.1:8443\", tls: {certificate: /c.pem, key: /k.pem}}]"
	for text, want := range map[string][]cap.Value{
		served + "[\"127.0.0.1:1024\", \"unix:/run/x.sock\", \"systemd:web\"]": nil,
		served + "[\"127.0.0.1:1023\"]":                                        {cap.NET_BIND_SERVICE},
		served + "[\"127.0.0.1:8080\"]\nmetrics: {listen: \"127.0.0.1:90\"}":   {cap.NET_BIND_SERVICE},
		served + tls: {cap.DAC_READ_SEARCH},
		served + "[\"127.0.0.1:1024\"]\nredis: {addrs: [\"127.0.0.1:6379\"]}":                                                nil,
		served + "[\"127.0.0.1:1024\"]\nredis: {addrs: [\"127.0.0.1:6379\"], password_file: /etc/shadow}":                    {cap.DAC_READ_SEARCH},
		served + "[{address: \"unix:/run/x.sock\", group: www-data}]":                                                        {cap.CHOWN},
		"admin: {socket: /run/x.sock, group: adm}":                                                                           {cap.CHOWN},
		"kernel: {interfaces: [eth0]}":                                                                                       {cap.BPF, cap.NET_ADMIN},
		"kernel: {interfaces: [eth0]}\nhanddown: {after: 20, within: 10s, action: block, for: 1m}":                           {cap.BPF, cap.NET_ADMIN},
		"kernel: {interfaces: [eth0]}\nhanddown: {after: 20, within: 10s, action: block, for: 1m, nginx_logs: [/var/log/e]}": {cap.BPF, cap.NET_ADMIN, cap.DAC_READ_SEARCH},
	} {
		file, err := config.Parse("test", []byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := needed(file); !slices.Equal(got, want) {
			t.Errorf("%s\nneeds %v, want %v", text, got, want)
		}
	}
}
