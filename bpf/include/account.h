/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file finds where a source is charged: in its heat cell while it is cold, in its bucket from
 * there on. It also holds back inserts, which are what a flood from made up addresses could make
 * expensive for everybody.
 */
#ifndef HEADGATE_ACCOUNT_H
#define HEADGATE_ACCOUNT_H

#include "heat.h"
#include "verified.h"

/* Where a policy charges a packet, and the limit that holds for it. */
struct account {
	struct bucket *bucket;
	struct heat_cell *cell;
	const struct limit *limit;
	enum place place;
};

/* Per CPU: one insert takes so many ns of credit, of which there are at most so many. */
volatile const __u64 credit_cost[CREDIT_LEN] = {};
volatile const __u64 credit_burst[CREDIT_LEN] = {};

static __always_inline bool take_credit(struct counters *counters, enum credit credit)
{
	__u64 now = tick_read() * tick_ns, *tat = &counters->credit[credit];
	__u64 next = (*tat > now ? *tat : now) + credit_cost[credit];

	if (next - now > credit_burst[credit])
		return false;
	*tat = next;
	return true;
}

/* Whether a source that needs a bucket may get one. Those that proved themselves always do. */
static __always_inline bool may_insert(struct walk *walk, struct counters *counters)
{
	if (take_credit(counters, CREDIT_HOT) || is_verified(walk, counters))
		return true;
	counters->deferred++;
	return false;
}

/* Whether a rule sets the limit of this policy for the source. */
static __always_inline bool is_ruled(const struct walk *walk, const struct policy *policy,
				     const struct ruling *ruling)
{
	return walk->action == ACTION_LIMIT && ruling->policy_id == policy->id;
}

static __always_inline struct bucket *shared_bucket(__u32 slot)
{
	return bpf_map_lookup_elem(&shared_buckets, &slot);
}

/* Notes down whose bucket at this policy is meant from here on. */
static __always_inline void set_key(struct counters *counters, const struct policy *policy)
{
	__u32 family = counters->source.policy >> POLICY_ID_BITS;

	counters->source.policy = family << POLICY_ID_BITS | policy->id;
}

/* Finds the bucket or makes it. Returns whether there is one. */
static __always_inline bool have_bucket(struct walk *walk, const struct limit *limit,
					struct counters *counters)
{
	if (find_bucket(counters) || new_bucket(counters, limit, now_of(walk)))
		return true;
	counters->deferred++;
	return false;
}

static __always_inline const struct limit *
limit_of(const struct walk *walk, const struct policy *policy, const struct counters *counters)
{
	return is_ruled(walk, policy, &counters->ruling) ? &counters->ruling.limit : &policy->limit;
}

static __always_inline void owe(struct walk *walk, struct bucket *bucket, const struct limit *limit,
				__u64 debt)
{
	bucket_owe(bucket, limit, DIMENSION_PACKETS, debt, now_of(walk));
	bucket_owe(bucket, limit, DIMENSION_BYTES, debt, now_of(walk));
}

/*
 * Makes a cold source exact. Its bucket owes all that the cell shows before the cell says that it is
 * exact, which only works where no CPU has charged it in between: so no charge is ever lost. Where the
 * bucket owed something before, the source had lost its cell and inherited at least as much.
 */
static __always_inline void promote(struct walk *walk, struct bucket *bucket,
				    const struct limit *limit, struct heat_cell *cell,
				    struct heat *heat, __u64 more)
{
	__u64 old, now = now_of(walk);

	for (__u64 i = 0; i < CAS_TRIES; i++) {
		old = *(volatile __u64 *)&cell->tat;
		if (old != heat->tat)
			heat_spoilt(heat);
		if (old & HEAT_EXACT && heat_debt(heat, old))
			return;
		owe(walk, bucket, limit, heat_owes(heat, old) + more);
		/* First: whoever sees the time of an exact cell is to see whose it is. */
		heat_own(cell, heat, 0);
		if (heat_swap(cell, old, (heat->now + hold(owed(bucket, limit, now))) | HEAT_EXACT))
			return;
	}
}

/* Finds or makes the bucket of a source that is cold so far. Returns whether there is one. */
__noinline int ready_bucket(struct walk *walk, const struct policy *policy,
			    struct counters *counters)
{
	if (!walk || !policy || !counters)
		return false;
	return have_bucket(walk, limit_of(walk, policy, counters), counters);
}

/* Hands the debt of the cell over to that bucket. Returns 0. */
__noinline int make_exact(struct walk *walk, const struct policy *policy, struct counters *counters,
			  struct heat_cell *cell, const struct heat_line *line)
{
	struct bucket *bucket;

	if (!walk || !policy || !counters || !cell || !line)
		return 0;
	bucket = find_bucket(counters);
	if (bucket)
		promote(walk, bucket, limit_of(walk, policy, counters), cell, &counters->heat,
			twins(line, cell, &counters->heat));
	return 0;
}

/* The debt that the bucket of a source in an exact cell has at least. */
static __always_inline __u64 least_debt(const struct heat *heat)
{
	if (heat->mark & MARK_INHERITED && heat->debt > heat->weight.cold)
		return heat->weight.cold;
	return heat->debt;
}

/*
 * Finds or makes the bucket of a source whose cell is exact, but whose bucket may not have all that it
 * owes. If the bucket was evicted, it owes as much as the cell says. Where the cell's time is still of
 * another source, this one may have lost a cell of its own, with what a cold source can owe.
 */
__noinline int restore(struct walk *walk, const struct policy *policy, struct counters *counters)
{
	const struct heat *heat = &counters->heat;
	const struct limit *limit;
	struct bucket *bucket;

	if (!walk || !policy || !counters)
		return false;
	bucket = find_bucket(counters);
	/* Its own, which another CPU made just now. */
	if (bucket && !(heat->mark & MARK_INHERITED))
		return true;
	if (!bucket && heat->mark & MARK_INHERITED && !may_insert(walk, counters))
		return false;
	limit = limit_of(walk, policy, counters);
	if (!have_bucket(walk, limit, counters))
		return false;
	bucket = find_bucket(counters);
	if (bucket && adopt(bucket, limit, now_of(walk)))
		owe(walk, bucket, limit, least_debt(heat));
	return true;
}

/*
 * A source whose cell is exact, but that has no bucket as far as is known: its own was evicted, or the
 * cell is that of another source, which owes something.
 */
static __always_inline void open_exact(struct account *account, struct walk *walk,
				       const struct policy *policy, struct counters *counters,
				       struct heat *heat)
{
	if (!heat->own) {
		heat->mark = MARK_INHERITED;
		heat_own(account->cell, heat, MARK_INHERITED);
	}
	counters->heat = *heat;
	if (restore(walk, policy, counters))
		account->bucket = find_bucket(counters);
	if (!account->bucket)
		account->place = PLACE_NOWHERE;
}

/* A source that is cold so far: it stays so, or gets a bucket. */
static __always_inline void open_cold(struct account *account, struct walk *walk,
				      const struct policy *policy, struct counters *counters,
				      struct heat *heat, const struct heat_line *line)
{
	bool cold = is_cold(heat), fresh = !heat->debt;

	counters->heat = *heat;
	if (cold ? fresh && take_credit(counters, CREDIT_COLD) : may_insert(walk, counters)) {
		if (ready_bucket(walk, policy, counters))
			account->bucket = find_bucket(counters);
		/* To a debt in ticks of an old limit nothing could be added. */
		if (account->bucket && adopt(account->bucket, account->limit, now_of(walk)))
			make_exact(walk, policy, counters, account->cell, line);
		if (account->bucket)
			return;
	}
	account->place = cold ? PLACE_COLD : PLACE_ESTIMATE;
}

/* A source whose limit is none for heat cells. */
static __always_inline void open_bucket(struct account *account, struct walk *walk,
					struct counters *counters)
{
	account->bucket = find_bucket(counters);
	if (!account->bucket && may_insert(walk, counters) &&
	    have_bucket(walk, account->limit, counters))
		account->bucket = find_bucket(counters);
	if (!account->bucket)
		account->place = PLACE_NOWHERE;
}

static __always_inline __u64 hash_of(const struct counters *counters)
{
	return hash_words(counters->source.policy, counters->source.addr);
}

/* A source whose limit is one for heat cells. Those that are near it are exact, and decided first. */
static __always_inline void open_cell(struct account *account, struct walk *walk,
				      const struct policy *policy, struct counters *counters)
{
	__u64 hash = hash_of(counters), index;
	struct heat_line *line = heat_line(policy, hash);
	struct heat_cell *cell;
	struct heat heat;

	account->place = PLACE_NOWHERE;
	if (!line)
		return;
	account->place = PLACE_SOURCE;
	index = own_index(line, hash);
	cell = index < HEAT_CELLS ? &line->cell[any_of(index, hash)] : NULL;
	if (cell && cell->tat & HEAT_EXACT) {
		account->cell = cell;
		account->bucket = find_bucket(counters);
		if (account->bucket)
			return;
	}
	account->cell = heat_open(&heat, walk, account->limit, line, cell, hash);
	if (is_exact(&heat))
		open_exact(account, walk, policy, counters, &heat);
	else
		open_cold(account, walk, policy, counters, &heat, line);
}

/*
 * Finds the account, or opens one. A source with a limit of its own has its own bucket also where
 * the others share one: two limits on one bucket would each convert it.
 */
static __always_inline struct account open_account(struct walk *walk, const struct policy *policy,
						   struct counters *counters)
{
	bool ruled = is_ruled(walk, policy, &counters->ruling);
	struct account account = {
		.place = PLACE_SOURCE,
		.limit = ruled ? &counters->ruling.limit : &policy->limit,
	};

	if (policy->flags & POLICY_SHARED && !ruled) {
		account.place = PLACE_SHARED;
		account.bucket = shared_bucket(policy->slot);
		return account;
	}
	set_key(counters, policy);
	if (account.limit->heat_burst != FOREVER)
		open_cell(&account, walk, policy, counters);
	else
		open_bucket(&account, walk, counters);
	return account;
}

/* Finds the account that a receipt is of. Its bucket is NULL where it was evicted meanwhile. */
static __always_inline struct account account_of(struct walk *walk, const struct policy *policy,
						 struct counters *counters,
						 const struct receipt *receipt)
{
	struct account account = {
		.place = receipt->place,
		.limit = limit_of(walk, policy, counters),
	};

	switch (receipt->place) {
	case PLACE_SOURCE:
		set_key(counters, policy);
		account.bucket = find_bucket(counters);
		break;
	case PLACE_SHARED:
		account.bucket = shared_bucket(policy->slot);
		break;
	}
	return account;
}

/* Gives a charge back to a source's cell, where it still has one. */
static __always_inline void refund_cell(struct walk *walk, const struct policy *policy,
					struct counters *counters, const struct limit *limit,
					const struct receipt *receipt)
{
	struct heat_line *line;
	struct heat_cell *cell;
	__u64 hash, index;
	struct heat heat;

	set_key(counters, policy);
	hash = hash_of(counters);
	line = heat_line(policy, hash);
	if (!line)
		return;
	index = own_index(line, hash);
	if (index == HEAT_CELLS)
		return;
	cell = heat_open(&heat, walk, limit, line, &line->cell[any_of(index, hash)], hash);
	heat_refund(cell, &heat, receipt);
}

#endif
