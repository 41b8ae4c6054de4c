/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file is the generic cell rate algorithm (ITU-T I.371, in its form as virtual scheduling)
 * on one word that all CPUs share. The word is the theoretical arrival time (TAT), the moment
 * when the debt of what has passed is paid off, in ticks of 2^-shift ns. No map, no helper but
 * the clock for a refund. userspace/limit is the same in Go, and the tests hold them together.
 *
 * Concurrency: the word changes only by compare-and-swap, and only to a value that the limit
 * allows, so at any number of CPUs no more than the limit passes. Over the limit nothing is
 * written, so that a flood does not bounce the cache line between CPUs.
 *
 * Wrap: ticks are counted modulo 2^64. A CPU that read the clock later than this one may have
 * left a debt above the burst; CLOCK_SLACK_NS covers that, also where this CPU was stopped in
 * between as the machine is a virtual one. A larger debt is a TAT in the past.
 */
#ifndef HEADGATE_GCRA_H
#define HEADGATE_GCRA_H

#include "abi.h"
#include "clock.h"

/* Count these tries in 64 bits: verifiers of about 5.15 forget a counter of 32 bits that is spilled. */
#define CAS_TRIES 32
#define MAX_BURST (1ULL << 62)

/* A limit in one dimension at one moment. */
struct meter {
	__u64 now; /* ticks */
	__u64 burst; /* ticks */
	__u64 horizon; /* the largest debt that is one */
	__u64 charge; /* ticks */
	__u64 fingerprint; /* of the limit */
	__u8 shift;
};

enum outcome {
	OUTCOME_TAKEN,
	OUTCOME_OVER,
	OUTCOME_CONTENDED,
	OUTCOME_CONVERTED,
};

static __always_inline __u8 shift_of(__u64 fingerprint, enum dimension dimension)
{
	return fingerprint >> (dimension * SHIFT_BITS) & ((1 << SHIFT_BITS) - 1);
}

static __always_inline struct meter meter(const struct limit *limit, enum dimension dimension,
					  __u32 units, __u64 now)
{
	const struct gcra *g = &limit->gcra[dimension];
	__u8 shift = shift_of(limit->fingerprint, dimension);

	return (struct meter){
		.now = now << shift,
		.burst = g->burst,
		.horizon = g->burst + (CLOCK_SLACK_NS << shift),
		.charge = g->cost * units,
		.fingerprint = limit->fingerprint,
		.shift = shift,
	};
}

static __always_inline __u64 gcra_debt(const struct meter *m, __u64 tat)
{
	__u64 debt = tat - m->now;

	return debt > m->horizon ? 0 : debt;
}

static __always_inline bool gcra_fits(const struct meter *m, __u64 tat)
{
	return gcra_debt(m, tat) + m->charge <= m->burst;
}

/*
 * One try to take, where tat is of a bucket with this fingerprint, and *written is the TAT that it
 * leaves. The fingerprint is asked after the TAT was read and before it is swapped: a conversion
 * by another CPU is then either seen here or makes the swap fail.
 */
static __always_inline enum outcome gcra_try(const struct meter *m, __u64 *tat,
					     const __u64 *fingerprint, __u64 *written)
{
	__u64 old = *(volatile __u64 *)tat, new;

	if (*(const volatile __u64 *)fingerprint != m->fingerprint)
		return OUTCOME_CONVERTED;
	if (!gcra_fits(m, old))
		return OUTCOME_OVER;
	new = m->now + gcra_debt(m, old) + m->charge;
	if (__sync_val_compare_and_swap(tat, old, new) != old)
		return OUTCOME_CONTENDED;
	*written = new;
	return OUTCOME_TAKEN;
}

/*
 * Tries once to give back what is left of a charge; false says that it is worth another try. A
 * charge drains from the moment when the packet came, last of all that was owed then: at the TAT
 * that it left, nothing is left, and before that at most what is missing to there. Giving back
 * more would let one too many pass. The TAT is read before the clock, so that the swap fails where
 * another CPU charges in between.
 */
static __always_inline bool gcra_refund(const struct limit *limit, enum dimension dimension,
					__u32 units, __u64 *tat, const __u64 *fingerprint,
					__u64 written)
{
	__u64 old = *(volatile __u64 *)tat;
	struct meter m = meter(limit, dimension, units, clock_read());
	__u64 left = written - m.now;

	if ((__s64)left <= 0 || *(const volatile __u64 *)fingerprint != m.fingerprint)
		return true;
	if (left > m.charge)
		left = m.charge;
	return __sync_val_compare_and_swap(tat, old, old - left) == old;
}

/*
 * The TAT under m of a debt that tat, in ticks of 2^-was ns, has at time now (ns). What is larger
 * than any debt can be is a TAT in the past.
 */
static __always_inline __u64 gcra_convert(const struct meter *m, __u64 tat, __u8 was, __u64 now)
{
	__u64 debt = tat - (now << was);
	__u8 by;

	if (debt > MAX_BURST + (CLOCK_SLACK_NS << was))
		return m->now;
	if (m->shift >= was) {
		by = m->shift - was;
		debt = debt > m->burst >> by ? m->burst : debt << by;
	} else {
		by = was - m->shift;
		debt = (debt + (1ULL << by) - 1) >> by;
	}
	return m->now + (debt < m->burst ? debt : m->burst);
}

#endif
