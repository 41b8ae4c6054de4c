package keyed

// Words returns the words of a Key.
func Words(k Key) [3]uint64 { return [3]uint64{k.first, k.second, k.rest} }
