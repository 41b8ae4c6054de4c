//go:build !linux

package part

import (
	"fmt"
	"io"
	"runtime"

	"github.com/headgate/headgate/loader"
)

// Play says that it needs Linux.
func Play(string, Script, io.Reader, io.Writer) error {
	return fmt.Errorf("%w: the demo limits packets in the kernel, for which it needs Linux, and this is %s",
		loader.ErrUnsupported, runtime.GOOS)
}
