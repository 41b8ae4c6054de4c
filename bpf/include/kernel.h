/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file declares the few kernel types and constants that the program needs. They are ABI
 * and never change. Taking them from here and not from the build machine's linux/bpf.h makes
 * the objects (with their BTF) the same on every machine.
 */
#ifndef HEADGATE_KERNEL_H
#define HEADGATE_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;

typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;

typedef _Bool bool;
#define true  1
#define false 0
#define NULL  ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};

#define BPF_NOEXIST       1
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE    (1 << 10)

enum xdp_action {
	XDP_ABORTED = 0,
	XDP_DROP = 1,
	XDP_PASS = 2,
};

struct xdp_md {
	__u32 data;
	__u32 data_end;
	__u32 data_meta;
	__u32 ingress_ifindex;
	__u32 rx_queue_index;
	__u32 egress_ifindex;
};

#define ETH_P_IP     0x0800
#define ETH_P_8021Q  0x8100
#define ETH_P_IPV6   0x86DD
#define ETH_P_8021AD 0x88A8

struct ethhdr {
	__u8 h_dest[6];
	__u8 h_source[6];
	__be16 h_proto;
};

struct vlan_hdr {
	__be16 h_vlan_TCI;
	__be16 h_vlan_encapsulated_proto;
};

/* The first byte holds version and header length; no bit fields, so that no byte order matters. */
struct iphdr {
	__u8 version_ihl;
	__u8 tos;
	__be16 tot_len;
	__be16 id;
	__be16 frag_off;
	__u8 ttl;
	__u8 protocol;
	__u16 check;
	__be32 saddr;
	__be32 daddr;
};

struct ipv6hdr {
	__be32 version_class_flow;
	__be16 payload_len;
	__u8 nexthdr;
	__u8 hop_limit;
	__be32 saddr[4];
	__be32 daddr[4];
};

struct ipv6_ext_hdr {
	__u8 nexthdr;
	__u8 hdrlen; /* in units of 8 bytes after the first 8; of 4 bytes, less 2, for AH */
	__be16 frag_off; /* of a fragment header: offset in the high 13 bits, "more" in the lowest */
	__be32 rest;
};

#define IPPROTO_HOPOPTS  0
#define IPPROTO_TCP      6
#define IPPROTO_UDP      17
#define IPPROTO_DCCP     33
#define IPPROTO_ROUTING  43
#define IPPROTO_FRAGMENT 44
#define IPPROTO_AH       51
#define IPPROTO_ICMPV6   58
#define IPPROTO_DSTOPTS  60
#define IPPROTO_SCTP     132
#define IPPROTO_MH       135
#define IPPROTO_UDPLITE  136
#define IPPROTO_HIP      139
#define IPPROTO_SHIM6    140

#endif
