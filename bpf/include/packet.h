/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file parses a frame. The source address is at a fixed place, so a packet is accounted to
 * its source wherever the parser gives up; what follows only decides which policies can match.
 */
#ifndef HEADGATE_PACKET_H
#define HEADGATE_PACKET_H

#include "walk.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MAX_VLAN_TAGS   2
#define MAX_EXT_HEADERS 8
#define NO_TYPE         0x10000 /* beyond all EtherTypes */

#define IPV4_FRAGMENT_OFFSET 0x1fff
#define IPV6_FRAGMENT_OFFSET 0xfff8

#define ND_FIRST 133 /* router solicitation, */
#define ND_LAST  137 /* redirect: RFC 4861 */

#define TCP_FLAGS_AT 13
#define TCP_SYN      0x02
#define TCP_ACK      0x10

/*
 * What is left to parse: end is where the directly readable bytes stop, left is how many bytes
 * the frame has from pos on, in all of its buffers and without Ethernet's padding.
 */
struct cursor {
	const void *pos;
	const void *end;
	__u32 left;
};

/* The next n bytes, or NULL where there are not so many: nothing is consumed then. */
static __always_inline const void *pull(struct cursor *c, __u32 n)
{
	const void *p = c->pos;

	if (n > c->left || p + n > c->end)
		return NULL;
	c->pos += n;
	c->left -= n;
	return p;
}

/* The EtherType behind the VLAN tags, in host order. NO_TYPE: too short, or more tags than that. */
static __always_inline __u32 parse_ethernet(struct cursor *c)
{
	const struct ethhdr *eth = pull(c, sizeof(*eth));
	const struct vlan_hdr *tag;
	__u32 type;

	if (!eth)
		return NO_TYPE;
	type = bpf_ntohs(eth->h_proto);
	for (int i = 0; i < MAX_VLAN_TAGS; i++) {
		if (type != ETH_P_8021Q && type != ETH_P_8021AD)
			return type;
		tag = pull(c, sizeof(*tag));
		if (!tag)
			return NO_TYPE;
		type = bpf_ntohs(tag->h_vlan_encapsulated_proto);
	}
	/* The kernel strips priority tags without end, so passing these on would open a way around. */
	return type == ETH_P_8021Q || type == ETH_P_8021AD ? NO_TYPE : type;
}

static __always_inline bool proto_has_ports(__u8 proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP ||
	       proto == IPPROTO_DCCP || proto == IPPROTO_UDPLITE;
}

/*
 * Of a packet that is no fragment or the first one. A header cut short has no ports. TCP cut before
 * its flags may open a connection: the rest can come in a fragment that nobody looks into.
 */
static __always_inline void parse_ports(struct cursor *c, struct packet *packet)
{
	const __u8 *flags;
	const __be16 *ports;

	if (!proto_has_ports(packet->proto))
		return;
	packet->is_syn = packet->proto == IPPROTO_TCP;
	ports = pull(c, 2 * sizeof(*ports));
	if (!ports)
		return;
	packet->sport = ports[0];
	packet->dport = ports[1];
	packet->has_ports = true;
	if (packet->proto != IPPROTO_TCP)
		return;
	flags = pull(c, TCP_FLAGS_AT + 1 - 2 * sizeof(*ports));
	if (!flags)
		return;
	flags += TCP_FLAGS_AT - 2 * sizeof(*ports);
	packet->is_syn = (*flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

/* Returns the reason to be done with the packet, or REASON_LEN to go on. */
static __always_inline enum reason parse_ipv4(struct cursor *c, struct packet *packet)
{
	const struct iphdr *ip;
	__u32 frame = c->left, header, length;

	ip = pull(c, sizeof(*ip));
	if (!ip)
		return REASON_MALFORMED;
	header = (ip->version_ihl & 0xf) * 4;
	length = bpf_ntohs(ip->tot_len);
	/* A packet put together by the receiver can be longer than its header can say. */
	if (!length && frame > 0xffff)
		length = frame;
	if (ip->version_ihl >> 4 != 4 || header < sizeof(*ip) || length < header || length > frame)
		return REASON_MALFORMED;

	packet->length = length;
	packet->family = FAMILY_IPV4;
	packet->addr[0] = ip->saddr;
	packet->proto = ip->protocol;
	if (ip->frag_off & bpf_htons(IPV4_FRAGMENT_OFFSET))
		return REASON_LEN;
	c->pos += header - sizeof(*ip);
	c->left = length - header;
	parse_ports(c, packet);
	return REASON_LEN;
}

static __always_inline bool is_ext_header(__u8 proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_FRAGMENT ||
	       proto == IPPROTO_AH || proto == IPPROTO_DSTOPTS || proto == IPPROTO_MH ||
	       proto == IPPROTO_HIP || proto == IPPROTO_SHIM6;
}

static __always_inline __u32 ext_header_len(const struct ipv6_ext_hdr *ext, __u8 proto)
{
	switch (proto) {
	case IPPROTO_FRAGMENT:
		return sizeof(*ext);
	case IPPROTO_AH:
		return (ext->hdrlen + 2) * 4;
	default:
		return (ext->hdrlen + 1) * 8;
	}
}

/* Walks to the upper layer. Returns false where its header is not in this packet, or not found. */
static __always_inline bool skip_ext_headers(struct cursor *c, struct packet *packet)
{
	const struct ipv6_ext_hdr *ext;
	bool first_fragment = true;
	__u32 len;

	for (int i = 0; i < MAX_EXT_HEADERS; i++) {
		if (!is_ext_header(packet->proto))
			return true;
		ext = pull(c, sizeof(*ext));
		if (!ext)
			return false;
		if (packet->proto == IPPROTO_FRAGMENT)
			first_fragment = !(ext->frag_off & bpf_htons(IPV6_FRAGMENT_OFFSET));
		len = ext_header_len(ext, packet->proto) - sizeof(*ext);
		packet->proto = ext->nexthdr;
		if (!first_fragment || len > c->left)
			return false;
		c->pos += len;
		c->left -= len;
	}
	return !is_ext_header(packet->proto);
}

static __always_inline bool is_neighbour_discovery(struct cursor *c, const struct packet *packet,
						   __u8 hop_limit)
{
	const __u8 *type;

	if (packet->proto != IPPROTO_ICMPV6 || hop_limit != 255)
		return false;
	type = pull(c, 1);
	return type && *type >= ND_FIRST && *type <= ND_LAST;
}

/* ::ffff:a.b.c.d and a.b.c.d are one source. */
static __always_inline void set_source6(struct packet *packet, const __be32 *addr)
{
	if (!addr[0] && !addr[1] && addr[2] == bpf_htonl(0xffff)) {
		packet->family = FAMILY_IPV4;
		packet->addr[0] = addr[3];
		return;
	}
	packet->family = FAMILY_IPV6;
	packet->addr[0] = addr[0];
	packet->addr[1] = addr[1];
	packet->addr[2] = addr[2];
	packet->addr[3] = addr[3];
}

/* Returns the reason to be done with the packet, or REASON_LEN to go on. */
static __always_inline enum reason parse_ipv6(struct cursor *c, struct packet *packet)
{
	const struct ipv6hdr *ip;
	__u32 frame = c->left, length;
	__u16 payload;

	ip = pull(c, sizeof(*ip));
	if (!ip)
		return REASON_MALFORMED;
	payload = bpf_ntohs(ip->payload_len);
	length = sizeof(*ip) + payload;
	/* A jumbogram has its length in an option; a packet put together by the receiver need not. */
	if (!payload && (ip->nexthdr == IPPROTO_HOPOPTS || frame > sizeof(*ip) + 0xffff))
		length = frame;
	if (bpf_ntohl(ip->version_class_flow) >> 28 != 6 || length > frame)
		return REASON_MALFORMED;

	packet->length = length;
	set_source6(packet, ip->saddr);
	packet->proto = ip->nexthdr;
	c->left = length - sizeof(*ip);
	if (!skip_ext_headers(c, packet))
		return REASON_LEN;
	if (is_neighbour_discovery(c, packet, ip->hop_limit))
		return REASON_NEIGHBOUR_DISCOVERY;
	parse_ports(c, packet);
	return REASON_LEN;
}

/*
 * Fills packet. frame is the length of the whole frame, of which data to data_end can be read.
 * The length of a malformed packet is what the frame has of it, whatever its header says.
 * Returns the reason to be done with the packet, or REASON_LEN to go on.
 */
__noinline int parse(struct xdp_md *ctx, __u32 frame, struct packet *packet)
{
	struct cursor c = {
		.pos = (void *)(long)ctx->data,
		.end = (void *)(long)ctx->data_end,
		.left = frame,
	};
	__u32 type = parse_ethernet(&c);

	if (!packet)
		return REASON_MALFORMED;
	packet->length = c.left;
	switch (type) {
	case ETH_P_IP:
		return parse_ipv4(&c, packet);
	case ETH_P_IPV6:
		return parse_ipv6(&c, packet);
	case NO_TYPE:
		return REASON_MALFORMED;
	default:
		return REASON_NOT_IP;
	}
}

#endif
