/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file says whether a source is verified: a flood with forged addresses is not. Those that
 * userspace has seen a proof of are in a table of fixed size; a limit that people set for a
 * source says as much. The table is only looked at where somebody asks, and once a packet.
 */
#ifndef HEADGATE_VERIFIED_H
#define HEADGATE_VERIFIED_H

#include "hash.h"
#include "maps.h"
#include "clock.h"

/*
 * The tag is 32 bits of a hash whose salt nobody knows: of 2^29 strangers one is taken for a source
 * of a line that is full.
 */
static __always_inline bool line_has(const struct verified_line *line, __u32 tag, __u32 tick)
{
	for (int i = 0; i < VERIFIED_PER_LINE; i++) {
		/* Read once: userspace may exchange it between two reads. */
		__u64 entry = *(const volatile __u64 *)&line->entry[i];

		if ((__u32)entry == tag && entry >> 32 > tick)
			return true;
	}
	return false;
}

static __always_inline bool in_table(struct walk *walk, const struct counters *counters)
{
	__u32 family = counters->source.policy >> POLICY_ID_BITS;
	__u64 hash = hash_words(family << POLICY_ID_BITS, counters->source.addr);
	__u32 number = hash >> (64 - VERIFIED_LINE_BITS);
	const struct verified_line *line;

	line = bpf_map_lookup_elem(&verified, &number);
	return line && line_has(line, hash, now_of(walk) >> VERIFIED_TICK_SHIFT);
}

/* Who has a limit of its own by a rule is known to people; or, where hand-down made it, for offences. */
static __always_inline bool has_proof(struct walk *walk, const struct counters *counters)
{
	if (walk->action == ACTION_LIMIT)
		return counters->ruling.origin < ORIGIN_PEOPLE;
	return in_table(walk, counters);
}

/* Fills walk->proof. Returns 0. */
__noinline int look_for_proof(struct walk *walk, const struct counters *counters)
{
	if (!walk || !counters)
		return 0;
	walk->proof = has_proof(walk, counters) ? PROOF_FOUND : PROOF_MISSING;
	return 0;
}

static __always_inline bool is_verified(struct walk *walk, const struct counters *counters)
{
	if (walk->proof == PROOF_UNKNOWN)
		look_for_proof(walk, counters);
	return walk->proof == PROOF_FOUND;
}

#endif
