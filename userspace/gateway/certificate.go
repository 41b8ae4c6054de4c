package gateway

import (
	"crypto/tls"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// certificateInterval is how often its files are looked at, at most.
const certificateInterval = time.Second

// certificate is a pair of files that may change. It is looked at when a client connects, so that there is no
// watcher to be lost: what is replaced, moved or linked to is found in the same way.
type certificate struct {
	files config.TLS
	log   *slog.Logger
	now   atomic.Pointer[tls.Certificate]

	mu   sync.Mutex // held by who looks
	next time.Time
	seen [2]fs.FileInfo // what was read last, whether it was good or not
}

// newCertificate returns an error if the files are not a pair.
func newCertificate(files config.TLS, log *slog.Logger) (*certificate, error) {
	c := &certificate{files: files, log: log, next: time.Now().Add(certificateInterval)}
	seen, err := c.stat()
	if err != nil {
		return nil, err
	}
	c.seen = seen
	return c, c.load()
}

// get is tls.Config.GetCertificate. Who looks at the files is served late; others get what is in force.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.mu.TryLock() {
		defer c.mu.Unlock()
		if now := time.Now(); !now.Before(c.next) {
			c.next = now.Add(certificateInterval)
			c.look()
		}
	}
	return c.now.Load(), nil
}

// look loads the files if they have changed. A pair that is none leaves the one before in force: files are
// often replaced one after the other.
func (c *certificate) look() {
	seen, err := c.stat()
	switch {
	case err != nil:
		seen = [2]fs.FileInfo{}
		if c.seen == seen {
			return // as a second ago
		}
	case sameFile(seen[0], c.seen[0]) && sameFile(seen[1], c.seen[1]):
		return
	default:
		err = c.load()
	}
	c.seen = seen
	if err != nil {
		c.log.Error("the new certificate is not used; the one before stays", "certificate", c.files.Certificate, "error", err)
		return
	}
	c.log.Info("certificate read again", "certificate", c.files.Certificate)
}

func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.files.Certificate, c.files.Key)
	if err != nil {
		return err
	}
	c.now.Store(&pair)
	return nil
}

// stat is called before the files are read, so that a change in between is found the next time.
func (c *certificate) stat() (seen [2]fs.FileInfo, err error) {
	for i, path := range []string{c.files.Certificate, c.files.Key} {
		if seen[i], err = os.Stat(path); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// sameFile reports whether a and b are one file that has not been written to.
func sameFile(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
