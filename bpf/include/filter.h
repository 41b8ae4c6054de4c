/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file stands before the rules. Most sources have none, and are not to pay for a million that
 * others have.
 *
 * A Bloom filter (Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970), in
 * blocks of a cache line each (Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom
 * filters", 2007), knows the prefixes that have a rule. It may say so of one that has none, never the
 * reverse. The prefixes of similar length that contain an address share a line, so that to ask about
 * all lengths takes few loads from memory, none of which waits for another.
 *
 * Where it says yes of IPv4, a table of blocks is asked next, in the same way: one load. It has most
 * of the prefixes that are only blocked, and those only. For all else the rule itself decides.
 *
 * maps/rulefilter has the same in Go, and writes both.
 */
#ifndef HEADGATE_FILTER_H
#define HEADGATE_FILTER_H

#include "hash.h"
#include "maps.h"
#include "walk.h"

static __always_inline __u32 step_length(__u32 step)
{
	return step & 0xff;
}

/* The length of the prefix that chooses the line; at most that of the step. */
static __always_inline __u32 step_line(__u32 step)
{
	return step >> STEP_LINE_BITS & 0xff;
}

/* Fills prefix with the first len bits of an address. Of an IPv4 address only the first word counts. */
static __always_inline void cut(__be32 prefix[4], const struct walk *walk,
				const struct rule_ladder *ladder, __u32 len, const bool ipv6)
{
	const __be32 *mask = ladder->masks[len & 0xff];

	for (int i = 0; i < 4; i++)
		prefix[i] = !i || ipv6 ? walk->packet.addr[i] & mask[i] : 0;
}

static __always_inline __u64 hash_prefix(const struct walk *walk, const struct rule_ladder *ladder,
					 __u32 len, const bool ipv6)
{
	__be32 prefix[4];

	cut(prefix, walk, ladder, len, ipv6);
	return hash_words(len, prefix);
}

/* The line's number is the top bits of its prefix's hash. */
static __always_inline const struct rule_line *
filter_line(void *filter, const struct rule_ladder *ladder, __u32 generation, __u64 hash)
{
	__u32 n = generation << ladder->filter_bits | hash >> (64 - ladder->filter_bits);

	return bpf_map_lookup_elem(filter, &n);
}

/* From the bottom of a prefix's hash: one of the 8 words, and 4 bits that are all set in it. */
static __always_inline bool filter_has(const struct rule_line *line, __u64 hash)
{
	__u64 bits = 1ULL << (hash >> 3 & 63) | 1ULL << (hash >> 9 & 63) |
		     1ULL << (hash >> 15 & 63) | 1ULL << (hash >> 21 & 63);

	return (line->words[hash & 7] & bits) == bits;
}

/* A word is written at once, so what is read of one is of one prefix. */
static __always_inline bool is_blocked4(struct prefix4 prefix, __u64 hash, __u32 block_bits,
					__u64 now)
{
	const __u64 end_mask = ((1ULL << BLOCK_END_BITS) - 1) << BLOCK_LEN_BITS;
	__u64 want = (__u64)prefix.addr << (BLOCK_END_BITS + BLOCK_LEN_BITS) | prefix.len;
	__u32 n = hash >> (64 - block_bits);
	const volatile struct rule_line *line;
	__u64 word;

	line = bpf_map_lookup_elem(&rule_blocks4, &n);
	if (!line)
		return false;
	for (int i = 0; i < 8; i++) {
		word = line->words[i];
		if ((word & ~end_mask) == want)
			return now >> BLOCK_END_UNIT < (word & end_mask) >> BLOCK_LEN_BITS;
	}
	return false;
}

#endif
