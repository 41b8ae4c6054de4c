/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file declares what is known of one packet on its way through the program. It holds values
 * and no pointers: the steps are global functions, which the verifier checks once each and not
 * once for every way that leads to them, and it forgets pointers at their border.
 */
#ifndef HEADGATE_WALK_H
#define HEADGATE_WALK_H

#include "abi.h"

struct packet {
	__be32 addr[4]; /* as in struct bucket_key, whole */
	__u32 length; /* of the IP packet */
	__be16 sport;
	__be16 dport;
	__u8 family;
	__u8 proto;
	bool has_ports;
	bool is_syn; /* opens a TCP connection */
};

/* Whether the source is verified; looked up when that is first asked. */
enum proof {
	PROOF_UNKNOWN,
	PROOF_FOUND,
	PROOF_MISSING,
};

struct walk {
	__u64 now; /* 0 before it was asked for: use now_of */
	struct packet packet;
	__u8 action; /* that the rules say; the limit of ACTION_LIMIT is in counters.ruling */
	__u8 refused; /* the verdict where a policy speaks against the packet */
	__u8 proof; /* enum proof */
	bool untracked; /* a bucket that was needed could not be made */
};

#endif
