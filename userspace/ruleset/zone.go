package ruleset

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/shared"
)

// zone is a key, and what each of its values may do.
type zone struct {
	name       string
	parts      []part
	ipv4, ipv6 int // how much of an address the key has, in bits; 0 for the default
	exempt     values
	overrides  values
	quotas     []quota // that of the zone itself first
	quotaOf    []int   // for each override, which of quotas
	algorithm  config.Algorithm
	keys       keyed.Options[keyed.Key]
	isShared   bool    // the file says so; common is nil all the same where there is no store
	common     *common // nil for a zone of this machine alone
	members    uint64  // machines, of which this one admits its part by itself; 1 for a zone of its own
	uses       []*use
	// stores have the states of the keys, each key in one of them: that of windows of a length by that, others at 0.
	// None if no rule has used the zone yet.
	stores map[storeName]store
	// was are the stores that the zone had before, of the same keys and algorithm, and what has become of
	// the quotas that it had; nil if it had none.
	was    map[storeName]store
	from   []keyed.Class
	record *record
}

// storeName is the length of the windows that a store is for, or onlyStore.
type storeName time.Duration

// onlyStore is the store of all keys, where they are not in windows.
const onlyStore storeName = 0

// store is what a zone needs of a limiter beside what it needs to decide.
type store interface {
	Counters() keyed.Counters
	Settle(now time.Duration)
	SetMaxKeys(n int)
	Forget(key keyed.Key) bool
	Owner(key keyed.Key, now time.Duration) keyed.Owner[keyed.Key]
	Top(n int, now time.Duration) []keyed.Owner[keyed.Key]
}

// quota is what a key may do.
type quota struct {
	config.Quota
	slots uint64
}

// bound is a zone's limit as a rule uses it, for the keys of one quota.
type bound struct {
	limiter keyed.Limiter[keyed.Key]
	quota   string
	window  time.Duration
	limit   shared.Limit // over all machines
}

func newZone(c config.Zone, ip config.ClientIP) (*zone, error) {
	parts, err := newParts(c.Key)
	if err != nil {
		return nil, fmt.Errorf("zone %q: %w", c.Name, err)
	}
	z := &zone{
		name:      c.Name,
		parts:     parts,
		ipv4:      cmp.Or(c.IPv4Prefix, ip.IPv4Prefix),
		ipv6:      cmp.Or(c.IPv6Prefix, ip.IPv6Prefix),
		exempt:    values{parts: parts},
		overrides: values{parts: parts},
		quotas:    []quota{{c.Quota, c.Slots}},
		algorithm: cmp.Or(c.Algorithm, config.Leaky),
		keys:      keyed.Options[keyed.Key]{Name: c.Name, MaxKeys: c.MaxKeys},
		stores:    map[storeName]store{},
		isShared:  c.Store == config.StoreRedis,
		members:   1,
	}
	for i, value := range c.Allow {
		if err := z.exempt.add(value, i); err != nil {
			return nil, fmt.Errorf("zone %q: allow: %w", z.name, err)
		}
	}
	if err := z.override(c.Overrides); err != nil {
		return nil, fmt.Errorf("zone %q: overrides: %w", z.name, err)
	}
	if len(z.quotas) > maxQuotas {
		return nil, fmt.Errorf("zone %q: overrides: %d different limits; use at most %d", z.name, len(z.quotas)-1, maxQuotas-1)
	}
	return z, nil
}

// maxQuotas is how many quotas a zone may have: each is a keyed.Class.
const maxQuotas = math.MaxUint16

// override notes which keys have another quota. Overrides with the same quota have the same limit.
func (z *zone) override(overrides []config.Override) error {
	number := map[quota]int{z.quotas[0]: 0}
	for i, o := range overrides {
		if err := z.overrides.add(o.Value, i); err != nil {
			return err
		}
		q := quota{o.Quota, o.Slots}
		n, has := number[q]
		if !has {
			n = len(z.quotas)
			number[q] = n
			z.quotas = append(z.quotas, q)
		}
		z.quotaOf = append(z.quotaOf, n)
	}
	return nil
}

// bind makes the zone's limiters and gives each of its uses its own.
func (z *zone) bind() error {
	if len(z.uses) == 0 {
		z.stores = z.was // for when it is used again
		return nil
	}
	limiters, err := z.newLimiters()
	if err != nil {
		return fmt.Errorf("zone %q: %w", z.name, err)
	}
	for i, u := range z.uses {
		for j, q := range z.quotas {
			b := bound{limiters[i][j], q.Text, z.window(q, u), q.over(z.algorithm, u)}
			if err := z.checkShared(b.limit); err != nil {
				return fmt.Errorf("zone %q: %w", z.name, err)
			}
			u.bounds = append(u.bounds, b)
		}
	}
	return nil
}

// window returns the time in which an idle key is given as much as it may send at
// one instant, rounded up.
func (z *zone) window(q quota, u *use) time.Duration {
	switch z.algorithm {
	case config.Concurrent:
		return 0
	case config.Window, config.Sliding:
		return q.Per
	}
	count, per := q.Count, q.Per
	if z.algorithm == config.Nginx {
		if kept, err := nginxRate(q.Quota); err == nil {
			count, per = uint64(kept), perThousand // what it keeps of the rate
		}
	}
	n := new(big.Int).SetUint64(u.burst)
	n.Add(n, big.NewInt(1)).Mul(n, big.NewInt(int64(per)))
	divisor := new(big.Int).SetUint64(max(count, 1))
	n.Add(n, divisor).Sub(n, big.NewInt(1)).Div(n, divisor)
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return time.Duration(n.Int64())
}

// client returns what the zone's keys have of addr.
func (z *zone) client(addr netip.Addr) netip.Prefix { return clientip.Masked(addr, z.ipv4, z.ipv6) }
