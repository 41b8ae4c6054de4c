/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file is the only one that reads time, so that a test can hold the clock and move it by
 * hand. In production the verifier removes the branch.
 */
#ifndef HEADGATE_CLOCK_H
#define HEADGATE_CLOCK_H

#include "walk.h"
#include <bpf/bpf_helpers.h>

volatile const bool clock_frozen = false;
volatile __u64 clock_now = 0;

/* The tick may be late: of so many ticks one cannot say whether they are over. */
#define TICK_SLACK 2

/* The kernel's tick in ns, and the number of the one at the boot. */
volatile const __u64 tick_ns = 4000000;
volatile const __u64 tick_first = 0;

/* ns since boot, sleep included: a rule's end is a promise in time as people know it. */
static __always_inline __u64 clock_read(void)
{
	return clock_frozen ? clock_now : bpf_ktime_get_boot_ns();
}

/* The clock is read where it is needed first, as many packets do without it. */
static __always_inline __u64 now_of(struct walk *walk)
{
	if (!walk->now)
		walk->now = clock_read();
	return walk->now;
}

/* Ticks of the kernel since the boot. Reading them costs next to nothing. */
static __always_inline __u64 tick_read(void)
{
	return clock_frozen ? clock_now / tick_ns : bpf_jiffies64() - tick_first;
}

#endif
