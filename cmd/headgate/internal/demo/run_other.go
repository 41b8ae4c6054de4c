//go:build !linux

package demo

import (
	"context"
	"fmt"
	"runtime"

	"github.com/headgate/headgate/loader"
)

// Run says that it needs Linux.
func Run(context.Context, Options) (Summary, error) {
	return Summary{}, fmt.Errorf("%w: the demo limits packets in the kernel, for which it needs Linux, and this is %s",
		loader.ErrUnsupported, runtime.GOOS)
}
