package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// nameOf returns the name of the certificate that a client gets.
func nameOf(t *testing.T, c *certificate) string {
	t.Helper()
	pair, err := c.get(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return certificate.Subject.CommonName
}

func TestCertificateIsReadAgain(t *testing.T) {
	a := &authority{t: t, dir: t.TempDir()}
	files := a.write("first")
	synctest.Test(t, func(t *testing.T) {
		log := new(logged)
		c, err := newCertificate(files, log.logger())
		if err != nil {
			t.Fatal(err)
		}
		expect := func(want, line string) {
			t.Helper()
			time.Sleep(certificateInterval)
			if name := nameOf(t, c); name != want {
				t.Errorf("the certificate is of %q, want %q", name, want)
			}
			if n := strings.Count(log.String(), "\n"); line == "" && n > 0 || line != "" && (n != 1 || !strings.Contains(log.String(), line)) {
				t.Errorf("the log has %q, want %q", log, line)
			}
			log.Reset()
		}
		expect("first", "")
		a.write("second")
		if name := nameOf(t, c); name != "first" {
			t.Errorf("looked at again within %v", certificateInterval)
		}
		expect("second", "read again")
		expect("second", "")
		writeFile(t, files.Certificate, []byte("garbage"))
		expect("second", "the one before stays")
		expect("second", "") // one line, not one a second
		if err := os.Remove(files.Key); err != nil {
			t.Fatal(err)
		}
		expect("second", "no such file")
		expect("second", "")
		a.write("third")
		expect("third", "read again")
		// One file after the other: what is no pair is not used.
		certificate, key := a.pair("fourth")
		writeFile(t, files.Certificate, certificate)
		expect("third", "does not match")
		writeFile(t, files.Key, key)
		expect("fourth", "read again")
	})
}

// Kubernetes replaces a directory that files link into.
func TestCertificateBehindLinks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		a := &authority{t: t, dir: filepath.Join(dir, name)}
		if err := os.Mkdir(a.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		a.write(name)
	}
	link := func(to string) {
		t.Helper()
		temporary := filepath.Join(dir, "new")
		if err := os.Symlink(to, temporary); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(temporary, filepath.Join(dir, "data")); err != nil {
			t.Fatal(err)
		}
	}
	link("one")
	synctest.Test(t, func(t *testing.T) {
		c, err := newCertificate(config.TLS{Certificate: filepath.Join(dir, "data/cert.pem"), Key: filepath.Join(dir, "data/key.pem")}, quiet())
		if err != nil {
			t.Fatal(err)
		}
		link("two")
		time.Sleep(certificateInterval)
		if name := nameOf(t, c); name != "two" {
			t.Errorf("the certificate is of %q", name)
		}
	})
}
