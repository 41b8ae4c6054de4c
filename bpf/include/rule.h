/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file finds what the rules say of a source: the longest prefix wins, at one prefix allow
 * before block before limit. A rule ends by itself: one that has is as if it were not there.
 */
#ifndef HEADGATE_RULE_H
#define HEADGATE_RULE_H

#include "clock.h"
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

/*
 * Looks up in trie with a key of at most bits, and where it finds a rule that has ended, again
 * with a key one bit shorter than that rule.
 */
static __always_inline enum action search_rule(void *trie, void *key, __u32 bits, struct walk *walk,
					       struct ruling *ruling)
{
	enum action action;
	const struct rule *rule;
	__u32 *len = key;

	*len = bits;
	for (__u32 i = 0; i <= bits; i++) {
		rule = bpf_map_lookup_elem(trie, key);
		if (!rule)
			break;
		action = rule_action(rule, now_of(walk));
		if (action == ACTION_LIMIT) {
			ruling->limit = rule->limit;
			ruling->policy_id = rule->policy_id;
			ruling->origin = rule->origin[ACTION_LIMIT];
		}
		if (action != ACTION_NONE || !rule->prefix_len)
			return action;
		*len = rule->prefix_len - 1;
	}
	return ACTION_NONE;
}

/* Returns an enum action, and fills ruling where that is ACTION_LIMIT. */
__noinline int find_rule4(struct walk *walk, struct ruling *ruling)
{
	struct prefix4 key = {};

	if (!walk || !ruling)
		return ACTION_NONE;
	key.addr = walk->packet.addr[0];
	return search_rule(&rules4, &key, 32, walk, ruling);
}

__noinline int find_rule6(struct walk *walk, struct ruling *ruling)
{
	struct prefix6 key = {};

	if (!walk || !ruling)
		return ACTION_NONE;
	__builtin_memcpy(key.addr, walk->packet.addr, sizeof(key.addr));
	return search_rule(&rules6, &key, 128, walk, ruling);
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
