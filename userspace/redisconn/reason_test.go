package redisconn

import (
	"bytes"
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
