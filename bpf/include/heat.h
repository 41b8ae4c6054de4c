/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file is the tier in front of the exact buckets. Most sources, and nearly all that a spoofed
 * flood makes up, never come near their limit: for them a cell of 16 bytes in a cache line is
 * enough, where a bucket costs three cold lines and pushes somebody else's out. A source is cold
 * while its cell shows at most half a burst of debt, and passes by it. From there on it has an
 * exact bucket, which starts with that debt, and its cell only remembers until when the bucket may
 * owe something.
 *
 * The table is set-associative. A source that has no cell in its line takes the one whose time is
 * the least, and with it that time: so whoever lost a cell that still owed something finds none in
 * the line that owes less, and nobody ever owes less than he did. This is the replacement of
 * A. Metwally et al., "Efficient computation of frequent and top-k elements in data streams" (2005),
 * with times in the place of counts. What a stranger inherits is at most half a burst.
 *
 * Times are in ticks of 2^-HEAT_SHIFT ns, for all limits alike, and taken modulo 2^64. That the
 * lowest bit is free makes it the flag of an exact source: one compare-and-swap changes both.
 *
 * The clock is the kernel's tick where a burst takes long enough, as that costs 1 ns and the exact
 * one more than all the rest of this file. It may be late by TICK_SLACK ticks, by which the debt is
 * raised when it is handed over.
 */
#ifndef HEADGATE_HEAT_H
#define HEADGATE_HEAT_H

#include "bucket.h"
#include "hash.h"
#include "walk.h"

#define HEAT_EXACT 1ULL /* in a cell's time */
#define HEAT_FINE  64 /* a burst of fewer times the slack is timed by the exact clock */
#define MAX_HOLD   (1ULL << 62) /* twice the largest burst that has cells, and the slack */

/*
 * The mark of a cell is when its time was written last, in units of 2^MARK_SHIFT ns. Times
 * come round every 39 hours; what is as old as this is past, whatever it looks like.
 */
#define MARK_SHIFT     30
#define MARK_INHERITED (1U << 31) /* the time of an exact cell is still of who had it before */
#define MARK_MAX_AGE   20000
#define MARK_AHEAD     16 /* of a CPU that read the clock later, as in CLOCK_SLACK_NS */
#define LONG_PAST      ((__s64)(1ULL << 63))

/* How many lines there are, less one. */
volatile const __u32 heat_mask = 0;

static __always_inline __u64 heat_ticks(const struct limit *limit, enum dimension dimension,
					__u64 amount)
{
	return amount << (HEAT_SHIFT - shift_of(limit->fingerprint, dimension));
}

/*
 * Of a limit in both dimensions each packet weighs what it does in the one where that is more. How
 * much a cold source may owe does not depend on the packet in hand: then who lost his cell owes no
 * less by the next one. A packet of more than half a burst of bytes needs a bucket at once.
 */
static __always_inline struct weight weigh(const struct limit *limit, __u32 length)
{
	const struct gcra *packets = &limit->gcra[DIMENSION_PACKETS],
			  *bytes = &limit->gcra[DIMENSION_BYTES];
	struct weight weight = {
		.charge = heat_ticks(limit, DIMENSION_PACKETS, packets->cost),
		.burst = limit->heat_burst,
		.cold = limit->heat_burst / 2 & ~HEAT_EXACT,
		.fits = true,
	};
	__u64 charge;

	if (weight.charge > weight.cold)
		weight.cold = weight.charge;
	if (!bytes->cost)
		return weight;
	weight.fits = bytes->cost * length <= bytes->burst;
	charge = heat_ticks(limit, DIMENSION_BYTES, bytes->cost * length);
	if (charge > weight.charge)
		weight.charge = charge;
	return weight;
}

/* The debt up to which its cell alone lets a source pass. */
static __always_inline __u64 whole_room(const struct weight *weight)
{
	return weight->burst > weight->charge ? weight->burst : weight->charge;
}

static __always_inline bool is_stale(__u32 mark, __u32 second)
{
	return ((second + MARK_AHEAD - mark) & ~MARK_INHERITED) > MARK_MAX_AGE;
}

/* The debt that the time of a cell shows. A stranger takes over what leaves him half a burst at most. */
static __always_inline __u64 heat_debt(const struct heat *heat, __u64 tat)
{
	__u64 debt = (tat & ~HEAT_EXACT) - heat->now;

	if ((__s64)debt <= 0 || is_stale(heat->mark, heat->second))
		return 0;
	if (tat & HEAT_EXACT || heat->own || debt < heat->weight.cold)
		return debt;
	return heat->weight.cold;
}

static __always_inline struct heat_line *heat_line(const struct policy *policy, __u64 hash)
{
	/* Half of the lines are the first policy's, a quarter the next one's, and so on. */
	__u32 lines = (heat_mask + 1) >> ((policy->slot & (MAX_POLICIES - 1)) + 1);
	__u32 index = lines + ((__u32)(hash >> 32) & (lines - 1));

	return bpf_map_lookup_elem(&heat_lines, &index);
}

/* Keeps the verifier from checking all that follows once for each value. */
static __always_inline __u32 any_of(__u64 index, __u64 unknown)
{
	asm volatile("%0 ^= %1\n%0 ^= %1" : "+r"(index) : "r"(unknown));
	return index & (HEAT_CELLS - 1);
}

/* The time that is left of a cell; the one with the least gives its place away. */
static __always_inline __s64 left_of(const struct heat_line *line, __u32 i, const struct heat *heat)
{
	const struct heat_cell *cell = &line->cell[i];

	return is_stale(cell->mark, heat->second) ? LONG_PAST : (__s64)(cell->tat - heat->now);
}

static __always_inline __u64 least_left(const struct heat_line *line, const struct heat *heat)
{
	__s64 first = left_of(line, 0, heat), second = left_of(line, 1, heat),
	      third = left_of(line, 2, heat), fourth = left_of(line, 3, heat);
	__u64 a = second < first, b = fourth < third;

	if (a)
		first = second;
	if (b)
		third = fourth;
	return third < first ? 2 + b : a;
}

/*
 * Which cell of the line is the source's; HEAT_CELLS for none. The first one is in nearly all cases,
 * as long as few sources are known: the processor guesses these branches right.
 */
static __always_inline __u64 own_index(const struct heat_line *line, __u32 tag)
{
	for (__u32 i = 0; i < HEAT_CELLS; i++)
		if (line->cell[i].tag == tag)
			return i;
	return HEAT_CELLS;
}

static __always_inline bool is_exact(const struct heat *heat)
{
	return heat->tat & HEAT_EXACT && heat->debt;
}

static __always_inline bool heat_fits(const struct heat *heat, __u64 room)
{
	return heat->weight.fits && heat->debt + heat->weight.charge <= room;
}

static __always_inline bool is_cold(const struct heat *heat)
{
	return heat_fits(heat, heat->weight.cold);
}

/* Makes the cell the source's, as of now: in one store, so that nobody sees half of it. */
static __always_inline void heat_own(struct heat_cell *cell, const struct heat *heat, __u32 flag)
{
	struct heat_cell next = {.tag = heat->tag, .mark = heat->second | flag};
	__u64 both;

	__builtin_memcpy(&both, &next.tag, sizeof(both));
	*(volatile __u64 *)&cell->tag = both;
}

static __always_inline __u64 heat_slack(void)
{
	return TICK_SLACK * tick_ns << HEAT_SHIFT;
}

/* Whether a burst is too short for the kernel's tick. */
static __always_inline bool is_fine(__u64 burst)
{
	return burst < HEAT_FINE * heat_slack();
}

/* Reads the clock that does for a limit. */
static __always_inline void heat_clock(struct heat *heat, struct walk *walk)
{
	__u64 tick = tick_read() * tick_ns;

	heat->second = tick >> MARK_SHIFT;
	if (is_fine(heat->weight.burst) && heat->weight.charge) {
		heat->now = now_of(walk) << HEAT_SHIFT;
		heat->slack = 0;
		return;
	}
	heat->now = tick << HEAT_SHIFT;
	heat->slack = heat_slack();
}

/* Reads the cell of a source at the moment of a packet. */
static __always_inline void heat_read(struct heat *heat, const struct heat_cell *cell)
{
	heat->mark = cell->mark;
	heat->tat = *(const volatile __u64 *)&cell->tat;
	/* Another CPU may have given it to the source just now, or to another one. */
	heat->own = *(const volatile __u32 *)&cell->tag == heat->tag;
	heat->debt = heat_debt(heat, heat->tat);
}

/*
 * Notes down that another CPU has written the cell since it was read. It did so for this source or for one
 * that takes the same cell at the same time; this one then owes for both.
 */
static __always_inline void heat_spoilt(struct heat *heat)
{
	heat->own = true;
	heat->mark = heat->second;
}

/* The debt to hand over to a bucket: as the clock may be late, more than the cell shows. */
static __always_inline __u64 heat_owes(const struct heat *heat, __u64 tat)
{
	__u64 debt = heat_debt(heat, tat), late = tat + heat->slack - heat->now;

	if (debt)
		return debt + heat->slack;
	if (tat & HEAT_EXACT || late > heat->slack || is_stale(heat->mark, heat->second))
		return 0;
	return late;
}

/* Looks a source up that is not known as exact: it has a cell, or takes the one that is left first. */
static __always_inline struct heat_cell *heat_open(struct heat *heat, struct walk *walk,
						   const struct limit *limit,
						   struct heat_line *line, struct heat_cell *own,
						   __u64 hash)
{
	struct heat_cell *cell = own;

	heat->tag = hash;
	heat->weight = weigh(limit, walk->packet.length);
	heat_clock(heat, walk);
	if (!own)
		cell = &line->cell[any_of(least_left(line, heat), hash)];
	heat_read(heat, cell);
	return cell;
}

/*
 * What a source owes in other cells of its line. Two CPUs that see it first at the same time may each take
 * one: the first one is used from there on, and the other one has one packet and gives way soon.
 */
static __always_inline __u64 twins(const struct heat_line *line, const struct heat_cell *cell,
				   const struct heat *heat)
{
	__u64 sum = 0, debt;

	for (__u32 i = 0; i < HEAT_CELLS; i++) {
		if (&line->cell[i] == cell || line->cell[i].tag != heat->tag)
			continue;
		debt = line->cell[i].tat - heat->now;
		if (line->cell[i].tat & HEAT_EXACT || is_stale(line->cell[i].mark, heat->second))
			continue;
		if ((__s64)debt > 0)
			sum += debt;
	}
	return sum;
}

static __always_inline bool heat_swap(struct heat_cell *cell, __u64 old, __u64 new)
{
	return __sync_val_compare_and_swap(&cell->tat, old, new) == old;
}

/*
 * The tries after a first one that another CPU spoilt, now up to the whole burst: what is left to
 * decide is whether the source is over its limit. OUTCOME_CONVERTED says that it is exact by now.
 */
__noinline int heat_take_again(struct heat_cell *cell, struct heat *heat, struct receipt *receipt)
{
	__u64 old, debt, room;

	if (!cell || !heat || !receipt)
		return OUTCOME_CONTENDED;
	room = whole_room(&heat->weight);
	heat_spoilt(heat);
	for (__u64 i = 0; i < CAS_TRIES; i++) {
		old = *(volatile __u64 *)&cell->tat;
		debt = heat_debt(heat, old);
		if (old & HEAT_EXACT && debt)
			return OUTCOME_CONVERTED;
		if (debt + heat->slack + heat->weight.charge > room && debt)
			return OUTCOME_OVER;
		receipt->tat[0] = heat->now + debt + heat->weight.charge;
		if (heat_swap(cell, old, receipt->tat[0]))
			return OUTCOME_TAKEN;
	}
	return OUTCOME_CONTENDED;
}

/* Charges a packet to the cell, where that leaves a debt of room at most. */
static __always_inline enum outcome heat_take(struct heat_cell *cell, struct heat *heat, __u64 room,
					      struct receipt *receipt)
{
	__u64 debt = heat->debt + heat->weight.charge;

	if (!heat->weight.charge)
		return OUTCOME_TAKEN;
	if (!heat_fits(heat, room))
		return OUTCOME_OVER;
	receipt->tat[0] = heat->now + debt;
	if (heat->mark != heat->second || !heat->own)
		heat_own(cell, heat, 0);
	if (heat_swap(cell, heat->tat, receipt->tat[0]))
		return OUTCOME_TAKEN;
	return heat_take_again(cell, heat, receipt);
}

/* Gives a charge back as far as it certainly has not drained, and where the cell still has it. */
static __always_inline void heat_refund(struct heat_cell *cell, const struct heat *heat,
					const struct receipt *receipt)
{
	__u64 left = receipt->tat[0] - heat->now - heat->slack;

	if (!heat->own || heat->tat & HEAT_EXACT || (__s64)left <= 0)
		return;
	if (left > heat->weight.charge)
		left = heat->weight.charge;
	heat_swap(cell, heat->tat, heat->tat - left);
}

/* What a bucket owes, in ticks of the cells. */
static __always_inline __u64 owed_in(const struct bucket *bucket, const struct limit *limit,
				     enum dimension dimension, __u64 now)
{
	struct meter m = meter(limit, dimension, 0, now);

	return heat_ticks(limit, dimension, gcra_debt(&m, bucket->tat[dimension]));
}

static __always_inline __u64 owed(const struct bucket *bucket, const struct limit *limit, __u64 now)
{
	__u64 packets = 0, bytes = 0;

	if (limit->gcra[DIMENSION_PACKETS].cost)
		packets = owed_in(bucket, limit, DIMENSION_PACKETS, now);
	if (limit->gcra[DIMENSION_BYTES].cost)
		bytes = owed_in(bucket, limit, DIMENSION_BYTES, now);
	return packets > bytes ? packets : bytes;
}

/*
 * How long a cell says that its bucket may owe something. Twice as long as it does, so that this is
 * not written with every packet.
 */
static __always_inline __u64 hold(__u64 debt)
{
	return 2 * (debt + heat_slack());
}

/* Renews a hold. Returns 0. */
__noinline int heat_renew(struct heat_cell *cell, struct walk *walk, const struct limit *limit,
			  __u64 debt)
{
	struct heat heat = {.weight = {.burst = limit ? limit->heat_burst : 0, .charge = 1}};
	__u64 tat;

	if (!cell || !walk || !limit)
		return 0;
	tat = *(volatile __u64 *)&cell->tat;
	heat.tag = cell->tag;
	heat_clock(&heat, walk);
	if (tat & HEAT_EXACT && heat_swap(cell, tat, (heat.now + hold(debt)) | HEAT_EXACT))
		heat_own(cell, &heat, 0);
	return 0;
}

/*
 * Renews the hold after a packet, where it is shorter than what the bucket owes, or longer than any;
 * or so old that nobody else believes it, though its time came round and looks like one to come.
 */
static __always_inline void heat_hold(struct heat_cell *cell, struct walk *walk,
				      const struct bucket *bucket, const struct limit *limit)
{
	__u64 now = now_of(walk), debt = owed(bucket, limit, now), left;

	/* By the clock of the cell: the other one is ahead by all the time that the machine slept. */
	if (!is_fine(limit->heat_burst))
		now = tick_read() * tick_ns;
	left = *(volatile __u64 *)&cell->tat - (now << HEAT_SHIFT);
	if (left - hold(debt) / 2 > MAX_HOLD || is_stale(cell->mark, now >> MARK_SHIFT))
		heat_renew(cell, walk, limit, debt);
}

#endif
