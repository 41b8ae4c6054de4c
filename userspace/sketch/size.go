package sketch

import "fmt"

// The largest sketch, and the number of rows of EstimatorOptions that name none.
const (
	MostHashes    = 16
	MostSlots     = 1 << 24
	DefaultHashes = 4
)

// EstimatorOptions say how large a sketch is, and where in it a key is counted.
type EstimatorOptions struct {
	// Hashes is the number of rows, 1 to MostHashes; 0 for DefaultHashes.
	Hashes int
	// Slots is the number of counters in a row, 1 to MostSlots; 0 for the default of what is made.
	Slots int
	// Seed salts the hashes. Who knows it can choose keys that are counted as one: let it be random,
	// and different in each process. With the same Seed runs are the same.
	Seed uint64
}

// sized returns o with its defaults, or an error if it is out of range.
func (o EstimatorOptions) sized(slots int) (EstimatorOptions, error) {
	if o.Hashes == 0 {
		o.Hashes = DefaultHashes
	}
	if o.Slots == 0 {
		o.Slots = slots
	}
	if o.Hashes < 1 || o.Hashes > MostHashes {
		return o, fmt.Errorf("sketch: %d hashes; use 1 to %d", o.Hashes, MostHashes)
	}
	if o.Slots < 1 || o.Slots > MostSlots {
		return o, fmt.Errorf("sketch: %d slots; use 1 to %d", o.Slots, MostSlots)
	}
	return o, nil
}
