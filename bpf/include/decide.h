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

/* The answer of several policies in one number: a reason, and where it is a refusal by which one. */
#define ANSWER_POLICY_SHIFT 8

static __always_inline __u32 answer(enum reason reason, __u32 place)
{
	return reason | place << ANSWER_POLICY_SHIFT;
}

static __always_inline struct decision decision_of(const struct config *config, __u32 answer,
						   enum verdict refused)
{
	struct decision decision = {
		.verdict = VERDICT_PASS,
		.reason = answer & ((1 << ANSWER_POLICY_SHIFT) - 1),
	};

	if (decision.reason == REASON_UNDER_LIMIT)
		return decision;
	decision.verdict = refused;
	decision.policy_id =
		config->policies[answer >> ANSWER_POLICY_SHIFT & (MAX_POLICIES - 1)].id;
	return decision;
}

/* Asks all matching policies before any is charged. */
__noinline int peek_all(struct walk *walk, const struct config *config, struct counters *counters,
			__u32 matching)
{
	enum reason reason;

	if (!walk || !config || !counters)
		return REASON_UNDER_LIMIT;
	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (!(matching & 1 << i))
			continue;
		reason = peek_one(walk, &config->policies[i], counters);
		if (reason != REASON_UNDER_LIMIT)
			return answer(reason, i);
	}
	return REASON_UNDER_LIMIT;
}

/*
 * Charges all matching policies, of which last is the last. Where one refuses after all, those
 * before it have been charged: the answer names it, and settle_all gives back.
 */
__noinline int charge_all(struct walk *walk, const struct config *config, struct counters *counters,
			  __u32 matching, __u32 last)
{
	enum reason reason;

	if (!walk || !config || !counters)
		return REASON_UNDER_LIMIT;
	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (!(matching & 1 << i))
			continue;
		reason = charge_one(walk, &config->policies[i], counters, &counters->receipts[i],
				    i == last);
		if (reason != REASON_UNDER_LIMIT)
			return answer(reason, i);
	}
	return REASON_UNDER_LIMIT;
}

/*
 * Ends what charge_all began at the policies in charged: the packet has passed, or they get it back.
 * That it passed is counted only now that it is certain, so no counter ever goes back. Returns 0.
 */
__noinline int settle_all(struct walk *walk, const struct config *config, struct counters *counters,
			  __u32 charged, bool passed)
{
	if (!walk || !config || !counters)
		return 0;
	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (!(charged & 1 << i))
			continue;
		if (passed)
			passed_one(walk, &config->policies[i], counters, &counters->receipts[i]);
		else
			refund_one(walk, &config->policies[i], counters, &counters->receipts[i]);
	}
	return 0;
}

/* The answer where several enforced policies match. */
static __always_inline __u32 ask_all(struct walk *walk, const struct config *config,
				     struct counters *counters, struct matches matches)
{
	__u32 answer = peek_all(walk, config, counters, matches.enforced);
	__u32 before;

	if (answer != REASON_UNDER_LIMIT)
		return answer;
	answer = charge_all(walk, config, counters, matches.enforced, matches.last);
	if (answer == REASON_UNDER_LIMIT)
		before = (1 << matches.last) - 1;
	else
		before = (1 << (answer >> ANSWER_POLICY_SHIFT & (MAX_POLICIES - 1))) - 1;
	settle_all(walk, config, counters, matches.enforced & before, answer == REASON_UNDER_LIMIT);
	return answer;
}

static __always_inline struct decision decide_enforced(struct walk *walk,
						       const struct config *config,
						       struct counters *counters,
						       struct matches matches)
{
	struct decision decision = {.verdict = VERDICT_PASS, .reason = REASON_NO_POLICY};
	__u32 last = matches.last & (MAX_POLICIES - 1), said;

	if (!matches.enforced)
		return decision;
	if (matches.enforced & (matches.enforced - 1))
		said = ask_all(walk, config, counters, matches);
	else
		said = answer(charge(walk, &config->policies[last], counters,
				     &counters->receipts[0], true),
			      last);
	return decision_of(config, said, walk->refused);
}

/* The answer of the policies in dry run: the first refusal counts. */
__noinline int charge_dry(struct walk *walk, const struct config *config, struct counters *counters,
			  __u32 matching)
{
	__u32 said = REASON_UNDER_LIMIT;
	enum reason reason;

	if (!walk || !config || !counters)
		return said;
	walk->refused = VERDICT_WOULD_DROP;
	for (__u32 i = 0; i < MAX_POLICIES; i++) {
		if (!(matching & 1 << i))
			continue;
		reason = charge_one(walk, &config->policies[i], counters, &counters->receipts[0],
				    true);
		if (reason != REASON_UNDER_LIMIT && said == REASON_UNDER_LIMIT)
			said = answer(reason, i);
	}
	return said;
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
		match(config, walk, counters, &matches);
	walk->refused = refusal(config);
	decision = decide_enforced(walk, config, counters, matches);
	if (decision.verdict == VERDICT_PASS && matches.dry)
		decision = decision_of(config, charge_dry(walk, config, counters, matches.dry),
				       VERDICT_WOULD_DROP);
	if (walk->untracked && decision.reason == REASON_UNDER_LIMIT)
		decision.reason = REASON_UNTRACKED;
	return decision;
}

#endif
