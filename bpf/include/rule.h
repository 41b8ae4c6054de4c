/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file finds what the rules say of a source: the longest prefix wins, at one prefix allow
 * before block before limit. A rule ends by itself: one that has is as if it were not there.
 */
#ifndef HEADGATE_RULE_H
#define HEADGATE_RULE_H

#include "clock.h"
#include "filter.h"
#include "maps.h"
#include "walk.h"

static __always_inline enum action rule_action(const struct rule *rule, __u64 now)
{
	if (rule->until[ACTION_ALLOW] > now)
		return ACTION_ALLOW;
	if (rule->until[ACTION_BLOCK] > now)
		return ACTION_BLOCK;
	if (rule->until[ACTION_LIMIT] > now)
		return ACTION_LIMIT;
	return ACTION_NONE;
}

/* What is said of exactly this prefix. */
static __always_inline enum action rule_at(void *rules, const void *prefix, struct walk *walk,
					   struct ruling *ruling)
{
	const struct rule *rule = bpf_map_lookup_elem(rules, prefix);
	enum action action;

	if (!rule)
		return ACTION_NONE;
	action = rule_action(rule, now_of(walk));
	if (action == ACTION_LIMIT) {
		ruling->limit = rule->limit;
		ruling->policy_id = rule->policy_id;
		ruling->origin = rule->origin[ACTION_LIMIT];
	}
	return action;
}

static __always_inline const struct rule_ladder *ladder_of(__u32 family)
{
	return bpf_map_lookup_elem(&rule_ladders, &family);
}

/* What is said of the prefix of a step. Apart, as the verifier goes through each step below. */
__noinline int rule_at4(struct walk *walk, __u64 step, struct ruling *ruling)
{
	const struct rule_ladder *ladder = ladder_of(LADDER4);
	struct prefix4 prefix = {.len = step_length(step)};

	if (!walk || !ruling || !ladder)
		return ACTION_NONE;
	prefix.addr = walk->packet.addr[0] & (__u32)step;
	switch (find_block(prefix, ladder->block_bits)) {
	case BLOCK_NO_RULE:
		return ACTION_NONE;
	case BLOCK_BLOCKED:
		return ACTION_BLOCK;
	case BLOCK_ASK:
		break;
	}
	return rule_at(&rules4, &prefix, walk, ruling);
}

__noinline int rule_at6(struct walk *walk, __u64 step, struct ruling *ruling)
{
	const struct rule_ladder *ladder = ladder_of(LADDER6);
	struct prefix6 prefix = {.len = step_length(step)};

	if (!walk || !ruling || !ladder)
		return ACTION_NONE;
	cut6(prefix.addr, walk, ladder, prefix.len);
	return rule_at(&rules6, &prefix, walk, ruling);
}

/*
 * The step at a place. Userspace moves steps down, the last one first, so that whoever reads them in
 * their order meets each. A processor that reads ahead would not: so the place is made to depend on
 * the step before, which all of them respect.
 */
static __always_inline __u64 step_at(const struct rule_ladder *ladder, __u32 generation,
				     __u64 place, __u64 before)
{
	asm volatile("%0 ^= %1\n%0 ^= %1" : "+r"(place) : "r"(before));
	return place < MAX_STEPS ? ladder->steps[generation][place] : 0;
}

/* Goes down the ladder, to the first length of which a rule holds. */
static __always_inline enum action search_rule(struct walk *walk, struct ruling *ruling,
					       const bool ipv6)
{
	const struct rule_ladder *ladder = ladder_of(ipv6 ? LADDER6 : LADDER4);
	const struct rule_line *line = NULL;
	__u32 generation, chosen = ~0U;
	enum action action;
	__u64 step = 0;

	if (!ladder)
		return ACTION_NONE;
	/* Once: what is at a place in one generation may be at another in the next. */
	generation = *(const volatile __u32 *)&ladder->generation & (GENERATIONS - 1);
	for (__u32 i = 0; i < (ipv6 ? MAX_STEPS : MAX_STEPS4); i++) {
		step = step_at(ladder, generation, i, step);
		if (!step)
			break;
		if (!line || step_line(step) != chosen) {
			chosen = step_line(step);
			if (!ipv6 && chosen < 32 && !may_have_network(walk, generation))
				break;
			line = filter_line(ladder, generation, hash_line(walk, ladder, step, ipv6),
					   ipv6);
			if (!line)
				break;
		}
		if (!filter_has(line, hash_step(walk, ladder, step, ipv6)))
			continue;
		action = ipv6 ? rule_at6(walk, step, ruling) : rule_at4(walk, step, ruling);
		if (action != ACTION_NONE)
			return action;
	}
	return ACTION_NONE;
}

/* Returns an enum action, and fills ruling where that is ACTION_LIMIT. */
__noinline int find_rule4(struct walk *walk, struct ruling *ruling)
{
	return walk && ruling ? search_rule(walk, ruling, false) : ACTION_NONE;
}

__noinline int find_rule6(struct walk *walk, struct ruling *ruling)
{
	return walk && ruling ? search_rule(walk, ruling, true) : ACTION_NONE;
}

static __always_inline enum action find_rule(struct walk *walk, struct ruling *ruling)
{
	struct global *g;
	__u32 zero = 0;

	g = bpf_map_lookup_elem(&globals, &zero);
	if (!g)
		return ACTION_NONE;
	if (walk->packet.family == FAMILY_IPV4)
		return g->rules4 ? find_rule4(walk, ruling) : ACTION_NONE;
	return g->rules6 ? find_rule6(walk, ruling) : ACTION_NONE;
}

#endif
