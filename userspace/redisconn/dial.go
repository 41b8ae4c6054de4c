package redisconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/dialed"
)

const (
	// dialTimeout is how long it may take to find a host, connect to it, and agree on keys. No caller waits for that.
	dialTimeout = 2 * time.Second
	// ioTimeout ends connections whose use has no deadline of its own.
	ioTimeout = 2 * time.Second
	// connections is how many there are to a server: one for each round trip of each lane, for calls without haste, and for
	// those that are being closed.
	connections = clusterLanes*trips + patientCalls + 8
)

// dial returns a transport to the servers of a configuration. It connects when it is used.
func dial(c config.Redis, met *dialed.Addrs) (transport, error) {
	if len(c.Addrs) == 0 {
		return nil, errors.New("addrs is empty; name at least one HOST:PORT")
	}
	secrets, err := trust(c.TLS)
	if err != nil {
		return nil, err
	}
	sentinelPassword, err := password(c.SentinelPasswordFile)
	if err != nil {
		return nil, err
	}
	if _, err := password(c.PasswordFile); err != nil {
		return nil, err
	}
	u := universal(c, secrets)
	u.Dialer = bounding(dialer(met, secrets))
	u.SentinelUsername, u.SentinelPassword = c.SentinelUsername, sentinelPassword
	switch c.Mode {
	case config.RedisCluster:
		cluster := u.Cluster()
		cluster.DisableRoutingPolicies = true
		return client{redis.NewClusterClient(cluster), false}, nil
	case config.RedisSentinel:
		failover := u.Failover()
		failover.DialerRetries = 1
		return client{redis.NewFailoverClient(failover), true}, nil
	}
	simple := u.Simple()
	simple.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return client{redis.NewClient(simple), true}, nil
}

// dialer returns what the library is to connect by, which notes whom it has met.
func dialer(met *dialed.Addrs, secrets *tls.Config) dialing {
	plain := &net.Dialer{Timeout: dialTimeout, Control: met.Control}
	if secrets == nil {
		return plain.DialContext
	}
	return (&tls.Dialer{NetDialer: plain, Config: secrets}).DialContext
}

// universal returns the options that the modes have in common. Whoever repeats a call of a rate limit charges it twice, so
// the library is to try nothing again; the breaker does.
func universal(c config.Redis, secrets *tls.Config) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs: c.Addrs, MasterName: c.Master, DB: c.Database,
		CredentialsProviderContext: func(context.Context) (string, string, error) {
			secret, err := password(c.PasswordFile)
			return c.Username, secret, err
		},
		TLSConfig: secrets,
		Protocol:  2, DisableIdentity: true, // one round trip less until a connection is ready
		MaxRetries: -1, MinRetryBackoff: -1, MaxRetryBackoff: -1, DialerRetries: 1,
		DialTimeout: dialTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, ContextTimeoutEnabled: true,
		PoolSize: connections, PipelinePoolSize: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// password returns what is in a file, without the newline at its end; of no file nothing.
func password(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := read(file)
	if err != nil {
		return "", fmt.Errorf("password: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// read reads a file. To open a pipe would wait for who writes to it, and so would the end of a Conn.
func read(file string) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", file)
	}
	return os.ReadFile(file)
}

// trust returns whom to trust and what to show them; nil for no TLS. The certificate is read again at each connection.
func trust(t *config.RedisTLS) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	secrets := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		text, err := read(t.CA)
		if err != nil {
			return nil, fmt.Errorf("tls: ca: %w", err)
		}
		secrets.RootCAs = x509.NewCertPool()
		if !secrets.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tls: ca: %s has no certificate in PEM", t.CA)
		}
	}
	if t.Certificate == "" {
		return secrets, nil
	}
	show := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		certificate, err := read(t.Certificate)
		if err != nil {
			return nil, err
		}
		key, err := read(t.Key)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(certificate, key)
		return &pair, err
	}
	secrets.GetClientCertificate = show
	if _, err := show(nil); err != nil {
		return nil, fmt.Errorf("tls: certificate: %w", err)
	}
	return secrets, nil
}
