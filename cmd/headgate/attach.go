package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
)

type attachFlags struct {
	limit                  limitFlags
	overflow               overflowFlag
	mode, heatMemory       string
	ipv4Prefix, ipv6Prefix int
	maxSources, maxRules   uint32
	dryRun, force          bool
	try                    time.Duration
}

func newAttachCmd(e *env, g *global) *cobra.Command {
	f := &attachFlags{}
	cmd := &cobra.Command{
		Use:   "attach IFACE...",
		Short: "Attach to interfaces, and set the default limit",
		Long: `Load the limiter where it is not loaded yet, attach it to these interfaces and set the limit
that every source has by default. It stays when the command ends. What no flag names stays as it is
where the instance exists, but a new rate without a burst brings its default burst. Where another
build of headgate made the instance, its program is replaced by that of this one, without a gap.

Without --rate and --bandwidth packets are counted per source and nothing is limited.

With --try everything goes back to how it was unless you press Enter in time: also where you have
cut off your own terminal, and even where every headgate process is killed, as the kernel itself
keeps the time.`,
		Example: `  headgate attach eth0 --rate 10kpps --burst 20k
  headgate attach eth0 eth1 --rate 10kpps --bandwidth 100Mbit/s
  headgate attach eth0 --rate 1kpps --try 60s
  headgate attach eth0 --rate 1kpps --dry-run`,
		Args:              atLeastOne("interface"),
		ValidArgsFunction: completeInterfaces,
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.attach(cmd, g, f, args)
		},
	}
	f.limit.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", "auto", "native (in the driver), generic (any driver, slower), or auto")
	f.overflow.register(cmd)
	flags.IntVar(&f.ipv4Prefix, "ipv4-prefix", 32, "how many bits of an IPv4 address make a source")
	flags.IntVar(&f.ipv6Prefix, "ipv6-prefix", 64, "how many bits of an IPv6 address make a source")
	flags.Uint32Var(&f.maxSources, "max-sources", loader.DefaultMaxSources, "how many sources a new instance keeps at once")
	flags.Uint32Var(&f.maxRules, "max-rules", loader.DefaultMaxRules, "how many prefixes of each family a new instance has room for")
	flags.StringVar(&f.heatMemory, "heat-memory", "", "memory for sources far from their limit in a new instance, 16KiB to 1GiB (default by the rate, 1MiB to 64MiB)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "count what would be dropped, and drop nothing")
	flags.BoolVar(&f.force, "force", false, "also where it could cut off this SSH session")
	flags.DurationVar(&f.try, "try", 0, "go back after this time unless confirmed, as 60s")
	placeholders(cmd, map[string]string{
		"mode": "MODE", "heat-memory": "SIZE", "ipv4-prefix": "BITS", "ipv6-prefix": "BITS",
		"max-sources": "NUMBER", "max-rules": "NUMBER", "try": "TIME",
	})
	completeFlag(cmd, "mode", oneOf("auto", "native", "generic"))
	return cmd
}

// validate finds what is wrong with the flags before anything is done.
func (f *attachFlags) validate(cmd *cobra.Command) error {
	if _, err := loader.ParseMode(f.mode); err != nil {
		return usagef("--%w", err)
	}
	if err := f.overflow.check(); err != nil {
		return err
	}
	if f.ipv4Prefix < 0 || f.ipv4Prefix > 32 {
		return usagef("--ipv4-prefix %d: an IPv4 address has 32 bits, so use 0 to 32; "+
			"--ipv6-prefix is the one for IPv6", f.ipv4Prefix)
	}
	if f.ipv6Prefix < 0 || f.ipv6Prefix > 128 {
		return usagef("--ipv6-prefix %d: an IPv6 address has 128 bits, so use 0 to 128", f.ipv6Prefix)
	}
	if f.maxSources == 0 || f.maxRules == 0 {
		return usagef("--max-sources and --max-rules must be above 0")
	}
	if _, err := f.newHeatMemory(); err != nil {
		return err
	}
	if cmd.Flags().Changed("try") && f.try < time.Second {
		return usagef("--try %s: use a duration of at least 1s, as 60s", render.Duration(f.try))
	}
	return f.limit.check()
}
