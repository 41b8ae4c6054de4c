package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/loader"
)

// newRoot builds the tree of commands. Nouns read and verbs change, and a verb that finds things
// as it wants them changes nothing and succeeds.
func newRoot(e *env) *cobra.Command {
	g := &global{}
	root := &cobra.Command{
		Use:   "headgate COMMAND [flags]",
		Short: "Limit the traffic of every source at the network card",
		Long: `headgate limits what each source address may send, in packets and bytes, at the network
driver (XDP). Limits, rules and counters live in the kernel: they hold without any process, and
every command takes effect at the next packet.

A source is an IPv4 address or an IPv6 /64. A limit is a rate and a burst: exactly that many packets
or bytes pass at once from an idle source, and from then on as the rate allows. A rule says allow,
block or limit for a prefix; the longest prefix decides. A policy limits some packets only, beside
the default limit.

headgate run starts an agent, which limits HTTP requests and hands offenders down to the kernel. agent,
zones, keys, offenders and fleet show what it does; zone set, report, reload and drain change it.

Programs limit HTTP requests by the http section of a configuration file. check says whether such a
file is right and what it does, explain what it makes of a request, and replay what it would have
done to requests that were recorded.

Nouns read, verbs change, and a verb that finds things as it wants them succeeds. Exit codes: 0 done,
1 failed, 2 wrong usage. With SSH_CONNECTION set, as in an SSH session, what would cut off that
session is refused.`,
		Example: `  headgate attach eth0 --rate 10kpps --burst 20k
  headgate set 203.0.113.0/24 --rate 100pps
  headgate block 198.51.100.7 --for 10m
  headgate top`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          oneOfItsCommands,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: nothingEmpty,
	}
	root.SetIn(e.stdin)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see `%s --help`", err, cmd.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = false
	commandLine := "{{if .HasAvailableSubCommands}}\n  {{.CommandPath}} [command]{{end}}"
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), commandLine, "", 1)) // COMMAND is in Use

	pin := cmp.Or(e.getenv("HEADGATE_PIN"), loader.DefaultDir)
	flags := root.PersistentFlags()
	flags.StringVar(&g.pin, "pin", pin, "directory of the instance, on a bpf file system; env HEADGATE_PIN")
	flags.StringVarP(&g.output, "output", "o", "table", "how to print: table or json")
	flags.DurationVar(&g.lockWait, "lock-wait", 10*time.Second, "how long to wait for another headgate command")
	placeholders(root, map[string]string{"pin": "DIR", "output": "FORMAT", "lock-wait": "TIME"})
	completeFlag(root, "output", oneOf("table", "json"))

	root.AddCommand(
		newAttachCmd(e, g), newDetachCmd(e, g),
		newSetCmd(e, g), newBlockCmd(e, g), newAllowCmd(e, g), newUnsetCmd(e, g),
		newPolicyCmd(e, g), newPoliciesCmd(e, g), newRulesCmd(e, g),
		newStatusCmd(e, g), newStatsCmd(e, g), newTopCmd(e, g), newEventsCmd(e, g),
		newAgentCmd(e, g), newReloadCmd(e, g), newDrainCmd(e, g),
		newZonesCmd(e, g), newZoneCmd(e, g), newKeysCmd(e, g), newPeekCmd(e, g), newResetCmd(e, g),
		newOffendersCmd(e, g), newReportCmd(e, g), newFleetCmd(e, g),
		newRunCmd(e, g), newExplainCmd(e, g), newCheckCmd(e, g), newReplayCmd(e, g), newDemoCmd(e, g), newVersionCmd(e, g),
		newTryWatchCmd(e, g), newDemoPartCmd(e), newManCmd(),
	)
	return root
}
