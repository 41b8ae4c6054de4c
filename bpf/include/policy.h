/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file asks one policy about a packet: does it match, which limit does it set for the
 * source, which bucket is charged, and what is counted for it.
 */
#ifndef HEADGATE_POLICY_H
#define HEADGATE_POLICY_H

#include "bucket.h"
#include "verified.h"
#include "walk.h"
#include <bpf/bpf_endian.h>

/* Which policies match a packet, as a mask of their places; and of the enforced ones the last. */
struct matches {
	__u8 enforced;
	__u8 dry;
	__u8 last;
};

static __always_inline bool packet_matches(const struct policy *policy, const struct packet *packet)
{
	__u16 port = bpf_ntohs(packet->dport);

	if (policy->flags & POLICY_PROTO && policy->proto != packet->proto)
		return false;
	if (policy->flags & POLICY_SYN && !packet->is_syn)
		return false;
	if (policy->flags & POLICY_PORTS)
		return packet->has_ports && port >= policy->port_first && port <= policy->port_last;
	return true;
}

/* The table of verified sources is asked last, as it is in memory that may be far away. */
static __always_inline bool policy_matches(const struct policy *policy, struct walk *walk,
					   const struct ruling *ruling)
{
	if (!policy->flags)
		return true;
	if (!packet_matches(policy, &walk->packet))
		return false;
	return !(policy->flags & POLICY_UNVERIFIED) || !is_verified(walk, ruling);
}

/* Fills matches. Returns 0. */
__noinline int match(const struct config *config, struct walk *walk, const struct ruling *ruling,
		     struct matches *matches)
{
	if (!config || !walk || !ruling || !matches)
		return 0;
	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (i >= config->policy_count)
			break;
		if (!policy_matches(&config->policies[i], walk, ruling))
			continue;
		if (i >= config->enforced) {
			matches->dry |= 1 << i;
			continue;
		}
		matches->enforced |= 1 << i;
		matches->last = i;
	}
	return 0;
}

/* The bucket that a policy charges a packet to, NULL for none, and the limit that holds for it. */
struct account {
	struct bucket *bucket;
	const struct limit *limit;
	enum place place;
};

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

/* An untracked source, for which the overflow setting says whether it has a part in a bucket. */
static __always_inline struct account untracked_account(struct walk *walk,
							const struct policy *policy)
{
	struct account account = {.place = PLACE_NOWHERE, .limit = &policy->limit};

	walk->untracked = true;
	if (walk->overflow == OVERFLOW_SHARED) {
		account.place = PLACE_UNTRACKED;
		account.bucket = shared_bucket(MAX_POLICIES + policy->slot);
	}
	return account;
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
	struct bucket_key key;

	if (policy->flags & POLICY_SHARED && !ruled) {
		account.place = PLACE_SHARED;
		account.bucket = shared_bucket(policy->slot);
		return account;
	}
	key = key_of(walk, policy);
	account.bucket = bpf_map_lookup_elem(&buckets, &key);
	if (!account.bucket)
		account.bucket = new_bucket(&key, account.limit, counters, walk->now);
	return account.bucket ? account : untracked_account(walk, policy);
}

/* Finds the account that a receipt is of. Its bucket is NULL where it was evicted meanwhile. */
static __always_inline struct account account_of(const struct walk *walk,
						 const struct policy *policy,
						 const struct counters *counters,
						 const struct receipt *receipt)
{
	struct account account = {.place = receipt->place, .limit = &policy->limit};
	struct bucket_key key;

	switch (receipt->place) {
	case PLACE_SOURCE:
		if (is_ruled(walk, policy, &counters->ruling))
			account.limit = &counters->ruling.limit;
		key = key_of(walk, policy);
		account.bucket = bpf_map_lookup_elem(&buckets, &key);
		break;
	case PLACE_SHARED:
		account.bucket = shared_bucket(policy->slot);
		break;
	case PLACE_UNTRACKED:
		account.bucket = shared_bucket(MAX_POLICIES + policy->slot);
		break;
	}
	return account;
}

/* What the account says; where it has no bucket the overflow setting does. */
static __always_inline enum reason ask(const struct walk *walk, struct account account,
				       struct receipt *receipt)
{
	struct bucket *bucket = account.bucket;

	if (!bucket)
		return walk->overflow == OVERFLOW_DROP ? REASON_UNTRACKED : REASON_UNDER_LIMIT;
	if (bucket->fingerprint != account.limit->fingerprint &&
	    !adopt(bucket, account.limit, walk->now))
		return REASON_CONTENDED;
	if (!receipt)
		return bucket_fits(bucket, account.limit, walk->packet.length, walk->now);
	receipt->place = account.place;
	return bucket_take(bucket, account.limit, walk->packet.length, walk->now, receipt);
}

static __always_inline enum reason refuse(const struct walk *walk, const struct policy *policy,
					  struct counters *counters, struct account account,
					  enum reason reason)
{
	count_policy(counters, policy->slot, walk->refused, walk->packet.length);
	if (account.place == PLACE_UNTRACKED || account.place == PLACE_NOWHERE)
		return REASON_UNTRACKED;
	if (account.place == PLACE_SOURCE && account.bucket)
		count_loss(account.bucket, walk->refused, walk->packet.length);
	return reason;
}

static __always_inline void count_passed(const struct walk *walk, const struct policy *policy,
					 struct counters *counters, struct account account)
{
	/* The shared one first: an atomic operation waits for the stores before it. */
	if (account.place == PLACE_SOURCE && account.bucket)
		count_pass(account.bucket, walk->packet.length);
	count_policy(counters, policy->slot, VERDICT_PASS, walk->packet.length);
}

/*
 * Charges a packet to a policy. Returns the reason to drop it, or REASON_UNDER_LIMIT. A refusal is
 * counted at once; that it passed only where this is the last policy that has to let it.
 */
static __always_inline enum reason charge(struct walk *walk, const struct policy *policy,
					  struct counters *counters, struct receipt *receipt,
					  bool last)
{
	struct account account = open_account(walk, policy, counters);
	enum reason reason = ask(walk, account, receipt);

	if (reason != REASON_UNDER_LIMIT)
		return refuse(walk, policy, counters, account, reason);
	if (last)
		count_passed(walk, policy, counters, account);
	return reason;
}

/* The same apart, for where several policies match: the verifier checks it once for all of them. */
__noinline int charge_one(struct walk *walk, const struct policy *policy, struct counters *counters,
			  struct receipt *receipt, bool last)
{
	if (!walk || !policy || !counters || !receipt)
		return REASON_UNDER_LIMIT;
	receipt->place = PLACE_NOWHERE;
	return charge(walk, policy, counters, receipt, last);
}

/* Only asks: charges nothing and counts only a refusal. */
__noinline int peek_one(struct walk *walk, const struct policy *policy, struct counters *counters)
{
	if (!walk || !policy || !counters)
		return REASON_UNDER_LIMIT;
	return charge(walk, policy, counters, NULL, false);
}

/* Counts a packet that was charged before and that all policies have let pass. Returns 0. */
__noinline int passed_one(struct walk *walk, const struct policy *policy, struct counters *counters,
			  const struct receipt *receipt)
{
	if (!walk || !policy || !counters || !receipt)
		return 0;
	count_passed(walk, policy, counters, account_of(walk, policy, counters, receipt));
	return 0;
}

/* Undoes the charge of a packet that another policy then refused. Returns 0. */
__noinline int refund_one(struct walk *walk, const struct policy *policy, struct counters *counters,
			  const struct receipt *receipt)
{
	struct account account;

	if (!walk || !policy || !counters || !receipt)
		return 0;
	account = account_of(walk, policy, counters, receipt);
	if (account.bucket && account.bucket->fingerprint == account.limit->fingerprint)
		bucket_refund(account.bucket, account.limit, walk->packet.length, receipt);
	return 0;
}

#endif
