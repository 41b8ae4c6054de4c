/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file finds where a source is charged: in its heat cell while it is cold, in its bucket from
 * there on. It also holds back inserts, which are what a flood from made up addresses could make
 * expensive for everybody.
 */
#ifndef HEADGATE_ACCOUNT_H
#define HEADGATE_ACCOUNT_H

#include "heat.h"

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

static __always_inline struct bucket_key key_of(const struct walk *walk,
						const struct policy *policy)
{
	struct bucket_key key = walk->source;

	key.policy |= policy->id;
	return key;
}

static __always_inline struct bucket *find_bucket(const struct walk *walk,
						  const struct policy *policy)
{
	struct bucket_key key = key_of(walk, policy);

	return bpf_map_lookup_elem(&buckets, &key);
}

/* Finds the bucket of a source or makes it. Returns whether there is one. */
static __always_inline bool have_bucket(struct walk *walk, const struct policy *policy,
					const struct limit *limit, struct counters *counters)
{
	struct bucket_key key = key_of(walk, policy);

	return bpf_map_lookup_elem(&buckets, &key) ||
	       new_bucket(&key, limit, counters, now_of(walk));
}

static __always_inline const struct limit *
limit_of(const struct walk *walk, const struct policy *policy, const struct counters *counters)
{
	return is_ruled(walk, policy, &counters->ruling) ? &counters->ruling.limit : &policy->limit;
}

/*
 * Makes a cold source exact. Its bucket takes the debt over before its cell says that it is exact,
 * and gives it back where another CPU charged the cell in between: so no charge is ever lost.
 */
static __always_inline void promote(struct walk *walk, struct bucket *bucket,
				    const struct limit *limit, struct heat_cell *cell,
				    struct heat *heat)
{
	__u64 old, debt, packets, bytes, now = now_of(walk);

	for (__u64 i = 0; i < CAS_TRIES; i++) {
		old = *(volatile __u64 *)&cell->tat;
		debt = heat_debt(heat, old);
		if (old & HEAT_EXACT && debt)
			return;
		if (debt)
			debt += heat->slack;
		packets = bucket_owe(bucket, limit, DIMENSION_PACKETS, debt, now);
		bytes = bucket_owe(bucket, limit, DIMENSION_BYTES, debt, now);
		debt = owed(bucket, limit, now);
		if (heat_swap(cell, old, (heat->now + hold(debt)) | HEAT_EXACT)) {
			heat_own(cell, heat, 0);
			return;
		}
		__sync_fetch_and_sub(&bucket->tat[DIMENSION_PACKETS], packets);
		__sync_fetch_and_sub(&bucket->tat[DIMENSION_BYTES], bytes);
		heat->mark = heat->second; /* as who was faster has written */
	}
}

/*
 * Gives a source a bucket whose cell says that it needs one, or that there is credit for. Returns
 * false where it gets none.
 */
__noinline int make_exact(struct walk *walk, const struct policy *policy, struct counters *counters,
			  struct heat_cell *cell)
{
	const struct limit *limit;
	struct bucket *bucket;

	if (!walk || !policy || !counters || !cell)
		return false;
	limit = limit_of(walk, policy, counters);
	if (!have_bucket(walk, policy, limit, counters))
		return false;
	bucket = find_bucket(walk, policy);
	if (bucket &&
	    (bucket->fingerprint == limit->fingerprint || adopt(bucket, limit, now_of(walk))))
		promote(walk, bucket, limit, cell, &counters->heat);
	return true;
}

/*
 * Gives an exact source a new bucket for the one that was evicted. As much as it may have owed, it
 * owes; where the cell's time is still of another source, nothing is known of this one.
 */
__noinline int restore(struct walk *walk, const struct policy *policy, struct counters *counters)
{
	const struct heat *heat = &counters->heat;
	const struct limit *limit;
	struct bucket *bucket;
	__u64 debt;

	if (!walk || !policy || !counters)
		return false;
	if (heat->mark & MARK_INHERITED && !take_credit(counters, CREDIT_HOT))
		return false;
	limit = limit_of(walk, policy, counters);
	if (!have_bucket(walk, policy, limit, counters))
		return false;
	bucket = find_bucket(walk, policy);
	debt = heat->debt;
	if (!bucket || heat->mark & MARK_INHERITED)
		return true;
	bucket_owe(bucket, limit, DIMENSION_PACKETS, debt, now_of(walk));
	bucket_owe(bucket, limit, DIMENSION_BYTES, debt, now_of(walk));
	return true;
}

/* An exact source, or one that was and owes nothing. */
static __always_inline void open_exact(struct account *account, struct walk *walk,
				       const struct policy *policy, struct counters *counters)
{
	struct heat *heat = &counters->heat;

	if (!heat->own) {
		heat->mark = MARK_INHERITED;
		heat_own(account->cell, heat, MARK_INHERITED);
	}
	account->bucket = find_bucket(walk, policy);
	if (account->bucket || !heat->debt)
		return;
	if (restore(walk, policy, counters))
		account->bucket = find_bucket(walk, policy);
	else
		account->place = PLACE_NOWHERE;
}

/* A source that is cold so far: it stays so, or gets a bucket. */
static __always_inline void open_cold(struct account *account, struct walk *walk,
				      const struct policy *policy, struct counters *counters)
{
	struct heat *heat = &counters->heat;
	bool cold = is_cold(heat), fresh = !heat->debt;

	if (cold ? fresh && take_credit(counters, CREDIT_COLD) :
		   take_credit(counters, CREDIT_HOT)) {
		if (make_exact(walk, policy, counters, account->cell))
			account->bucket = find_bucket(walk, policy);
		if (account->bucket)
			return;
	}
	account->place = cold ? PLACE_COLD : PLACE_ESTIMATE;
}

/* A source whose limit is none for heat cells. */
static __always_inline void open_bucket(struct account *account, struct walk *walk,
					const struct policy *policy, struct counters *counters)
{
	account->bucket = find_bucket(walk, policy);
	if (!account->bucket && take_credit(counters, CREDIT_HOT) &&
	    have_bucket(walk, policy, account->limit, counters))
		account->bucket = find_bucket(walk, policy);
	if (!account->bucket)
		account->place = PLACE_NOWHERE;
}

/*
 * Finds the account, or opens one. A source with a limit of its own has its own bucket also where
 * the others share one: two limits on one bucket would each convert it.
 */
static __always_inline struct account open_account(struct walk *walk, const struct policy *policy,
						   struct counters *counters)
{
	struct account account = {
		.place = PLACE_SOURCE,
		.limit = limit_of(walk, policy, counters),
	};

	if (policy->flags & POLICY_SHARED && !is_ruled(walk, policy, &counters->ruling)) {
		account.place = PLACE_SHARED;
		account.bucket = shared_bucket(policy->slot);
		return account;
	}
	account.cell = heat_open(&counters->heat, walk, policy, account.limit);
	if (!account.cell) {
		open_bucket(&account, walk, policy, counters);
		return account;
	}
	if (is_exact(&counters->heat))
		open_exact(&account, walk, policy, counters);
	if (account.place == PLACE_SOURCE && !account.bucket)
		open_cold(&account, walk, policy, counters);
	return account;
}

/* Finds the account that a receipt is of. Its bucket is NULL where it was evicted meanwhile. */
static __always_inline struct account account_of(struct walk *walk, const struct policy *policy,
						 const struct counters *counters,
						 const struct receipt *receipt)
{
	struct account account = {
		.place = receipt->place,
		.limit = limit_of(walk, policy, counters),
	};

	switch (receipt->place) {
	case PLACE_SOURCE:
		account.bucket = find_bucket(walk, policy);
		break;
	case PLACE_SHARED:
		account.bucket = shared_bucket(policy->slot);
		break;
	}
	return account;
}

#endif
