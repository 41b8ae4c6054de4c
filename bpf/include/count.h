/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file counts. All but what a source passed is counted per CPU: XDP runs to its end on one
 * CPU, so plain additions are exact, and no CPU writes what another one reads per packet.
 */
#ifndef HEADGATE_COUNT_H
#define HEADGATE_COUNT_H

#include "maps.h"

static __always_inline void count(struct counter *counter, __u32 length)
{
	counter->packets++;
	counter->bytes += length;
}

/* The compiler knows the ranges of some indices and would leave out checks that the verifier wants. */
static __always_inline __u32 opaque(__u32 value)
{
	asm volatile("" : "+r"(value));
	return value;
}

static __always_inline void count_total(struct counters *counters, __u32 verdict, __u32 reason,
					__u32 length)
{
	verdict = opaque(verdict);
	reason = opaque(reason);
	if (verdict < VERDICT_LEN && reason < REASON_LEN)
		count(&counters->total[verdict][reason], length);
}

static __always_inline void count_policy(struct counters *counters, __u32 slot, __u32 verdict,
					 __u32 length)
{
	slot = opaque(slot);
	verdict = opaque(verdict);
	if (slot < MAX_POLICIES && verdict < VERDICT_LEN)
		count(&counters->policies[slot][verdict], length);
}

/* Counts what a source passed. All CPUs share it, and one atomic addition is what that costs. */
static __always_inline void count_pass(struct bucket *bucket, __u32 length)
{
	__u64 add = (__u64)length << RECENT_BITS | 1;
	__u64 recent = __sync_fetch_and_add(&bucket->recent, add) + add;

	if ((recent & ((1ULL << RECENT_BITS) - 1)) != RECENT_FULL)
		return;
	__sync_fetch_and_add(&bucket->pass.packets, RECENT_FULL);
	__sync_fetch_and_add(&bucket->pass.bytes, recent >> RECENT_BITS);
	__sync_fetch_and_sub(&bucket->recent, recent);
}

/* Gives the bucket an entry in losses. Where two CPUs do so at once, the first one's holds. */
static __always_inline __u64 take_loss_number(struct bucket *bucket, __u64 was)
{
	__u64 number, *last;
	__u32 zero = 0;

	last = bpf_map_lookup_elem(&loss_numbers, &zero);
	if (!last)
		return 0;
	number = __sync_fetch_and_add(last, 1) + 1;
	if (__sync_val_compare_and_swap(&bucket->loss, was, number) == was)
		return number;
	return *(volatile __u64 *)&bucket->loss;
}

static __always_inline struct loss *loss_entry(__u64 number)
{
	__u32 slot = number & (LOSS_SLOTS - 1);

	return bpf_map_lookup_elem(&losses, &slot);
}

/* Counts what a source lost, and writes nothing that CPUs share but at its first loss. */
static __always_inline void count_loss(struct bucket *bucket, enum verdict verdict, __u32 length)
{
	__u64 number = *(volatile __u64 *)&bucket->loss;
	struct loss *loss = loss_entry(number);

	if (!loss)
		return;
	if (!number || loss->number > number) {
		/* Not yet one of its own, or a later source has it now. */
		number = take_loss_number(bucket, number);
		loss = loss_entry(number);
		if (!loss)
			return;
	}
	if (loss->number != number)
		*loss = (struct loss){.number = number};
	count(verdict == VERDICT_DROP ? &loss->drop : &loss->would_drop, length);
}

#endif
