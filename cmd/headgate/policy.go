package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/userspace/ipproto"
)

// any takes back what a policy matched.
const anyValue = "any"

type policyFlags struct {
	limit            limitFlags
	overflow         overflowFlag
	proto, port, key string
	syn, unverified  bool
	dryRun, force    bool
}

func newPolicyCmd(e *env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy COMMAND",
		Short: "Make, change and delete policies",
		Long: `A policy limits the packets that match it, beside the default limit and all other policies: a packet
has to pass every one that it matches. There are up to 8, the default one included.`,
		Example: `  headgate policy set dns --proto udp --port 53 --rate 50pps --burst 100
  headgate policy delete dns`,
		Args: oneOfItsCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicySetCmd(e, g), newPolicyDeleteCmd(e, g))
	return cmd
}

func newPolicySetCmd(e *env, g *global) *cobra.Command {
	f := &policyFlags{}
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Make a policy, or change one",
		Long: `Limit the packets that match, beside all other policies: a packet has to pass every one that it
matches, and is charged to all of them or to none. Up to 8 policies, the default one included.
What no flag names stays as it is.

A fragment that is not the first has no ports and matches no --port.

A source is verified for a while when the agent has allowed a request of it: nobody can forge
an address that a TCP connection is from. One with a limit by "headgate set PREFIX" counts as verified
too. With --unverified --key shared, a flood from forged addresses shares one limit, which those are
not under.`,
		Example: `  headgate policy set dns --proto udp --port 53 --rate 50pps --burst 100
  headgate policy set syn --syn --rate 20pps
  headgate policy set all-icmp --proto icmp --key shared --rate 1kpps
  headgate policy set strangers --unverified --key shared --rate 200kpps
  headgate policy set web --proto tcp --port 80-443 --bandwidth 10Mbit/s --dry-run`,
		Args:              exactlyOne("policy"),
		ValidArgsFunction: first(e.completePolicies(g)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.setNamedPolicy(cmd, g, f, args[0])
		},
	}
	f.limit.register(cmd)
	f.overflow.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.proto, "proto", "", "match this IP protocol: tcp, udp, icmp, icmpv6, a number, or any")
	flags.StringVar(&f.port, "port", "", "match this destination port or range, as 53 or 1000-2000, or any")
	flags.BoolVar(&f.syn, "syn", false, "match only packets that open a TCP connection")
	flags.BoolVar(&f.unverified, "unverified", false, "match only sources that are not verified, nor have a limit of their own")
	flags.StringVar(&f.key, "key", "", "whose packets count together: source (the default), or shared for all that match")
	flags.BoolVar(&f.dryRun, "dry-run", false, "count what would be dropped, and drop nothing")
	flags.BoolVar(&f.force, "force", false, "also where it could cut off this SSH session")
	placeholders(cmd, map[string]string{"proto": "PROTOCOL", "port": "PORTS", "key": "KEY"})
	completeFlag(cmd, "proto", oneOf("tcp", "udp", "icmp", "icmpv6", "any"))
	completeFlag(cmd, "key", oneOf("source", "shared"))
	return cmd
}

func (e *env) setNamedPolicy(cmd *cobra.Command, g *global, f *policyFlags, name string) error {
	if _, err := g.format(); err != nil {
		return err
	}
	if name == policymap.Default {
		return usagef("the default policy matches every packet; change its limit with `headgate set default`")
	}
	if err := cmp.Or(f.limit.check(), f.overflow.check()); err != nil {
		return err
	}
	return e.changing(g, func(i *loader.Instance) error {
		config, err := i.Policies().Load()
		if err != nil {
			return err
		}
		policy, ok := config.Policy(name)
		if !ok {
			policy = policymap.Policy{Name: name}
		}
		if err := f.apply(cmd, &policy); err != nil {
			return err
		}
		if err := change.SetPolicy(i, &config, policy); err != nil {
			return err
		}
		if err := e.guard(f.force).Config(i, &config, nil); err != nil {
			return err
		}
		e.noticeSmallBurst(policy.Limit)
		if err := i.Policies().Store(config); err != nil {
			return err
		}
		text := fmt.Sprintf("policy %s: %s%s", name, policy.Limit, f.overflow.words())
		if policy.DryRun || config.DryRun {
			text += "; dry run: it drops nothing"
		}
		return e.print(g, render.Done{Action: "policy set", Policy: name, Changed: 1, Text: text})
	})
}

// apply changes what the flags name in a policy.
func (f *policyFlags) apply(cmd *cobra.Command, p *policymap.Policy) error {
	limit, err := f.limit.apply(p.Limit)
	if err != nil {
		return err
	}
	p.Limit = limit
	flags := cmd.Flags()
	if flags.Changed("proto") {
		if p.Proto, p.HasProto, err = parseProto(f.proto); err != nil {
			return usage(err)
		}
	}
	if flags.Changed("port") {
		if p.Ports, err = parsePorts(f.port); err != nil {
			return usage(err)
		}
	}
	if flags.Changed("key") {
		if p.Key, err = parseKey(f.key); err != nil {
			return usage(err)
		}
	}
	if flags.Changed("syn") {
		p.SYN = f.syn
	}
	if flags.Changed("unverified") {
		p.Unverified = f.unverified
	}
	if flags.Changed("dry-run") {
		p.DryRun = f.dryRun
	}
	if err := f.overflow.apply(p); err != nil {
		return err
	}
	return usage(p.Validate())
}

func newPolicyDeleteCmd(e *env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a policy; its packets are then under the others only",
		Example: `  headgate policy delete dns`,
		Args:    exactlyOne("policy"),

		ValidArgsFunction: first(e.completePolicies(g)),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := g.format(); err != nil {
				return err
			}
			return e.changing(g, func(i *loader.Instance) error { return e.deletePolicy(g, i, args[0]) })
		},
	}
}

func (e *env) deletePolicy(g *global, i *loader.Instance, name string) error {
	if name == policymap.Default {
		return usagef("the default policy stays; `headgate unset default` lifts its limit")
	}
	deleted, err := change.DeletePolicy(i, name)
	if err != nil {
		return err
	}
	done := render.Done{Action: "policy delete", Policy: name, Text: "nothing to change"}
	if deleted {
		done.Changed, done.Text = 1, "deleted policy "+name
	}
	return e.print(g, done)
}

func parseProto(s string) (proto uint8, match bool, err error) {
	if s == anyValue {
		return 0, false, nil
	}
	if proto, match = ipproto.Parse(s); !match {
		return 0, false, fmt.Errorf("--proto %q: use %s, a number up to 255, or any", s, strings.Join(ipproto.Names(), ", "))
	}
	return proto, true, nil
}

func parsePorts(s string) (policymap.Ports, error) {
	if s == anyValue {
		return policymap.Ports{}, nil
	}
	first, last, err := ipproto.ParsePorts(s)
	if err != nil {
		return policymap.Ports{}, fmt.Errorf("--port %w, or any", err)
	}
	return policymap.Ports{First: first, Last: last}, nil
}

func parseKey(s string) (policymap.Key, error) {
	for _, k := range []policymap.Key{policymap.PerSource, policymap.Shared} {
		if s == k.String() {
			return k, nil
		}
	}
	return 0, fmt.Errorf("--key %q: use source or shared", s)
}
