//go:build !linux

package verifiedmap

import "errors"

// access says what the table is mapped for.
type access int

const (
	read access = iota
	write
)

// with returns an error: there is no table.
func (*Map) with(access, func(table)) error { return errors.ErrUnsupported }
