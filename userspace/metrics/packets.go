package metrics

type kernelFamilies struct {
	up, attached, packets, bytes, policyPackets, policyBytes, rules, sources, maxSources, verified, cold, inserts, memory *family
}

func newKernelFamilies() kernelFamilies {
	return kernelFamilies{
		up: gauge("kernel_up",
			"1 if the kernel's limiter could be read in this scrape, 0 if not."),
		attached: gauge("kernel_interface_attached",
			"1 if the program is attached to the interface, 0 if it should be. Mode is native, generic or empty.", "interface", "mode"),
		packets: counter("kernel_packets_total",
			"IP packets on all limited interfaces, by what was decided and why.", "verdict", "reason"),
		bytes: counter("kernel_bytes_total",
			"Bytes of IP packets, without Ethernet headers, by what was decided and why.", "verdict", "reason"),
		policyPackets: counter("kernel_policy_packets_total",
			"Packets by policy and verdict.", "policy", "verdict"),
		policyBytes: counter("kernel_policy_bytes_total",
			"Bytes of IP packets by policy and verdict.", "policy", "verdict"),
		rules: gauge("kernel_rules",
			"Rules for prefixes in force, by action and by who made them.", "action", "origin"),
		sources: gauge("kernel_tracked_sources",
			"Sources that have a bucket."),
		maxSources: gauge("kernel_max_tracked_sources",
			"Sources that there is room for."),
		verified: gauge("kernel_verified_sources",
			"Sources that proved to be who they say, and count as such now."),
		cold: counter("kernel_heat_packets_total",
			"Packets of sources far from their limit, which passed by their heat cell alone; for each policy that they passed."),
		inserts: counter("kernel_bucket_inserts_total",
			"Buckets that were made for sources, and those that were deferred: needed, and not made, as too many were or there was no room.", "result"),
		memory: gauge("kernel_memory_bytes",
			"Bytes of memory that the kernel charges for all maps; 0 if it does not say."),
	}
}

func (f kernelFamilies) all() []*family {
	return []*family{
		f.up, f.attached, f.packets, f.bytes, f.policyPackets, f.policyBytes, f.rules, f.sources, f.maxSources, f.verified,
		f.cold, f.inserts, f.memory,
	}
}

func (f kernelFamilies) read(s scrape, k *Kernel) {
	for _, i := range k.Interfaces {
		s.flag(f.attached, i.Attached, i.Name, i.Mode)
	}
	for _, r := range k.Reasons {
		s.count(f.packets, r.Packets, r.Verdict, r.Reason)
		s.count(f.bytes, r.Bytes, r.Verdict, r.Reason)
	}
	for _, p := range k.Policies {
		s.count(f.policyPackets, p.Packets, p.Name, p.Verdict)
		s.count(f.policyBytes, p.Bytes, p.Name, p.Verdict)
	}
	for _, r := range k.Rules {
		s.add(f.rules, float64(r.Count), r.Action, r.Origin)
	}
	s.add(f.sources, float64(k.Sources))
	s.add(f.maxSources, float64(k.MaxSources))
	s.add(f.verified, float64(k.Verified))
	s.count(f.cold, k.ColdPackets)
	s.count(f.inserts, k.Inserts, "made")
	s.count(f.inserts, k.Deferred, "deferred")
	s.count(f.memory, k.MemoryBytes)
}
