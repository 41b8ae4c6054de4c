package instance

import (
	"time"

	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/rate"
)

// Fast returns a limit that no run comes near.
func Fast() wire.Limit {
	return wire.Limit{Packets: wire.Quota{
		Rate:  rate.Rate{Count: 100_000_000, Per: time.Second, Unit: rate.Packets},
		Burst: 1_000_000,
	}}
}

// Slow returns a limit that all but the first packet of a source are over.
func Slow() wire.Limit {
	return wire.Limit{Packets: wire.Quota{
		Rate:  rate.Rate{Count: 1, Per: time.Hour, Unit: rate.Packets},
		Burst: 1,
	}}
}
