//go:build !linux

package heatmap

import (
	"errors"
	"time"
)

// Tick returns an error: there is no limiter to load.
func Tick() (time.Duration, error) { return 0, errors.ErrUnsupported }
