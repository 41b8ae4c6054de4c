/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file declares the maps. All are pinned, and outlive the program in an upgrade. The sizes
 * of rules, buckets and heat cells are set by userspace before it loads.
 */
#ifndef HEADGATE_MAPS_H
#define HEADGATE_MAPS_H

#include "abi.h"
#include <bpf/bpf_helpers.h>

struct config_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct config);
};

/*
 * A configuration is a map of its own, so that replacing it is one pointer store, and the system
 * call that does it returns only when no CPU works with the old one any more.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, CONFIG_LEN);
	__type(key, __u32);
	__array(values, struct config_map);
} configs SEC(".maps");

/* Two maps and not one, so that ::/0 and 0.0.0.0/0 are different rules. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix4);
	__type(value, struct rule);
} rules4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix6);
	__type(value, struct rule);
} rules6 SEC(".maps");

/* What stands before the rules, see filter.h. Userspace writes it in its memory, word by word. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct rule_ladder);
} rule_ladders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GENERATIONS << 14);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct rule_line);
} rule_filter4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GENERATIONS << 14);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct rule_line);
} rule_filter6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GENERATIONS << REGION_LINE_BITS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct rule_line);
} rule_regions4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 << 16);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct rule_line);
} rule_blocks4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 20);
	__type(key, struct bucket_key);
	__type(value, struct bucket);
} buckets SEC(".maps");

/* By slot, of the policies with one bucket for all. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_POLICIES);
	__type(key, __u32);
	__type(value, struct bucket);
} shared_buckets SEC(".maps");

/* A power of two of them, at least 1 << MAX_POLICIES. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 14);
	__type(key, __u32);
	__type(value, struct heat_line);
} heat_lines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_SLOTS);
	__type(key, __u32);
	__type(value, struct loss);
} losses SEC(".maps");

/* The last number that was given to a source's losses. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} loss_numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} cpu_counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct global);
} globals SEC(".maps");

/* Mapped into the memory of userspace, which can exchange an entry there in one step. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VERIFIED_LINES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct verified_line);
} verified SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

#endif
