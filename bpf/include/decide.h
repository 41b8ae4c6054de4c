/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file puts the policies' answers together. A packet must pass all enforced policies that
 * match, and is charged to all of them or to none. Those in dry run are asked only about what
 * the enforced ones let pass: that is what they would see, and they never keep anything out.
 */
#ifndef HEADGATE_DECIDE_H
#define HEADGATE_DECIDE_H

#include "policy.h"

struct decision {
	enum verdict verdict;
	enum reason reason;
	__u16 policy_id; /* that it is due to, or 0 */
};

/* The verdict where something speaks against the packet. */
static __always_inline enum verdict refusal(const struct config *config)
{
	return config->flags & CONFIG_DRY_RUN ? VERDICT_WOULD_DROP : VERDICT_DROP;
}

static __always_inline struct decision refused_by(const struct config *config,
						  const struct policy *policy, enum reason reason)
{
	return (struct decision){
		.verdict = refusal(config),
		.reason = reason,
		.policy_id = policy->id,
	};
}

/* Asks all matching policies before any is charged. */
static __always_inline struct decision peek_all(struct walk *walk, const struct config *config,
						struct counters *counters, __u32 matching)
{
	struct decision decision = {.verdict = VERDICT_PASS, .reason = REASON_UNDER_LIMIT};
	enum reason reason;

	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (!(matching & 1 << i))
			continue;
		reason = charge_one(walk, &config->policies[i], counters, NULL, refusal(config));
		if (reason != REASON_UNDER_LIMIT)
			return refused_by(config, &config->policies[i], reason);
	}
	return decision;
}

/* Charges all matching policies; where one refuses after all, those before it get it back. */
static __always_inline struct decision charge_all(struct walk *walk, const struct config *config,
						  struct counters *counters, __u32 matching)
{
	struct receipt *receipts = counters->receipts;
	struct decision decision = {.verdict = VERDICT_PASS, .reason = REASON_UNDER_LIMIT};
	__u32 charged = 0;
	enum reason reason;

	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (!(matching & 1 << i))
			continue;
		reason = charge_one(walk, &config->policies[i], counters, &receipts[i],
				    refusal(config));
		if (reason != REASON_UNDER_LIMIT) {
			decision = refused_by(config, &config->policies[i], reason);
			break;
		}
		charged |= 1 << i;
	}
	if (decision.verdict == VERDICT_PASS)
		return decision;
	for (__u32 i = 0; i < MAX_POLICIES; i++)
		if (charged & 1 << i)
			refund(walk, &config->policies[i], counters, &receipts[i]);
	return decision;
}

static __always_inline struct decision decide_enforced(struct walk *walk,
						       const struct config *config,
						       struct counters *counters,
						       struct matches matches)
{
	struct decision decision = {.verdict = VERDICT_PASS, .reason = REASON_NO_POLICY};
	const struct policy *policy;

	if (!matches.enforced)
		return decision;
	if (matches.enforced & (matches.enforced - 1)) {
		decision = peek_all(walk, config, counters, matches.enforced);
		return decision.verdict == VERDICT_PASS ?
			       charge_all(walk, config, counters, matches.enforced) :
			       decision;
	}
	policy = &config->policies[matches.last & (MAX_POLICIES - 1)];
	decision.reason = charge(walk, policy, counters, &counters->receipts[0], refusal(config));
	return decision.reason == REASON_UNDER_LIMIT ? decision :
						       refused_by(config, policy, decision.reason);
}

/* The first policy in dry run that would have dropped the packet gives its reason. */
static __always_inline struct decision decide_dry(struct walk *walk, const struct config *config,
						  struct counters *counters, __u32 matching)
{
	struct decision decision = {.verdict = VERDICT_PASS, .reason = REASON_UNDER_LIMIT};
	enum reason reason;

	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (!(matching & 1 << i))
			continue;
		reason = charge_one(walk, &config->policies[i], counters, &counters->receipts[0],
				    VERDICT_WOULD_DROP);
		if (reason == REASON_UNDER_LIMIT || decision.verdict != VERDICT_PASS)
			continue;
		decision.verdict = VERDICT_WOULD_DROP;
		decision.reason = reason;
		decision.policy_id = config->policies[i].id;
	}
	return decision;
}

static __always_inline struct decision decide(struct walk *walk, const struct config *config,
					      struct counters *counters)
{
	struct decision decision = {.verdict = VERDICT_PASS, .reason = REASON_ALLOWED};
	struct matches matches = {};

	if (walk->action == ACTION_ALLOW)
		return decision;
	if (walk->action == ACTION_BLOCK) {
		decision.verdict = refusal(config);
		decision.reason = REASON_BLOCKED;
		return decision;
	}
	if (config->only_default)
		matches.enforced = 1;
	else
		match(config, &walk->packet, &matches);
	decision = decide_enforced(walk, config, counters, matches);
	if (decision.verdict == VERDICT_PASS && matches.dry)
		decision = decide_dry(walk, config, counters, matches.dry);
	if (walk->untracked && decision.reason == REASON_UNDER_LIMIT)
		decision.reason = REASON_UNTRACKED;
	return decision;
}

#endif
