/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file hashes addresses, for every table in which the program chooses the place itself. The
 * salt is secret and drawn per instance, so that nobody can aim at a place. maps/wire has the same
 * in Go.
 */
#ifndef HEADGATE_HASH_H
#define HEADGATE_HASH_H

#include "abi.h"

/* globals.salt, which the loader copies to here: a constant costs no look-up. */
volatile const __u64 hash_salt[SALT_LEN] = {};

/*
 * A multilinear hash of 32-bit words with secret 64-bit multipliers (Dietzfelbinger 1996; Lemire
 * and Kaser, "Strongly universal string hashing is fast"), and then a finalizer, so that all 64
 * bits depend on all of the input. Take an index from the top bits, a tag from the low 32. The
 * tag of the input keeps hashes for different purposes apart.
 */
static __always_inline __u64 hash_words(__u32 tag, const __be32 addr[4])
{
	__u64 h = hash_salt[0] + hash_salt[1] * tag + hash_salt[2] * addr[0];

	/* An IPv4 address ends here: the products of its other words would be 0. */
	if (addr[1] | addr[2] | addr[3])
		h += hash_salt[3] * addr[1] + hash_salt[4] * addr[2] + hash_salt[5] * addr[3];
	h ^= h >> 32;
	h *= hash_salt[6] | 1;
	return h ^ h >> 29;
}

/* A permutation, so that what is not in an index of some of the bits is in the others. */
static __always_inline __u32 permute(__u32 word)
{
	word *= (__u32)hash_salt[7] | 1;
	word ^= word >> 16;
	word *= (__u32)(hash_salt[7] >> 32) | 1;
	return word ^ word >> 16;
}

#endif
