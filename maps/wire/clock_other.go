//go:build !linux

package wire

// BootTime returns 0: there is no program whose clock it could be.
func BootTime() uint64 { return 0 }
