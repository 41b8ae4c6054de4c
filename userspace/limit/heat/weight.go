package heat

import "github.com/headgate/headgate/userspace/limit"

// maxBurst is the longest burst, in ns, that cells can tell from a time in the past.
const maxBurst = 1 << (60 - Shift)

// HasCells says that a limit's bursts are short enough for cells. Sources under any other limit have a
// bucket or nothing.
func HasCells(l limit.Limit) bool {
	return l.Packets.Burst>>l.Packets.Shift <= maxBurst && l.Bytes.Burst>>l.Bytes.Shift <= maxBurst
}

// weight is a packet under a limit, in ticks of cells.
type weight struct {
	charge uint64
	burst  uint64 // the smaller one
	cold   uint64 // the debt up to which a source is cold
	whole  uint64 // the debt up to which its cell alone lets it pass
	fits   bool   // an idle source could send the packet
}

// weigh says what a packet of so many bytes weighs. What a cold source may owe does not depend on the
// packet in hand, or who lost his cell would owe less by the next one. So a packet of more than half a
// burst of bytes is never cold.
func weigh(l limit.Limit, length uint64) weight {
	w := weight{
		charge: ticks(l.Packets, l.Packets.Cost),
		burst:  smallerBurst(l),
		fits:   l.Bytes.IsZero() || l.Bytes.Cost*length <= l.Bytes.Burst,
	}
	w.cold = max(w.burst/2&^exact, w.charge)
	w.charge = max(w.charge, ticks(l.Bytes, l.Bytes.Cost*length))
	w.whole = max(w.burst, w.charge)
	return w
}

func smallerBurst(l limit.Limit) uint64 {
	packets, bytes := ticks(l.Packets, l.Packets.Burst), ticks(l.Bytes, l.Bytes.Burst)
	if packets == 0 || bytes == 0 {
		return packets + bytes
	}
	return min(packets, bytes)
}

// ticks converts an amount of a limit's own ticks.
func ticks(p limit.Params, amount uint64) uint64 { return amount << (Shift - p.Shift) }

// fromTicks is the inverse of ticks, rounded up so that nothing is forgiven.
func fromTicks(p limit.Params, ticks uint64) uint64 {
	by := Shift - p.Shift
	return (ticks + 1<<by - 1) >> by
}
