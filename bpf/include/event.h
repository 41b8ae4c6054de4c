/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file samples drops for people to look at. Each CPU sends at most one event per interval
 * and says how many drops it kept quiet about, so that events never become the load.
 */
#ifndef HEADGATE_EVENT_H
#define HEADGATE_EVENT_H

#include "decide.h"
#include "maps.h"
#include "walk.h"

/* A drop by a rule did not need the clock yet: the kernel's tick tells of nearly all that are too early. */
static __always_inline bool is_too_early(struct walk *walk, const struct counters *counters)
{
	return tick_read() + TICK_SLACK < counters->next_event_tick ||
	       now_of(walk) < counters->next_event;
}

static __always_inline void emit_event(struct walk *walk, const struct config *config,
				       struct counters *counters, struct decision decision,
				       __u32 ifindex)
{
	const struct packet *packet = &walk->packet;
	struct event *event;

	if (is_too_early(walk, counters)) {
		counters->suppressed++;
		return;
	}
	/* Also where nobody reads and the ring is full: trying each time would take its lock. */
	counters->next_event = walk->now + config->event_interval;
	counters->next_event_tick = tick_read() + config->event_interval / tick_ns;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		counters->suppressed++;
		return;
	}
	*event = (struct event){
		.time = walk->now,
		.suppressed = counters->suppressed,
		.addr = {packet->addr[0], packet->addr[1], packet->addr[2], packet->addr[3]},
		.length = packet->length,
		.ifindex = ifindex,
		.policy_id = decision.policy_id,
		.sport = packet->sport,
		.dport = packet->dport,
		.family = packet->family,
		.proto = packet->proto,
		.verdict = decision.verdict,
		.reason = decision.reason,
	};
	bpf_ringbuf_submit(event, 0);
	counters->suppressed = 0;
}

#endif
