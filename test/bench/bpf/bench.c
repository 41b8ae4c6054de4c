//go:build ignore

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file holds the programs that the limiter is measured against, and those that give each
 * packet another source without leaving the kernel.
 */
#include "include/clock.h"
#include "include/packet.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/*
 * What frames get as their source: one of sources addresses at random, the first and what is some
 * number of steps further, within a mask.
 */
volatile const __u32 first_source = 0;
volatile const __u32 source_step = 1;
volatile const __u32 source_mask = ~0U;
volatile const __u64 sources = 1;

/* Where generate sends frames to. */
volatile const __u32 out_ifindex = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} random_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

/* The part of linux/udp.h that is needed here. */
struct udphdr {
	__be16 source;
	__be16 dest;
	__be16 len;
	__u16 check;
};

/*
 * 32 random bits: the upper half of a linear congruential generator with the constants of
 * D. Knuth's MMIX. It needs no seed, unlike a xorshift, which never leaves 0.
 */
static __always_inline __u32 random32(__u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 32;
}

static __always_inline bool random_source(__be32 *source)
{
	__u32 zero = 0;
	__u64 *state = bpf_map_lookup_elem(&random_states, &zero);
	__u32 n;

	if (!state)
		return false;
	n = random32(state) * sources >> 32;
	*source = bpf_htonl(first_source + (n * source_step & source_mask));
	return true;
}

/* The checksum of what had before in it and now has after (RFC 1624, equation 3), in any byte order. */
static __always_inline __u16 adjusted(__u16 checksum, __be32 before, __be32 after)
{
	__u32 sum = (__u16)~checksum;

	before = ~before;
	sum += (before & 0xffff) + (before >> 16) + (after & 0xffff) + (after >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~((sum & 0xffff) + (sum >> 16));
}

/* A network stack looks at a header's checksum before it looks at its own rules. */
static __always_inline void set_source(struct iphdr *ip, struct udphdr *udp, __be32 source)
{
	__u16 checksum = adjusted(udp->check, ip->saddr, source);

	udp->check = checksum ? checksum : 0xffff; /* 0 stands for none */
	ip->check = adjusted(ip->check, ip->saddr, source);
	ip->saddr = source;
}

/* The least that a program can do about a packet. */
SEC("xdp")
int noop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

/* The least that an XDP program can do to leave a packet alone. */
SEC("xdp")
int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

/* The least that any limiter by source has to do: find the source, and read the time. */
SEC("xdp")
int clock(struct xdp_md *ctx)
{
	struct packet packet = {};
	int reason = parse(ctx, ctx->data_end - ctx->data, &packet);

	/* Always a drop; the compiler cannot know, and so has to keep both. */
	return reason == REASON_LEN && clock_read() + packet.addr[0] > 1 ? XDP_DROP : XDP_PASS;
}

/*
 * Gives the packet another source, and hands it to the program in target. Checksums stay as they
 * were: no program that is measured looks at them.
 */
SEC("xdp")
int spread(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct iphdr *ip = data + sizeof(struct ethhdr);

	if ((void *)(ip + 1) <= (void *)(long)ctx->data_end && random_source(&ip->saddr))
		bpf_tail_call(ctx, &target, 0);
	return XDP_ABORTED;
}

/*
 * Gives the packet, UDP in IPv4 without options, another source, and sends it out of another
 * interface. The frame is used again with the source that it got, so what changes is what is in it.
 */
SEC("xdp")
int generate(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct iphdr *ip = data + sizeof(struct ethhdr);
	struct udphdr *udp = (void *)(ip + 1);
	__be32 source;

	if ((void *)(udp + 1) > (void *)(long)ctx->data_end || !random_source(&source))
		return XDP_ABORTED;
	set_source(ip, udp, source);
	return bpf_redirect(out_ifindex, 0);
}
