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
 * Before any IPv4 network, a bit map is asked whether there is one near: that is one load for all lengths.
 *
 * Where the filter says yes of IPv4, a table of blocks is asked next: one load from a few MB again. It has
 * most of the prefixes that are blocked for good, and knows where it has not all that there is. For all
 * else the rule itself decides, which takes a look-up in a large hash map: four times as long.
 *
 * maps/rulefilter has the same in Go, and writes both.
 */
#ifndef HEADGATE_FILTER_H
#define HEADGATE_FILTER_H

#include "hash.h"
#include "maps.h"
#include "walk.h"
#include <bpf/bpf_endian.h>

#define HASH_LINE 256 /* no length */

static __always_inline __u32 step_length(__u64 step)
{
	return step >> STEP_LENGTH_SHIFT & 0xff;
}

/* The length of the prefix that chooses the line; at most that of the step. */
static __always_inline __u32 step_line(__u64 step)
{
	return step >> STEP_LINE_SHIFT & 0xff;
}

static __always_inline void cut6(__be32 prefix[4], const struct walk *walk,
				 const struct rule_ladder *ladder, __u32 len)
{
	const __be32 *mask = ladder->masks[len & 0xff];

	for (int i = 0; i < 4; i++)
		prefix[i] = walk->packet.addr[i] & mask[i];
}

/*
 * The two hashes that place a prefix in the filter, in their top bits. Those of IPv4 are each one
 * multiplication (Dietzfelbinger and others, "A reliable randomized algorithm for the
 * closest-pair problem", 1997), as they come for each length with each packet. There the step keeps the
 * lengths apart.
 */
static __always_inline __u64 hash_line(const struct walk *walk, const struct rule_ladder *ladder,
				       __u64 step, const bool ipv6)
{
	__u32 len = step_line(step);
	__be32 prefix[4];

	if (!ipv6)
		return (walk->packet.addr[0] & ladder->masks[len][0]) * (hash_salt[2] | 1);
	cut6(prefix, walk, ladder, len);
	return hash_words(HASH_LINE, prefix);
}

static __always_inline __u64 hash_step(const struct walk *walk, const struct rule_ladder *ladder,
				       __u64 step, const bool ipv6)
{
	__u64 source = walk->packet.addr[0] | ~0ULL << 32;
	__be32 prefix[4];

	if (!ipv6)
		return (step & source) * (hash_salt[3] | 1);
	cut6(prefix, walk, ladder, step_length(step));
	return hash_words(step_length(step), prefix);
}

static __always_inline const struct rule_line *
filter_line(const struct rule_ladder *ladder, __u32 generation, __u64 hash, const bool ipv6)
{
	__u32 n = generation << ladder->filter_bits | hash >> (64 - ladder->filter_bits);

	return ipv6 ? bpf_map_lookup_elem(&rule_filter6, &n) :
		      bpf_map_lookup_elem(&rule_filter4, &n);
}

/* One of the 8 words, and 3 bits that are all set in it. */
static __always_inline bool filter_has(const struct rule_line *line, __u64 hash)
{
	__u64 bits =
		1ULL << (hash >> 55 & 63) | 1ULL << (hash >> 49 & 63) | 1ULL << (hash >> 43 & 63);

	return (line->words[hash >> 61] & bits) == bits;
}

/* All addresses of a region, and of those beside it, are in one bit and one line. */
static __always_inline bool may_have_network(const struct walk *walk, __u32 generation)
{
	__u32 region = bpf_ntohl(walk->packet.addr[0]) >> (32 - REGION_BITS);
	__u32 n = generation << REGION_LINE_BITS | region >> 9;
	const struct rule_line *line = bpf_map_lookup_elem(&rule_regions4, &n);

	return line && line->words[region >> 6 & 7] >> (region & 63) & 1;
}

/*
 * The second stage has IPv4 prefixes exactly, in 16 bits each: a permutation of the address says
 * in its upper bits which line, and the rest is the tag in the line (quotienting; D. Knuth, "The
 * Art of Computer Programming", volume 3, exercise 6.4-13). Of a network, the first bit behind the
 * prefix is set first, so that prefixes of all lengths differ.
 */
enum block {
	BLOCK_NO_RULE,
	BLOCK_BLOCKED,
	BLOCK_ASK, /* the rules */
};

static __always_inline bool line_has_tag(const volatile struct rule_line *line, __u16 tag)
{
	const __u64 ones = 0x0001000100010001ULL;
	__u64 differ, found = 0;

	/* The top bit of a quarter is set where it was 0: subtracting 1 borrows from above it. */
	for (int i = 0; i < 8; i++) {
		differ = line->words[i] ^ ones * tag;
		found |= (differ - ones) & ~differ & ones << 15;
	}
	return found;
}

static __always_inline enum block find_block(struct prefix4 prefix, __u32 block_bits)
{
	__u32 network = prefix.len < 32, rest = 32 - block_bits;
	__u32 code = bpf_ntohl(prefix.addr) | network << (31 - prefix.len & 31);
	const volatile struct rule_line *line;
	__u16 tag;
	__u32 n;

	code = permute(code);
	n = network << block_bits | code >> rest;
	tag = code & ((1U << rest) - 1);
	line = bpf_map_lookup_elem(&rule_blocks4, &n);
	if (!line)
		return BLOCK_ASK;
	if (tag != BLOCK_FREE && tag != BLOCK_OTHERS && line_has_tag(line, tag))
		return BLOCK_BLOCKED;
	/* After the tag: userspace marks the line before it takes one out that has another rule. */
	return line->words[7] >> 48 == BLOCK_OTHERS ? BLOCK_ASK : BLOCK_NO_RULE;
}

#endif
