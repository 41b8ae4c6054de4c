/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file keeps one bucket per (policy, source) and charges packets to it, in both dimensions
 * or in none. A bucket whose TATs are past is the same as none, so losing one that has drained
 * loses nothing.
 */
#ifndef HEADGATE_BUCKET_H
#define HEADGATE_BUCKET_H

#include "count.h"
#include "gcra.h"
#include "maps.h"

/* After a failed insert a CPU tries no other one for so long: it would fail the same, and cost. */
#define INSERT_BACKOFF_NS 100000000ULL

static __always_inline void adopt_dimension(struct bucket *bucket, const struct limit *limit,
					    enum dimension dimension, __u64 was, __u64 now)
{
	struct meter m = meter(limit, dimension, 0, now);
	__u64 *tat = &bucket->tat[dimension], old, new;

	for (__u64 i = 0; i < CAS_TRIES; i++) {
		old = *(volatile __u64 *)tat;
		new = gcra_convert(&m, old, shift_of(was, dimension), now);
		if (__sync_val_compare_and_swap(tat, old, new) == old)
			return;
	}
}

/*
 * Takes over a bucket that was charged under other numbers: converts its TATs to ticks of this
 * limit and clamps the debt to this burst, so that a raised limit helps at once. One CPU does it;
 * false says that another is at it just now.
 */
__noinline int adopt(struct bucket *bucket, const struct limit *limit, __u64 now)
{
	__u64 was;

	if (!bucket || !limit)
		return false;
	was = *(volatile __u64 *)&bucket->fingerprint;
	if (was == limit->fingerprint)
		return true;
	if (was == CONVERTING ||
	    __sync_val_compare_and_swap(&bucket->fingerprint, was, CONVERTING) != was)
		return false;
	adopt_dimension(bucket, limit, DIMENSION_PACKETS, was, now);
	adopt_dimension(bucket, limit, DIMENSION_BYTES, was, now);
	__sync_lock_test_and_set(&bucket->fingerprint, limit->fingerprint);
	return true;
}

/* The bucket of counters->source, or NULL. */
static __always_inline struct bucket *find_bucket(const struct counters *counters)
{
	return bpf_map_lookup_elem(&buckets, &counters->source);
}

/* Puts a new bucket of counters->source into the map, if there is none. */
static __always_inline void insert_bucket(struct counters *counters, const struct limit *limit,
					  __u64 now)
{
	struct bucket *fresh = &counters->fresh;

	*fresh = (struct bucket){.fingerprint = limit->fingerprint};
	fresh->tat[DIMENSION_PACKETS] = now << shift_of(limit->fingerprint, DIMENSION_PACKETS);
	fresh->tat[DIMENSION_BYTES] = now << shift_of(limit->fingerprint, DIMENSION_BYTES);
	bpf_map_update_elem(&buckets, &counters->source, fresh, BPF_NOEXIST);
}

/*
 * Makes that bucket. Another CPU may do so at the same time: BPF_NOEXIST lets the first win, and
 * looking up again makes both use that one.
 */
static __always_inline struct bucket *new_bucket(struct counters *counters,
						 const struct limit *limit, __u64 now)
{
	struct bucket *bucket;

	if (now < counters->next_insert)
		return NULL;
	insert_bucket(counters, limit, now);
	bucket = find_bucket(counters);
	if (bucket)
		counters->inserts++;
	else
		counters->next_insert = now + INSERT_BACKOFF_NS;
	return bucket;
}

/*
 * Raises the debt of a bucket to that many heat ticks, where it is less, and as far as the burst allows.
 * Rounded up, so that nothing is forgiven. That several CPUs do this is the same as that one does.
 * Returns 0.
 */
__noinline int bucket_owe(struct bucket *bucket, const struct limit *limit,
			  enum dimension dimension, __u64 ticks, __u64 now)
{
	struct meter m;
	__u64 old;
	__u8 by;

	if (!bucket || !limit || dimension >= DIMENSION_LEN)
		return 0;
	m = meter(limit, dimension, 0, now);
	by = HEAT_SHIFT - m.shift;
	ticks = (ticks + (1ULL << by) - 1) >> by;
	if (ticks > m.burst)
		ticks = m.burst;
	for (__u64 i = 0; i < CAS_TRIES; i++) {
		old = *(volatile __u64 *)&bucket->tat[dimension];
		if (ticks <= gcra_debt(&m, old))
			return 0;
		if (__sync_val_compare_and_swap(&bucket->tat[dimension], old, m.now + ticks) == old)
			return 0;
	}
	return 0;
}

static __always_inline enum reason bucket_fits(const struct bucket *bucket,
					       const struct limit *limit, __u32 length, __u64 now)
{
	struct meter packets = meter(limit, DIMENSION_PACKETS, 1, now);
	struct meter bytes = meter(limit, DIMENSION_BYTES, length, now);

	if (packets.charge && !gcra_fits(&packets, bucket->tat[DIMENSION_PACKETS]))
		return REASON_OVER_PACKET_LIMIT;
	if (bytes.charge && !gcra_fits(&bytes, bucket->tat[DIMENSION_BYTES]))
		return REASON_OVER_BYTE_LIMIT;
	return REASON_UNDER_LIMIT;
}

/*
 * The tries after a first one that another CPU spoilt. Apart from that one, so that the verifier
 * checks them once. It reads the clock anew, as time has passed. Returns an enum outcome.
 */
__noinline int take_again(struct bucket *bucket, const struct limit *limit,
			  enum dimension dimension, __u32 units, struct receipt *receipt)
{
	enum outcome outcome = OUTCOME_CONTENDED;
	struct meter m;

	if (!bucket || !limit || !receipt || dimension >= DIMENSION_LEN)
		return outcome;
	for (__u64 i = 0; i < CAS_TRIES && outcome == OUTCOME_CONTENDED; i++) {
		m = meter(limit, dimension, units, clock_read());
		outcome = gcra_try(&m, &bucket->tat[dimension], &bucket->fingerprint,
				   &receipt->tat[dimension]);
	}
	return outcome;
}

/* Takes from one dimension; over is the reason for where it is over its limit. */
static __always_inline enum reason take(struct bucket *bucket, const struct limit *limit,
					enum dimension dimension, __u32 units, __u64 now,
					struct receipt *receipt, enum reason over)
{
	struct meter m = meter(limit, dimension, units, now);
	enum outcome outcome;

	outcome = gcra_try(&m, &bucket->tat[dimension], &bucket->fingerprint,
			   &receipt->tat[dimension]);
	if (outcome == OUTCOME_CONTENDED)
		outcome = take_again(bucket, limit, dimension, units, receipt);
	switch (outcome) {
	case OUTCOME_TAKEN:
		return REASON_UNDER_LIMIT;
	case OUTCOME_OVER:
		return over;
	default:
		return REASON_CONTENDED;
	}
}

/* Gives back what is left of a charge in one dimension. Returns 0. */
__noinline int give_back(struct bucket *bucket, const struct limit *limit, enum dimension dimension,
			 __u32 units, const struct receipt *receipt)
{
	if (!bucket || !limit || !receipt || dimension >= DIMENSION_LEN)
		return 0;
	for (__u64 i = 0; i < CAS_TRIES; i++)
		if (gcra_refund(limit, dimension, units, &bucket->tat[dimension],
				&bucket->fingerprint, receipt->tat[dimension]))
			break;
	return 0;
}

/* Charges a packet to the bucket, or returns the reason why not and leaves it as it was. */
static __always_inline enum reason bucket_take(struct bucket *bucket, const struct limit *limit,
					       __u32 length, __u64 now, struct receipt *receipt)
{
	bool packets = limit->gcra[DIMENSION_PACKETS].cost,
	     bytes = limit->gcra[DIMENSION_BYTES].cost;
	enum reason reason = REASON_UNDER_LIMIT;

	/* Looking at the second before charging the first keeps a refused packet from writing. */
	if (packets && bytes)
		reason = bucket_fits(bucket, limit, length, now);
	if (reason == REASON_UNDER_LIMIT && packets)
		reason = take(bucket, limit, DIMENSION_PACKETS, 1, now, receipt,
			      REASON_OVER_PACKET_LIMIT);
	if (reason != REASON_UNDER_LIMIT || !bytes)
		return reason;
	reason = take(bucket, limit, DIMENSION_BYTES, length, now, receipt, REASON_OVER_BYTE_LIMIT);
	if (reason != REASON_UNDER_LIMIT && packets)
		give_back(bucket, limit, DIMENSION_PACKETS, 1, receipt);
	return reason;
}

/* Undoes a charge, as far as it has not drained by now. */
static __always_inline void bucket_refund(struct bucket *bucket, const struct limit *limit,
					  __u32 length, const struct receipt *receipt)
{
	if (limit->gcra[DIMENSION_PACKETS].cost)
		give_back(bucket, limit, DIMENSION_PACKETS, 1, receipt);
	if (limit->gcra[DIMENSION_BYTES].cost)
		give_back(bucket, limit, DIMENSION_BYTES, length, receipt);
}

#endif
