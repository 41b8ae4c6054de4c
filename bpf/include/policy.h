/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file asks one policy about a packet: does it match, which limit does it set for the
 * source, which bucket is charged, and what is counted for it.
 */
#ifndef HEADGATE_POLICY_H
#define HEADGATE_POLICY_H

#include "account.h"
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
					   const struct counters *counters)
{
	if (!policy->flags)
		return true;
	if (!packet_matches(policy, &walk->packet))
		return false;
	return !(policy->flags & POLICY_UNVERIFIED) || !is_verified(walk, counters);
}

/* Fills matches. Returns 0. */
__noinline int match(const struct config *config, struct walk *walk,
		     const struct counters *counters, struct matches *matches)
{
	if (!config || !walk || !counters || !matches)
		return 0;
	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (i >= config->policy_count)
			break;
		if (!policy_matches(&config->policies[i], walk, counters))
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

/* What becomes of a source that needs a bucket and has none. Where nothing is limited it passes. */
static __always_inline enum overflow overflow_of(const struct policy *policy,
						 const struct account *account)
{
	return account->limit->heat_burst ? policy->overflow : OVERFLOW_PASS;
}

/*
 * Charges a heat cell. It says where the source is exact by now, as another CPU made it so: then its
 * bucket decides.
 */
static __always_inline enum outcome ask_cell(struct walk *walk, const struct policy *policy,
					     struct counters *counters, struct account *account,
					     struct receipt *receipt)
{
	__u64 room = counters->heat.weight.cold;
	enum overflow overflow = overflow_of(policy, account);
	enum outcome outcome;

	if (account->place == PLACE_ESTIMATE) {
		walk->untracked = true;
		if (overflow != OVERFLOW_ESTIMATE)
			return overflow == OVERFLOW_DROP ? OUTCOME_OVER : OUTCOME_TAKEN;
		room = whole_room(&counters->heat.weight);
	}
	if (!receipt)
		return heat_fits(&counters->heat, room) ? OUTCOME_TAKEN : OUTCOME_OVER;
	receipt->place = account->place;
	outcome = heat_take(account->cell, &counters->heat, room, receipt);
	if (outcome != OUTCOME_CONVERTED)
		return outcome;
	account->bucket = find_bucket(counters);
	account->place = account->bucket ? PLACE_SOURCE : PLACE_NOWHERE;
	return outcome;
}

/* What the bucket says; where there is none the overflow setting does. */
static __always_inline enum reason ask_bucket(struct walk *walk, const struct policy *policy,
					      const struct account *account,
					      struct receipt *receipt)
{
	struct bucket *bucket = account->bucket;
	__u64 now;

	if (receipt)
		receipt->place = account->place;
	if (!bucket) {
		walk->untracked = true;
		return overflow_of(policy, account) == OVERFLOW_DROP ? REASON_UNTRACKED :
								       REASON_UNDER_LIMIT;
	}
	now = now_of(walk);
	if (bucket->fingerprint != account->limit->fingerprint &&
	    !adopt(bucket, account->limit, now))
		return REASON_CONTENDED;
	if (!receipt)
		return bucket_fits(bucket, account->limit, walk->packet.length, now);
	return bucket_take(bucket, account->limit, walk->packet.length, now, receipt);
}

static __always_inline bool has_cell(const struct account *account)
{
	return account->place == PLACE_COLD || account->place == PLACE_ESTIMATE;
}

/* What the account says. */
static __always_inline enum reason ask(struct walk *walk, const struct policy *policy,
				       struct counters *counters, struct account *account,
				       struct receipt *receipt)
{
	enum outcome outcome;

	if (has_cell(account)) {
		outcome = ask_cell(walk, policy, counters, account, receipt);
		if (outcome == OUTCOME_TAKEN)
			return REASON_UNDER_LIMIT;
		if (outcome != OUTCOME_CONVERTED)
			return outcome == OUTCOME_OVER ? REASON_UNTRACKED : REASON_CONTENDED;
	}
	return ask_bucket(walk, policy, account, receipt);
}

static __always_inline enum reason refuse(const struct walk *walk, const struct policy *policy,
					  struct counters *counters, struct account account,
					  enum reason reason)
{
	count_policy(counters, policy->slot, walk->refused, walk->packet.length);
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
	if (account.place == PLACE_COLD)
		counters->cold++;
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
	enum reason reason = ask(walk, policy, counters, &account, receipt);

	if (reason != REASON_UNDER_LIMIT)
		return refuse(walk, policy, counters, account, reason);
	if (last)
		count_passed(walk, policy, counters, account);
	/*
	 * At the end: charging and counting write the same line, which another CPU could take away in
	 * between. A packet that is refused does not add to what the bucket owes.
	 */
	if (receipt && account.bucket && account.cell)
		heat_hold(account.cell, walk, account.bucket, account.limit);
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
	if (has_cell(&account)) {
		refund_cell(walk, policy, counters, account.limit, receipt);
		return 0;
	}
	if (account.bucket && account.bucket->fingerprint == account.limit->fingerprint)
		bucket_refund(account.bucket, account.limit, walk->packet.length, receipt);
	return 0;
}

#endif
