package wire

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

// Quota is a limit in one dimension as people write it. The zero Quota is no limit.
type Quota struct {
	Rate  rate.Rate
	Burst uint64 // packets or bytes
}

// Limit is a limit in packets, in bytes, or in both.
type Limit struct {
	Packets, Bytes Quota
}

// IsZero says that nothing is limited.
func (l Limit) IsZero() bool { return l == Limit{} }

// String returns the limit in words: "10kpps, burst 20k and 100Mbit/s, burst 64KiB".
func (l Limit) String() string {
	packets := fmt.Sprintf("%s, burst %s", l.Packets.Rate, rate.FormatCount(l.Packets.Burst))
	bytes := fmt.Sprintf("%s, burst %s", l.Bytes.Rate, rate.FormatSize(l.Bytes.Burst))
	switch {
	case l.IsZero():
		return "no limit"
	case l.Bytes == (Quota{}):
		return packets
	case l.Packets == (Quota{}):
		return bytes
	default:
		return packets + " and " + bytes
	}
}

// Compile returns the numbers that are decided by. The error says which dimension is wrong.
func (l Limit) Compile() (limit.Limit, error) {
	packets, err := compile(l.Packets)
	if err != nil {
		return limit.Limit{}, fmt.Errorf("packet limit: %w", err)
	}
	bytes, err := compile(l.Bytes)
	if err != nil {
		return limit.Limit{}, fmt.Errorf("bandwidth limit: %w", err)
	}
	return limit.Limit{Packets: packets, Bytes: bytes}, nil
}

func compile(q Quota) (limit.Params, error) {
	if q == (Quota{}) {
		return limit.Params{}, nil
	}
	return limit.Compile(q.Rate, q.Burst)
}

// EncodeLimit returns a limit as the program reads it, and the rates as they were written.
func EncodeLimit(l Limit) (bpf.Limit, [bpf.DimensionLen]bpf.Rate, error) {
	var encoded bpf.Limit
	var rates [bpf.DimensionLen]bpf.Rate

	compiled, err := l.Compile()
	if err != nil {
		return encoded, rates, err
	}
	encoded.Gcra[bpf.DimensionPackets] = gcra(compiled.Packets)
	encoded.Gcra[bpf.DimensionBytes] = gcra(compiled.Bytes)
	encoded.Fingerprint = Fingerprint(compiled)
	encoded.HeatBurst = heatBurst(compiled)
	rates[bpf.DimensionPackets] = encodeRate(l.Packets.Rate)
	rates[bpf.DimensionBytes] = encodeRate(l.Bytes.Rate)
	return encoded, rates, nil
}

// DecodeLimit is the inverse of EncodeLimit.
func DecodeLimit(l bpf.Limit, rates [bpf.DimensionLen]bpf.Rate) Limit {
	return Limit{
		Packets: quota(l.Gcra[bpf.DimensionPackets], rates[bpf.DimensionPackets], rate.Packets),
		Bytes:   quota(l.Gcra[bpf.DimensionBytes], rates[bpf.DimensionBytes], rate.Bytes),
	}
}

// Fingerprint identifies the numbers of a limit: the shifts in the low bits, as the program wants
// them there, above them a hash of everything. It is never 0.
func Fingerprint(l limit.Limit) uint64 {
	shifts := uint64(l.Packets.Shift) | uint64(l.Bytes.Shift)<<bpf.ShiftBits
	const shiftBits = 2 * bpf.ShiftBits

	var numbers []byte
	for _, n := range []uint64{l.Packets.Cost, l.Packets.Burst, l.Bytes.Cost, l.Bytes.Burst, shifts} {
		numbers = binary.BigEndian.AppendUint64(numbers, n)
	}
	hash := fnv.New64a()
	hash.Write(numbers)
	// The bit set here keeps the whole from being 0.
	return hash.Sum64()<<shiftBits | 1<<(shiftBits) | shifts
}

// maxHeatBurst is the longest burst, in ns, that heat cells can tell from a time in the past: twice
// that, and some, is less than half of what they count to.
const maxHeatBurst = 1 << (60 - bpf.HeatShift)

// heatBurst returns the smaller burst in ticks of the heat cells. 0 is no limit, bpf.Forever one that
// has no place there.
func heatBurst(l limit.Limit) uint64 {
	least := bpf.Forever
	for _, p := range []limit.Params{l.Packets, l.Bytes} {
		if p.IsZero() {
			continue
		}
		if p.Burst>>p.Shift > maxHeatBurst {
			return bpf.Forever
		}
		least = min(least, p.Burst<<(bpf.HeatShift-p.Shift))
	}
	if l.IsZero() {
		return 0
	}
	return least
}

// HasCells says whether the heat tier has cells for the sources of a limit. It has none where the burst
// takes longer to drain than maxHeatBurst, which is 2.4 hours.
func (l Limit) HasCells() bool {
	compiled, err := l.Compile()
	return err == nil && heatBurst(compiled) != bpf.Forever
}

func gcra(p limit.Params) bpf.Gcra { return bpf.Gcra{Cost: p.Cost, Burst: p.Burst} }

func encodeRate(r rate.Rate) bpf.Rate {
	return bpf.Rate{Count: r.Count, Per: uint64(r.Per)}
}

func quota(g bpf.Gcra, r bpf.Rate, unit rate.Unit) Quota {
	if g.Cost == 0 || r.Count == 0 || r.Per > math.MaxInt64 {
		return Quota{}
	}
	return Quota{
		Rate:  rate.Rate{Count: r.Count, Per: time.Duration(r.Per), Unit: unit},
		Burst: g.Burst / g.Cost,
	}
}
