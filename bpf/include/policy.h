/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file asks one policy about a packet: does it match, which limit does it set for the
 * source, which bucket is charged, and what is counted for it.
 */
#ifndef HEADGATE_POLICY_H
#define HEADGATE_POLICY_H

#include "bucket.h"
#include "walk.h"
#include <bpf/bpf_endian.h>

/* Which policies match a packet, as a mask of their places; and of the enforced ones the last. */
struct matches {
	__u8 enforced;
	__u8 dry;
	__u8 last;
};

static __always_inline bool policy_matches(const struct policy *policy, const struct packet *packet)
{
	__u16 port = bpf_ntohs(packet->dport);

	if (!policy->flags)
		return true;
	if (policy->flags & POLICY_PROTO && policy->proto != packet->proto)
		return false;
	if (policy->flags & POLICY_SYN && !packet->is_syn)
		return false;
	if (policy->flags & POLICY_PORTS)
		return packet->has_ports && port >= policy->port_first && port <= policy->port_last;
	return true;
}

/* Fills matches. Returns 0. */
__noinline int match(const struct config *config, const struct packet *packet,
		     struct matches *matches)
{
	if (!config || !packet || !matches)
		return 0;
	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (i >= config->policy_count)
			break;
		if (!policy_matches(&config->policies[i], packet))
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

/* Whether a rule sets the limit of this policy for the source. */
static __always_inline bool is_ruled(const struct walk *walk, const struct policy *policy,
				     const struct ruling *ruling)
{
	return walk->action == ACTION_LIMIT && ruling->policy_id == policy->id;
}

/* A source with a limit of its own has its own bucket: two limits on one would each convert it. */
static __always_inline bool has_own_bucket(const struct policy *policy, bool ruled)
{
	return ruled || !(policy->flags & POLICY_SHARED);
}

static __always_inline struct bucket *shared_bucket(__u32 slot)
{
	return bpf_map_lookup_elem(&shared_buckets, &slot);
}

/* NULL, or the bucket for all such sources, where this one cannot be tracked. */
static __always_inline struct bucket *source_bucket(struct walk *walk, const struct policy *policy,
						    const struct limit *limit,
						    struct counters *counters, bool *tracked)
{
	struct bucket *bucket;

	walk->key.policy = walk->family | policy->id;
	bucket = bpf_map_lookup_elem(&buckets, &walk->key);
	if (!bucket)
		bucket = new_bucket(&walk->key, limit, counters, walk->now);
	if (bucket)
		return bucket;
	*tracked = false;
	walk->untracked = true;
	return walk->overflow == OVERFLOW_SHARED ? shared_bucket(MAX_POLICIES + policy->slot) :
						   NULL;
}

/* What a bucket says; there may be none, and then the overflow setting does. */
static __always_inline enum reason ask(const struct walk *walk, struct bucket *bucket,
				       const struct limit *limit, struct receipt *receipt)
{
	if (!bucket)
		return walk->overflow == OVERFLOW_DROP ? REASON_UNTRACKED : REASON_UNDER_LIMIT;
	if (bucket->fingerprint != limit->fingerprint && !adopt(bucket, limit, walk->now))
		return REASON_CONTENDED;
	if (!receipt)
		return bucket_fits(bucket, limit, walk->packet.length, walk->now);
	return bucket_take(bucket, limit, walk->packet.length, walk->now, receipt);
}

/*
 * What becomes of a packet at one policy: the reason to drop it, or REASON_UNDER_LIMIT. With a
 * receipt it is charged and counted, without one only asked about. A refusal is counted under
 * the verdict refused.
 */
static __always_inline enum reason charge(struct walk *walk, const struct policy *policy,
					  struct counters *counters, struct receipt *receipt,
					  enum verdict refused)
{
	bool ruled, own, tracked = true;
	const struct limit *limit;
	struct bucket *bucket;
	enum reason reason;
	__u32 slot = policy->slot;

	ruled = is_ruled(walk, policy, &counters->ruling);
	own = has_own_bucket(policy, ruled);
	limit = ruled ? &counters->ruling.limit : &policy->limit;

	bucket = own ? source_bucket(walk, policy, limit, counters, &tracked) : shared_bucket(slot);
	own = own && tracked;
	if (!tracked)
		limit = &policy->limit;
	reason = ask(walk, bucket, limit, receipt);
	if (reason != REASON_UNDER_LIMIT) {
		count_policy(counters, slot, refused, walk->packet.length);
		if (bucket && own)
			count_loss(bucket, refused, walk->packet.length);
		return tracked ? reason : REASON_UNTRACKED;
	}
	if (receipt) {
		/* The shared one first: an atomic operation waits for the stores before it. */
		if (bucket && own)
			count_pass(bucket, walk->packet.length);
		count_policy(counters, slot, VERDICT_PASS, walk->packet.length);
	}
	return reason;
}

/* The same, for where several policies match: checked by the verifier once for all of them. */
__noinline int charge_one(struct walk *walk, const struct policy *policy, struct counters *counters,
			  struct receipt *receipt, enum verdict refused)
{
	if (!walk || !policy || !counters)
		return REASON_UNDER_LIMIT;
	return charge(walk, policy, counters, receipt, refused);
}

/* Undoes what charge did for a packet that another policy then refused. Returns 0. */
__noinline int refund(struct walk *walk, const struct policy *policy, struct counters *counters,
		      const struct receipt *receipt)
{
	const struct limit *limit;
	struct bucket *bucket;
	bool ruled, own;
	__u32 slot;

	if (!walk || !policy || !receipt || !counters)
		return 0;
	slot = policy->slot;
	ruled = is_ruled(walk, policy, &counters->ruling);
	own = has_own_bucket(policy, ruled);
	limit = ruled ? &counters->ruling.limit : &policy->limit;
	uncount_policy(counters, slot, VERDICT_PASS, walk->packet.length);

	walk->key.policy = walk->family | policy->id;
	bucket = own ? bpf_map_lookup_elem(&buckets, &walk->key) : shared_bucket(slot);
	/* An own bucket that another CPU made since then was not charged. */
	if (!bucket || (own && walk->untracked) || bucket->fingerprint != limit->fingerprint)
		return 0;
	bucket_refund(bucket, limit, walk->packet.length, receipt);
	if (own)
		uncount_pass(bucket, walk->packet.length);
	return 0;
}

#endif
