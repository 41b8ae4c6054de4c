package config

import "time"

// Redis is the redis section: where limits are kept that several machines share.
type Redis struct {
	Addrs []string // HOST:PORT; of sentinel mode those of the sentinels
	Mode  string   // RedisSingle, RedisSentinel or RedisCluster
	// Master is the name by which sentinels know the servers; of sentinel mode only.
	Master   string
	Database int // 0 in cluster mode
	Username string
	// PasswordFile is absolute, or relative to the configuration file; empty for no password. SentinelPasswordFile likewise.
	PasswordFile                           string
	SentinelUsername, SentinelPasswordFile string
	TLS                                    *RedisTLS // nil for none
	// Prefix begins all keys and channels: fleets with different ones have nothing to do with each other.
	Prefix string
	// Name is of this machine in the fleet; its host name by default.
	Name string
	// Timeout is how long a request waits for an answer.
	Timeout time.Duration
	// MaxInFlight is how many calls may wait for an answer.
	MaxInFlight int
}

// What a Redis without a Timeout or a MaxInFlight has.
const (
	// DefaultRedisTimeout is many round trips within a data centre, and less than people notice.
	DefaultRedisTimeout = 20 * time.Millisecond
	// DefaultRedisInFlight is many times what waits for a Redis that is well.
	DefaultRedisInFlight = 1024
)

// The values of Redis.Mode.
const (
	RedisSingle   = "single"
	RedisSentinel = "sentinel"
	RedisCluster  = "cluster"
)

// RedisTLS says how servers are known. Files are absolute, or relative to the configuration file; empty for the
// system's authorities, and for no certificate of our own.
type RedisTLS struct {
	CA, Certificate, Key string
	ServerName           string // empty for the host of the address
}

// Fleet is the fleet section: rules that the kernels of all machines have.
type Fleet struct {
	// HandDown says that sources that this machine hands down are published.
	HandDown bool
	// Follow says that rules of others come into force here.
	Follow bool
	// MaxPublished is how many rules this machine may publish a minute.
	MaxPublished int
	// MaxRules is how many rules the fleet may have.
	MaxRules int
}

// The values of Zone.Store.
const (
	StoreMemory = "memory"
	StoreRedis  = "redis"
)

// OnStoreFailure says what limits of store redis do while Redis does not answer.
type OnStoreFailure string

// The values of OnStoreFailure.
const (
	FailLocal  OnStoreFailure = "local"  // this machine admits its part: the limit divided by the number of machines
	FailOpen   OnStoreFailure = "open"   // the limit lets all pass
	FailClosed OnStoreFailure = "closed" // the limit refuses all
)
