package redisconn

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
)

// TestOpenErrors has files that cannot be read.
func TestOpenErrors(t *testing.T) {
	missing, empty := filepath.Join(t.TempDir(), "missing"), filepath.Join(t.TempDir(), "empty")
	write(t, empty, nil)
	addrs := []string{"127.0.0.1:1"}
	for want, c := range map[string]config.Redis{
		"addrs is empty":     {},
		"password: ":         {Addrs: addrs, PasswordFile: missing},
		"password":           {Addrs: addrs, Mode: config.RedisSentinel, SentinelPasswordFile: missing},
		"tls: ca: open":      {Addrs: addrs, TLS: &config.RedisTLS{CA: missing}},
		"no regular file":    {Addrs: addrs, PasswordFile: t.TempDir()}, // as little as a pipe, that would be waited for
		"no certificate":     {Addrs: addrs, TLS: &config.RedisTLS{CA: empty}},
		"tls: certificate: ": {Addrs: addrs, TLS: &config.RedisTLS{Certificate: missing, Key: missing}},
	} {
		if c, err := Open(Options{Config: c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v instead of %q", err, want)
			if c != nil {
				c.Close()
			}
		}
	}
}

// TestTLS has a server that shows a certificate, and wants to see one.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	pair, files := certificate(t)
	addr := terminate(t, s.Addr, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert})
	call(t, config.Redis{Addrs: []string{addr}, TLS: files})
	stranger := &config.RedisTLS{Certificate: files.Certificate, Key: files.Key}
	c, err := Open(Options{Config: config.Redis{Addrs: []string{addr}, TLS: stranger}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.DoPatiently(t.Context(), Call{Script: counter, Keys: []string{"a"}}, patienceOfTests)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that nobody vouches for: %v", err)
	}
}

// certificate returns one for 127.0.0.1, and files with it.
func certificate(t *testing.T) (tls.Certificate, *config.RedisTLS) {
	t.Helper()
	made := httptest.NewTLSServer(nil)
	made.Close()
	pair := made.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := &config.RedisTLS{CA: filepath.Join(dir, "ca"), Certificate: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	shown := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	write(t, files.CA, shown)
	write(t, files.Certificate, shown)
	write(t, files.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return pair, files
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// terminate returns the address of a TLS server that speaks for another.
func terminate(t *testing.T, to string, c *tls.Config) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go carry(client, to)
		}
	}()
	return l.Addr().String()
}

// carry carries what a client and a server say until either ends.
func carry(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(struct{ io.Writer }{server}, client); server.Close() }()
	_, _ = io.Copy(client, server)
}

// TestReaches shows that a server is known by its address where the configuration has its name.
func TestReaches(t *testing.T) {
	s := redislab.Start(t)
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(Options{Config: config.Redis{Addrs: []string{net.JoinHostPort("localhost", port)}, Prefix: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	if c.Reaches(loopback) {
		t.Error("a server is known that nobody has connected to")
	}
	call := Call{Script: NewScript("return 'x'"), Keys: []string{"k"}}
	if got, err := c.DoPatiently(t.Context(), call, time.Minute); got != "x" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	s.Kill()
	if !c.Reaches(loopback) || !c.Reaches(netip.MustParsePrefix("127.0.0.1/32")) || c.Reaches(netip.MustParsePrefix("127.0.0.2/32")) {
		t.Error("where the server is was not remembered")
	}
}
