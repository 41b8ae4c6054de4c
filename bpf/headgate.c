//go:build ignore

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file is the XDP program: parse, look up the rule, decide, count, return. Whatever it
 * cannot make sense of inside itself (a map that is missing) passes: a limiter that breaks must
 * not take the network with it.
 */
#include "include/clock.h"
#include "include/count.h"
#include "include/decide.h"
#include "include/event.h"
#include "include/hash.h"
#include "include/maps.h"
#include "include/packet.h"
#include "include/rule.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Keep these enumerations in the type information, from which Go takes them. */
const enum verdict *verdict_type __attribute__((unused));
const enum reason *reason_type __attribute__((unused));
const enum action *action_type __attribute__((unused));
const enum dimension *dimension_type __attribute__((unused));
const enum family *family_type __attribute__((unused));
const struct event *event_type __attribute__((unused));
const struct config *config_type __attribute__((unused));

static __always_inline const struct config *config_at(__u32 index)
{
	void *inner = bpf_map_lookup_elem(&configs, &index);
	__u32 zero = 0;

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

__noinline int is_on_trial(const struct config *config, __u32 ifindex)
{
	if (!config)
		return false;
	for (int i = 0; i < MAX_TRIAL_INTERFACES; i++)
		if (config->trial_interfaces[i] == ifindex)
			return true;
	return false;
}

/*
 * The configuration in force. What `attach --try` set ends here, by the clock, even where every
 * process that watched over it is dead. NULL says to leave the packet alone.
 */
static __always_inline const struct config *config_in_force(__u64 now, __u32 ifindex)
{
	const struct config *config = config_at(CONFIG_CURRENT);

	if (!config || now < config->valid_until)
		return config;
	return is_on_trial(config, ifindex) ? NULL : config_at(CONFIG_FALLBACK);
}

/* The bits between prefix and interface identifier are 0 in an address that counts: RFC 4291. */
static __always_inline bool is_link_local(const struct packet *packet)
{
	return packet->addr[0] == bpf_htonl(0xfe800000) && !packet->addr[1];
}

/*
 * The source that is charged. Neighbours share the prefix fe80::/64, so of link-local addresses it
 * is the interface identifier that tells them apart.
 */
static __always_inline void set_source(struct walk *walk, const struct config *config)
{
	const struct packet *packet = &walk->packet;
	__be32 *addr = walk->source.addr;
	__u32 family = packet->family;

	if (family == FAMILY_IPV4) {
		addr[0] = packet->addr[0] & config->mask4;
	} else if (is_link_local(packet)) {
		family = FAMILY_LINK_LOCAL;
		addr[0] = packet->addr[2];
		addr[1] = packet->addr[3];
	} else {
		for (int i = 0; i < 4; i++)
			addr[i] = packet->addr[i] & config->mask6[i];
	}
	walk->source.policy = family << POLICY_ID_BITS;
}

static __always_inline struct decision decide_frame(struct xdp_md *ctx, __u32 frame,
						    struct walk *walk, const struct config *config,
						    struct counters *counters)
{
	struct decision decision = {.verdict = VERDICT_PASS};

	decision.reason = parse(ctx, frame, &walk->packet);
	if (decision.reason == REASON_MALFORMED)
		decision.verdict = refusal(config);
	if (decision.reason != REASON_LEN)
		return decision;
	walk->action = find_rule(walk, &counters->ruling);
	set_source(walk, config);
	return decide(walk, config, counters);
}

static __always_inline int ratelimit(struct xdp_md *ctx, __u32 frame)
{
	struct walk walk = {.now = clock_read()};
	const struct config *config = config_in_force(walk.now, ctx->ingress_ifindex);
	struct decision decision;
	struct counters *counters;
	__u32 zero = 0;

	counters = bpf_map_lookup_elem(&cpu_counters, &zero);
	if (!config || !counters)
		return XDP_PASS;

	walk.overflow = config->overflow;
	decision = decide_frame(ctx, frame, &walk, config, counters);
	count_total(counters, decision.verdict, decision.reason, walk.packet.length);
	if (decision.verdict != VERDICT_PASS)
		emit_event(&walk, config, counters, decision, ctx->ingress_ifindex);
	return decision.verdict == VERDICT_DROP ? XDP_DROP : XDP_PASS;
}

/* Computed on the spot: the compiler would keep ctx->data in half a word, which no pointer fits. */
static __always_inline __u32 linear_length(const struct xdp_md *ctx)
{
	__u64 length = (void *)(long)ctx->data_end - (void *)(long)ctx->data;

	asm volatile("" : "+r"(length));
	return length;
}

SEC("xdp")
int xdp_ratelimit(struct xdp_md *ctx)
{
	return ratelimit(ctx, linear_length(ctx));
}

/* For interfaces whose MTU needs frames of several buffers; headers are in the first one. */
SEC("xdp.frags")
int xdp_ratelimit_frags(struct xdp_md *ctx)
{
	return ratelimit(ctx, bpf_xdp_get_buff_len(ctx));
}
