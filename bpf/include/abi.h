/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * This file declares all that the program and userspace both see: the values of the maps and
 * the enumerations in them. bpf2go turns it into Go types, so each is written down once.
 *
 * Times are ns of the boot clock. Integers are in host byte order unless the type says __be.
 */
#ifndef HEADGATE_ABI_H
#define HEADGATE_ABI_H

#include "kernel.h"

#define MAX_POLICIES         8
#define LOSS_SLOTS           65536 /* a power of two */
#define MAX_TRIAL_INTERFACES 16
#define NAME_LEN             32
#define SALT_LEN             8
#define FOREVER              (~0ULL)

/* So much may pass between a CPU's reading of the clock and its use of a bucket (see gcra.h). */
#define CLOCK_SLACK_NS (1ULL << 34)

/* Times in heat cells are in ticks of 2^-17 ns: every limit's own fit in, and leave a bit free. */
#define HEAT_SHIFT 17
#define HEAT_CELLS 4

enum verdict {
	VERDICT_PASS,
	VERDICT_DROP,
	VERDICT_WOULD_DROP, /* passes, as dry run says so */
	VERDICT_LEN,
};

/* Why a packet got its verdict. Every packet is counted under exactly one. */
enum reason {
	REASON_UNDER_LIMIT,
	REASON_OVER_PACKET_LIMIT,
	REASON_OVER_BYTE_LIMIT,
	REASON_ALLOWED,
	REASON_BLOCKED,
	REASON_NOT_IP,
	REASON_NEIGHBOUR_DISCOVERY,
	REASON_MALFORMED,
	REASON_UNTRACKED, /* no exact bucket could be made; the policy's overflow chose the verdict */
	REASON_CONTENDED, /* the compare-and-swap ran out of tries */
	REASON_NO_POLICY,
	REASON_LEN,
};

enum dimension {
	DIMENSION_PACKETS,
	DIMENSION_BYTES,
	DIMENSION_LEN,
};

enum family {
	FAMILY_IPV4 = 4,
	FAMILY_IPV6 = 6,
	FAMILY_LINK_LOCAL = 7, /* in bucket keys: IPv6, keyed whole */
};

/*
 * A limit in one dimension, in ticks of 2^-shift ns: one packet or byte costs `cost`, and the
 * debt may reach `burst`, at most 2^62. The cost of a byte is less than 2^31, so that of the
 * largest packet does not overflow. Userspace chooses the shift so that cost is precise enough.
 * A cost of 0 means no limit.
 */
struct gcra {
	__u64 cost;
	__u64 burst;
};

/*
 * Fingerprint is what a bucket remembers of the limit that it was last charged under: the shift
 * of each dimension in SHIFT_BITS, lowest first, and in the rest a hash of all the numbers, so
 * that it differs where any of them does. A bucket that was never charged may have 0.
 */
#define SHIFT_BITS 6
#define CONVERTING (~0ULL) /* of a bucket: a CPU converts it to another limit just now */

struct limit {
	struct gcra gcra[DIMENSION_LEN];
	__u64 fingerprint; /* neither 0 nor CONVERTING */
	__u64 heat_burst; /* the smaller burst in ticks of heat cells, 0 for none; FOREVER: no cells */
};

/* How a human wrote a limit; the program does not read it. */
struct rate {
	__u64 count; /* packets or bytes, 0 for no limit */
	__u64 per; /* ns */
};

/* What becomes of the packets of a source that is no longer cold, and has no exact bucket. */
enum overflow {
	OVERFLOW_ESTIMATE, /* its heat cell says */
	OVERFLOW_PASS,
	OVERFLOW_DROP,
};

#define POLICY_SHARED (1 << 0) /* one bucket for all that match, not one per source */
#define POLICY_PROTO  (1 << 1) /* match the fields of this name */
#define POLICY_PORTS  (1 << 2)
#define POLICY_SYN    (1 << 3)
#define POLICY_CONFIG (1 << 4) /* for userspace: it comes from a configuration file */

#define POLICY_UNVERIFIED (1 << 5) /* match only sources that are not verified */

struct policy {
	struct limit limit;
	__u16 id; /* never reused, never 0: rules and bucket keys refer to it */
	__u16 port_first; /* destination ports, both ends included */
	__u16 port_last;
	__u8 slot; /* of its counters and its shared buckets, and of its policy_info */
	__u8 flags;
	__u8 proto;
	__u8 overflow; /* enum overflow */
	__u8 _pad[6];
};

struct counter {
	__u64 packets;
	__u64 bytes;
};

/* The cold half of a policy. Baseline is what the slot's counters were when the policy took it. */
struct policy_info {
	__u8 name[NAME_LEN]; /* ended by 0 where it is shorter */
	struct rate rate[DIMENSION_LEN];
	struct counter baseline[VERDICT_LEN];
};

#define CONFIG_DRY_RUN (1 << 0)

/* What is decided by; replaced as a whole, so a packet sees all of a change or nothing. */
struct config {
	/*
	 * FOREVER but for `attach --try`. Afterwards the fallback is in force, or nothing where there
	 * is none, or on the interfaces that only the trial is attached to (0 for none).
	 */
	__u64 valid_until;
	__u32 trial_interfaces[MAX_TRIAL_INTERFACES];
	__u64 event_interval; /* least ns between two events of one CPU */
	__be32 mask4;
	__be32 mask6[4];
	__u32 flags;
	__u16 next_policy_id;
	__u8 prefix4;
	__u8 prefix6;
	__u32 enforced; /* the first so many of policies drop, */
	__u32 policy_count; /* those from there up to this only count */
	__u32 only_default; /* 1 where there is one policy, enforced, and every packet matches it */
	struct policy policies[MAX_POLICIES];
	struct policy_info infos[MAX_POLICIES]; /* indexed by slot */
};

#define CONFIG_CURRENT  0
#define CONFIG_FALLBACK 1
#define CONFIG_LEN      2

/* Keys of the rules: an address prefix, of which the bits beyond len are 0. */
struct prefix4 {
	__u32 len;
	__be32 addr;
};

struct prefix6 {
	__u32 len;
	__be32 addr[4];
};

enum action {
	ACTION_NONE,
	ACTION_LIMIT,
	ACTION_BLOCK,
	ACTION_ALLOW,
	ACTION_LEN,
};

/* Origins below this are people, by commands and files; the others found something out. */
#define ORIGIN_PEOPLE 2

/* What is said of one prefix. Each action holds until its time: 0 for not at all. */
struct rule {
	__u64 until[ACTION_LEN]; /* indexed by enum action */
	struct limit limit; /* takes the place of the limit of policy_id */
	struct rate rate[DIMENSION_LEN];
	__u16 policy_id;
	__u8 origin[ACTION_LEN];
	__u8 _pad[2];
};

/*
 * What the program finds rules by, which only userspace writes; filter.h says how. A ladder is of
 * one family. Its steps are the lengths of which there may be rules, from the longest down, and
 * after the last one 0. There are two generations of the steps and of the filter, so that one is in
 * use while the other is made anew.
 *
 * A step is one word: the mask of IPv4 addresses, the length, that of the prefix that chooses the
 * line of the filter, and STEP_SET.
 */
#define GENERATIONS 2 /* a power of two */
#define MAX_STEPS   129 /* IPv6 prefixes have 0 to 128 bits, */
#define MAX_STEPS4  33 /* and those of IPv4 0 to 32 */

#define LADDER4 0 /* indices of rule_ladders */
#define LADDER6 1

#define STEP_LENGTH_SHIFT 32
#define STEP_LINE_SHIFT   40
#define STEP_SET          (1ULL << 48)

struct rule_ladder {
	__u32 generation;
	__u32 filter_bits; /* of the number of a line in one generation of the filter */
	__u32 block_bits; /* of the number of a line in one half of the blocks, IPv4 only */
	__u32 _pad;
	__u64 steps[GENERATIONS][MAX_STEPS + 1];
	__be32 masks[256]
		    [4]; /* by length: any byte is an index, which spares the program a check */
};

/* A line of the filter, or of blocks: the CPU reads no less from memory. */
struct rule_line {
	__u64 words[8];
};

/*
 * Regions are the IPv4 networks of REGION_BITS, each a bit: whether there may be a rule of a network
 * in it, or of one that it is in.
 */
#define REGION_BITS      22
#define REGION_LINE_BITS 13 /* the bits of a region's number above those of its bit in a line */

/*
 * Blocks are IPv4 prefixes that are blocked for good, and nothing else is said of them: single
 * addresses in the first half of the lines, networks in the second. A line has 31 slots of 16 bits,
 * and a last one that says whether there may be other rules of prefixes that belong here.
 */
#define BLOCK_FREE     0
#define BLOCK_OTHERS   0xffff
#define MIN_BLOCK_BITS 16 /* a slot has room for the other bits of an address */

/*
 * One for all CPUs, which only userspace writes. The counts say how many prefixes of a family
 * there may be rules of, never too few: 0 spares the look-up.
 */
struct global {
	__u64 rules4;
	__u64 rules6;
	__u64 stale4; /* prefixes that were removed and are in the filter still */
	__u64 stale6;
	__u8 build[32]; /* SHA-256 of the object that is loaded */
	__u64 salt[SALT_LEN]; /* secret, drawn at load; seeds every hash of addresses */
};

/*
 * A (policy, source). addr is an IPv4 address in the first word, an IPv6 one cut to its prefix, or
 * the interface identifier of a link-local one in the first two words. Where the prefixes are of
 * 64 bits at most, the map is made with keys of BUCKET_KEY_SHORT bytes, which cost less to hash.
 */
struct bucket_key {
	__u32 policy; /* its id, and above POLICY_ID_BITS the family: one word, written at once */
	__be32 addr[4];
};

#define POLICY_ID_BITS   16
#define BUCKET_KEY_SHORT 12

/*
 * The state of one (policy, source). What has passed is the sum of pass and recent.
 */
struct bucket {
	__u64 tat[DIMENSION_LEN]; /* theoretical arrival time, in ticks of the limit */
	struct counter pass;
	__u64 recent; /* packets in the low RECENT_BITS, bytes above */
	__u64 loss; /* number of the entry in `losses`, counted from 1; 0 before the first loss */
	__u64 fingerprint; /* of the limit that tat is in ticks of, or CONVERTING */
};

/*
 * Recent spares each passing packet one atomic addition. The CPU whose packet is number RECENT_FULL
 * moves it all to pass. Until it has, recent has at least that many packets; it has room for 2^24,
 * and for 2^40 bytes, in case that CPU is stopped in between.
 */
#define RECENT_BITS 24
#define RECENT_FULL (1ULL << 16)

/*
 * What one source lost on one CPU. A source gets the next number at its first loss, and entry
 * number % LOSS_SLOTS is its own until LOSS_SLOTS further sources have lost something.
 */
struct loss {
	__u64 number;
	struct counter drop;
	struct counter would_drop;
};

/*
 * A source's cell of the heat tier. Time is until when the source owes something or, with the lowest
 * bit set, until when its exact bucket may. The tag tells sources apart, the mark says when that was.
 */
struct heat_cell {
	__u64 tat;
	__u32 tag;
	__u32 mark;
};

struct heat_line {
	struct heat_cell cell[HEAT_CELLS];
};

/* Where a packet is charged at a policy. */
enum place {
	PLACE_NOWHERE, /* untracked, and no cell for an estimate */
	PLACE_SOURCE,
	PLACE_SHARED, /* the policy's one bucket */
	PLACE_COLD, /* the source's heat cell */
	PLACE_ESTIMATE, /* the same, where there should be a bucket */
};

/* What a charge did: where, and the TATs that it left. */
struct receipt {
	__u64 tat[DIMENSION_LEN];
	__u64 place;
};

/*
 * Inserts of buckets cost, and push others out. Each CPU has a credit for sources that do not need
 * one yet, so that in peace all have one and are listed, and another one for those that do.
 */
enum credit {
	CREDIT_COLD,
	CREDIT_HOT,
	CREDIT_LEN,
};

/* A limit that a rule sets, the policy that it is for, and who made the rule. */
struct ruling {
	struct limit limit;
	__u32 policy_id;
	__u32 origin;
};

/*
 * Sources that proved to be who they say, as by a TCP handshake, are verified for a while. A table
 * of VERIFIED_LINES lines has them, each of which is one cache line and one access to memory. The
 * top bits of the hash of a source (see hash.h) are the number of its line. An entry there has
 * the low 32 bits of the hash below, and above the tick of 2^VERIFIED_TICK_SHIFT ns of the boot
 * clock from which on it does not count: 0 for an entry that never did. Ticks do not come again
 * in 146 years.
 *
 * Only userspace writes, whole entries, and each of them alone says all about a source.
 */
#define VERIFIED_LINE_BITS  16
#define VERIFIED_LINES      (1 << VERIFIED_LINE_BITS)
#define VERIFIED_PER_LINE   8
#define VERIFIED_TICK_SHIFT 30

struct verified_line {
	__u64 entry[VERIFIED_PER_LINE];
};

/* What a packet weighs under a limit, in the time that it takes to drain. */
struct weight {
	__u64 charge;
	__u64 burst; /* the smaller one */
	__u64 cold; /* what a source may owe without a bucket */
	bool fits; /* an idle source could send it */
};

/* A source's cell at the moment of a packet, but for the pointer to it. */
struct heat {
	struct weight weight;
	__u64 now;
	__u64 slack; /* now may be late by so much */
	__u64 tat; /* of the cell */
	__u64 debt; /* that it shows */
	__u32 tag;
	__u32 mark; /* of the cell */
	__u32 second; /* that a mark of now would say */
	bool own; /* the cell is the source's; otherwise of the one whose place it would take */
};

/* Of one CPU. */
struct counters {
	struct counter total[VERDICT_LEN][REASON_LEN];
	struct counter policies[MAX_POLICIES][VERDICT_LEN];
	__u64 next_event; /* no event before */
	__u64 next_event_tick; /* the kernel's tick of about then */
	__u64 suppressed; /* drops without an event since the last one */
	__u64 next_insert; /* no try to insert a bucket before */
	__u64 credit
		[CREDIT_LEN]; /* theoretical arrival times of inserts, ns by the kernel's tick */
	__u64 cold; /* packets that passed by their heat cell alone, per policy that they passed */
	__u64 inserts; /* of buckets */
	__u64 deferred; /* inserts that had no credit, or failed */
	/* Of the packet in hand, and here as the stack is small and zeroing it costs. */
	struct receipt receipts[MAX_POLICIES];
	struct ruling ruling;
	struct bucket_key source; /* that is charged; each policy sets its own id */
	struct heat heat;
	struct bucket fresh;
};

/* A sample of the packets that were dropped, or would have been. */
struct event {
	__u64 time;
	__u64 suppressed; /* by this CPU since its last event */
	__be32 addr[4]; /* the whole source address, as in bucket_key */
	__u32 length;
	__u32 ifindex;
	__u16 policy_id; /* 0 where no policy decided */
	__be16 sport, dport;
	__u8 family;
	__u8 proto;
	__u8 verdict;
	__u8 reason;
	__u8 _pad[6];
};

_Static_assert(sizeof(struct bucket_key) == 20, "no padding that nobody sets");
_Static_assert(sizeof(struct heat_line) == 64, "one cache line");
_Static_assert(sizeof(struct event) == 56, "no padding that nobody sets");
_Static_assert((LOSS_SLOTS & (LOSS_SLOTS - 1)) == 0, "taken as a mask");

#endif
