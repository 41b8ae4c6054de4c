package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// Bounds of a token, in bytes. What is shorter is guessed, or is a mistake.
const (
	minToken = 16
	maxToken = 4096
)

// admit returns why a request is not served, if it is not.
func (h *handler) admit(r *http.Request) *Problem {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return problem(http.StatusForbidden, "the request comes from a page of another site; pages may not change anything here")
	}
	if h.options.TokenFile == "" {
		return nil
	}
	// A page whose name resolves to 127.0.0.1 is of the same origin for its browser.
	if !isLoopback(r.Host) {
		return problem(http.StatusForbidden, "host %.60q: ask for 127.0.0.1, [::1] or localhost", r.Host)
	}
	token, err := readToken(h.options.TokenFile)
	if err != nil {
		return problem(http.StatusInternalServerError, "%v", err)
	}
	given, isBearer := bearer(r)
	// Hashes are compared, so that the time says nothing of the length either.
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(want[:], got[:]) != 1 || !isBearer {
		return problem(http.StatusUnauthorized, "send the token of the admin section's token_file as Authorization: Bearer TOKEN")
	}
	return nil
}

func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "bearer")
}

// isLoopback reports whether a Host is of this machine alone.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// CheckToken returns what is wrong with a file that is to have a token, or nil.
func CheckToken(path string) error {
	_, err := readToken(path)
	return err
}

// readToken returns the token that is in a file, without the white space around it.
func readToken(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("read the admin token: %s is no regular file", path) // a pipe would wait for its writer
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the admin token: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("read the admin token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	var wrong error
	switch {
	case len(text) > maxToken:
		wrong = fmt.Errorf("more than %d bytes", maxToken)
	case len(token) < minToken:
		wrong = fmt.Errorf("a token of less than %d characters", minToken)
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
		wrong = errors.New("a token with other characters than printed ASCII ones")
	default:
		return token, nil
	}
	return "", fmt.Errorf("%s has %w; make one with `openssl rand -hex 32`", path, wrong)
}
