package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
)

// linkedVersion is the version of a build that knows it: -ldflags "-X main.linkedVersion=v1.2.3".
// Nothing else writes it.
var linkedVersion string

func newVersionCmd(e *env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Long: `version shows the version of headgate and the first digits of the SHA-256 of the program that
it has for the kernel: two builds with the same digits limit with the same program.`,
		Example: `  headgate version
  headgate version -o json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return e.print(g, versionView()) },
	}
}

func versionView() render.Version {
	const digits = 12
	object := sha256.Sum256(bpf.Object())
	return render.Version{
		Version:  cmp.Or(linkedVersion, moduleVersion(), "unknown"),
		Build:    hex.EncodeToString(object[:])[:digits],
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Kernel:   loader.KernelRelease(),
	}
}

// moduleVersion is what the go command recorded: a version, or "(devel)".
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}
