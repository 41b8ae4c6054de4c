package redisconn

import (
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// hint returns what can be done about an answer of a server that is not well, or that will answer so to everything; nothing for
// other answers, which are about the call: a key of another type, an error in a script, a slot that is on its way to another
// master.
func hint(code string) string {
	switch code {
	case "OOM":
		return "give Redis more memory (maxmemory)"
	case "MISCONF":
		return "Redis cannot write to its disk: see its log, make room, or set stop-writes-on-bgsave-error no"
	case "LOADING":
		return "wait: Redis reads its data from disk"
	case "BUSY":
		return "a script keeps Redis busy: SCRIPT KILL ends it"
	case "READONLY":
		return "this is a replica: name the master in redis.addrs, or use mode sentinel or cluster"
	case "MASTERDOWN":
		return "this is a replica without a master: name the master in redis.addrs"
	case "NOREPLICAS":
		return "Redis has fewer replicas than min-replicas-to-write"
	case "CLUSTERDOWN":
		return "the cluster has slots that no master serves: see CLUSTER INFO"
	case "NOAUTH":
		return "set redis.password_file"
	case "WRONGPASS":
		return "compare redis.username and what is in redis.password_file with the server's; it is read at each connection"
	case "NOPERM":
		return "give the user in redis.username what deploy/redis/headgate.conf grants, and what keys and channels begin with redis.prefix"
	case "DENIED":
		return "Redis is in protected mode: give its default user a password, or turn that user off, and set redis.password_file"
	case "MAXCLIENTS":
		return "raise maxclients of Redis"
	}
	return ""
}

// isFault reports whether an error tells that a server is not well, and not only that a call was wrong.
func isFault(err error) bool {
	if err == nil {
		return false
	}
	var answer redis.Error
	if !errors.As(err, &answer) || errors.Is(err, redis.Nil) {
		return true // no connection, no answer, or none that makes sense
	}
	return hint(code(err)) != ""
}

// Answered reports whether an error is what a server answered, and not that none did.
func Answered(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// code returns the word that an answer begins with, or what stands for it where Redis has none: for what a script may not do, and
// before version 7 for all that commands of a script answer.
func code(err error) string {
	text := err.Error()
	word, rest, _ := strings.Cut(text, " ")
	if word != "ERR" {
		return word
	}
	switch {
	case strings.HasPrefix(rest, "max number of clients"):
		return "MAXCLIENTS"
	case strings.HasPrefix(rest, "ACL failure in script"), strings.HasPrefix(rest, "The user executing the script can't"):
		return "NOPERM"
	}
	if _, inner, is := strings.Cut(rest, ": -"); is && strings.HasPrefix(rest, "Error running script") {
		word, _, _ = strings.Cut(inner, " ")
	}
	return word
}

// Mend returns what can be done about an error of a call; empty for none, and for one that is about the call itself.
func Mend(err error) string {
	if !isFault(err) || errors.Is(err, ErrClosed) {
		return ""
	}
	return mend(err)
}

// mend returns what can be done about a fault.
func mend(err error) string {
	if err == nil {
		return ""
	}
	var answer redis.Error
	if text := hint(code(err)); text != "" && errors.As(err, &answer) {
		return text
	}
	switch {
	case errors.Is(err, ErrTimeout):
		return "see whether Redis and the network to it are slow (redis-cli --latency), or raise redis.timeout"
	case errors.Is(err, errNonsense), errors.Is(err, redis.Nil):
		return "see whether redis.addrs are Redis servers"
	}
	if text := mendTLS(err); text != "" {
		return text
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return "the server ends connections: see its log. In protected mode Redis does so to other machines: give its default user a password, or turn that user off. If it speaks TLS, add redis.tls"
	}
	return "see whether Redis runs and can be reached at redis.addrs"
}

// mendTLS returns what can be done about a fault of TLS, empty if it is none.
func mendTLS(err error) string {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate):
		return "see whether the certificate is that of the server, and redis.tls.ca and redis.tls.server_name"
	case errors.As(err, &record):
		return "the server does not speak TLS at this port: see redis.addrs, or leave out redis.tls"
	}
	return ""
}
