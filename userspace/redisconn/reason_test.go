package redisconn

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
)

// TestReasonsInTurn: two servers of a cluster that are away for different reasons do not fill the log.
func TestReasonsInTurn(t *testing.T) {
	var log bytes.Buffer
	w := watch{log: slog.New(slog.NewTextHandler(&log, nil)), health: Down, told: map[string]bool{mend(ErrTimeout): true}}
	for range 100 {
		w.reason(ErrTimeout)
		w.reason(syscall.ECONNREFUSED)
		w.reason(syscall.ECONNRESET)
	}
	if n := strings.Count(log.String(), "another reason"); n != 2 {
		t.Errorf("told %d times:\n%.500s", n, log.String())
	}
}

// TestMendTLS: what is wrong with TLS is not taken for a server that is not there.
func TestMendTLS(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}}, "redis.tls.server_name"},
		{fmt.Errorf("wrapped: %w", tls.RecordHeaderError{Msg: "no TLS"}), "does not speak TLS"},
		{syscall.ECONNRESET, "add redis.tls"},
	} {
		if got := mend(c.err); !strings.Contains(got, c.want) {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}
