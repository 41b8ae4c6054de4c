/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file hashes addresses with numbers that are drawn at load and kept secret, so that nobody
 * outside can choose addresses that collide.
 */
#ifndef HEADGATE_HASH_H
#define HEADGATE_HASH_H

#include "abi.h"

volatile const __u64 hash_salt[8] = {};

/*
 * Multilinear hashing (M. Dietzfelbinger, 1996; D. Lemire and O. Kaser, "Strongly universal string
 * hashing is fast") of tag and address, then a finalizer, as the sum alone is good in its upper
 * half only.
 */
static __always_inline __u64 hash_words(const volatile __u64 *salt, __u32 tag, const __be32 *addr)
{
	__u64 h = salt[0] + salt[1] * tag + salt[2] * addr[0];

	/* An IPv4 address ends here: the products of its other words would be 0. */
	if (addr[1] | addr[2] | addr[3])
		h += salt[3] * addr[1] + salt[4] * addr[2] + salt[5] * addr[3];

	h ^= h >> 32;
	h *= salt[6] | 1;
	return h ^ h >> 29;
}

#endif
