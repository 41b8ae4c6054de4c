// Package bpf holds the XDP program, compiled for both byte orders, and the Go types of all that
// it shares with userspace. The C in include/abi.h owns every one of them and says what its members
// mean; bpf2go generates them.
//
// The package loads nothing. Package loader does, and the packages under maps give the values of
// the maps a meaning.
package bpf

import "github.com/cilium/ebpf"

type (
	// Bucket is the state of one (policy, source).
	Bucket = kernelBucket
	// BucketKey is a (policy, source).
	BucketKey = kernelBucketKey
	// Config is what packets are decided by, but for the rules.
	Config = kernelConfig
	// Counter counts packets and bytes.
	Counter = kernelCounter
	// Counters are those of one CPU.
	Counters = kernelCounters
	// Event is a sample of what was dropped.
	Event = kernelEvent
	// Gcra is a limit in one dimension.
	Gcra = kernelGcra
	// Global is what all CPUs read and only userspace writes.
	Global = kernelGlobal
	// HeatCell is the state of a source in the heat tier.
	HeatCell = kernelHeatCell
	// HeatLine is a cache line of them.
	HeatLine = kernelHeatLine
	// Limit is a limit in both dimensions.
	Limit = kernelLimit
	// Loss is what one source lost on one CPU.
	Loss = kernelLoss
	// OverflowMode says what becomes of packets whose source cannot be tracked.
	OverflowMode = kernelOverflow
	// Policy is what the program reads of a policy.
	Policy = kernelPolicy
	// PolicyInfo is what only userspace reads of it.
	PolicyInfo = kernelPolicyInfo
	// Prefix4 is a key of the IPv4 rules.
	Prefix4 = kernelPrefix4
	// Prefix6 is a key of the IPv6 rules.
	Prefix6 = kernelPrefix6
	// Rate is a rate as a human wrote it.
	Rate = kernelRate
	// Rule is what is said of one prefix.
	Rule = kernelRule
	// RuleLadder is the prefix lengths of one family's rules.
	RuleLadder = kernelRuleLadder
	// RuleLine is a line of the filter before the rules, or of blocks.
	RuleLine = kernelRuleLine
	// VerifiedLine is a line of the table of verified sources.
	VerifiedLine = kernelVerifiedLine
)

// Verdict says what became of a packet.
type Verdict = kernelVerdict

// The verdicts, in the order of the counters.
const (
	VerdictPass      = kernelVerdictVERDICT_PASS
	VerdictDrop      = kernelVerdictVERDICT_DROP
	VerdictWouldDrop = kernelVerdictVERDICT_WOULD_DROP
	VerdictLen       = kernelVerdictVERDICT_LEN
)

// Reason says why a packet got its verdict.
type Reason = kernelReason

// The reasons, in the order of the counters.
const (
	ReasonUnderLimit         = kernelReasonREASON_UNDER_LIMIT
	ReasonOverPacketLimit    = kernelReasonREASON_OVER_PACKET_LIMIT
	ReasonOverByteLimit      = kernelReasonREASON_OVER_BYTE_LIMIT
	ReasonAllowed            = kernelReasonREASON_ALLOWED
	ReasonBlocked            = kernelReasonREASON_BLOCKED
	ReasonNotIP              = kernelReasonREASON_NOT_IP
	ReasonNeighbourDiscovery = kernelReasonREASON_NEIGHBOUR_DISCOVERY
	ReasonMalformed          = kernelReasonREASON_MALFORMED
	ReasonUntracked          = kernelReasonREASON_UNTRACKED
	ReasonContended          = kernelReasonREASON_CONTENDED
	ReasonNoPolicy           = kernelReasonREASON_NO_POLICY
	ReasonLen                = kernelReasonREASON_LEN
)

// Action is what a rule does; the index of its deadline in Rule.Until.
type Action = kernelAction

// The actions, in rising precedence at one prefix.
const (
	ActionLimit = kernelActionACTION_LIMIT
	ActionBlock = kernelActionACTION_BLOCK
	ActionAllow = kernelActionACTION_ALLOW
	ActionLen   = kernelActionACTION_LEN
)

// Overflow modes: what becomes of a packet whose source cannot be tracked.
const (
	OverflowEstimate = kernelOverflowOVERFLOW_ESTIMATE
	OverflowPass     = kernelOverflowOVERFLOW_PASS
	OverflowDrop     = kernelOverflowOVERFLOW_DROP
)

// Indices of the dimensions of a limit.
const (
	DimensionPackets = kernelDimensionDIMENSION_PACKETS
	DimensionBytes   = kernelDimensionDIMENSION_BYTES
	DimensionLen     = kernelDimensionDIMENSION_LEN
)

// Families of a packet, and above PolicyIDBits of a BucketKey's Policy.
const (
	FamilyIPv4      = kernelFamilyFAMILY_IPV4
	FamilyIPv6      = kernelFamilyFAMILY_IPV6
	FamilyLinkLocal = kernelFamilyFAMILY_LINK_LOCAL // of keys only
)

// Constants that C has as macros; a test compares them with the header.
const (
	MaxPolicies = len(Config{}.Policies)
	NameLen     = len(PolicyInfo{}.Name)
	SaltLen     = len(Global{}.Salt)

	MaxTrialInterfaces = len(Config{}.TrialInterfaces)

	LossSlots    = 65536
	Forever      = ^uint64(0)
	ClockSlackNs = 1 << 34
	ShiftBits    = 6
	RecentBits   = 24
	RecentFull   = 1 << 16

	HeatShift = 17
	HeatCells = len(HeatLine{}.Cell)

	PolicyIDBits   = 16
	BucketKeyShort = 12 // bytes

	Generations = 2
	MaxSteps    = 129
	Ladder4     = 0
	Ladder6     = 1
	MaxSteps4   = 33

	StepLengthShift = 32
	StepLineShift   = 40
	StepSet         = 1 << 48
	RegionBits      = 22
	RegionLineBits  = 13
	BlockFree       = 0
	BlockOthers     = 0xffff
	MinBlockBits    = 16

	PolicyShared = 1 << 0
	PolicyProto  = 1 << 1
	PolicyPorts  = 1 << 2
	PolicySyn    = 1 << 3
	PolicyConfig = 1 << 4

	PolicyUnverified = 1 << 5

	OriginPeople = 2

	VerifiedLineBits  = 16
	VerifiedLines     = 1 << VerifiedLineBits
	VerifiedPerLine   = len(VerifiedLine{}.Entry)
	VerifiedTickShift = 30

	ConfigDryRun = 1 << 0

	ConfigCurrent  = 0
	ConfigFallback = 1
)

// Names of the maps in the object and on bpffs.
const (
	MapBuckets       = kernelMapBuckets
	MapConfigs       = kernelMapConfigs
	MapCounters      = kernelMapCpuCounters
	MapEvents        = kernelMapEvents
	MapGlobals       = kernelMapGlobals
	MapHeat          = kernelMapHeatLines
	MapLosses        = kernelMapLosses
	MapLossNumbers   = kernelMapLossNumbers
	MapRuleBlocks4   = kernelMapRuleBlocks4
	MapRuleFilter4   = kernelMapRuleFilter4
	MapRuleFilter6   = kernelMapRuleFilter6
	MapRuleLadders   = kernelMapRuleLadders
	MapRuleRegions4  = kernelMapRuleRegions4
	MapRules4        = kernelMapRules4
	MapRules6        = kernelMapRules6
	MapSharedBuckets = kernelMapSharedBuckets
	MapVerified      = kernelMapVerified
)

// Credits of a CPU for inserts of buckets.
const (
	CreditCold = kernelCreditCREDIT_COLD
	CreditHot  = kernelCreditCREDIT_HOT
	CreditLen  = kernelCreditCREDIT_LEN
)

// Names of the programs in the object, of the variables that are set before it is loaded, and of the
// two that freeze the clock in tests.
const (
	Program      = kernelProgXdpRatelimit
	ProgramFrags = kernelProgXdpRatelimitFrags

	VarCreditBurst = kernelVarCreditBurst
	VarCreditCost  = kernelVarCreditCost
	VarHeatMask    = kernelVarHeatMask
	VarTick        = kernelVarTickNs
	VarTickFirst   = kernelVarTickFirst

	VarClockFrozen = kernelVarClockFrozen
	VarClockNow    = kernelVarClockNow
	VarHashSalt    = kernelVarHashSalt
)

// PinnedMaps returns the names of the maps that outlive a program.
func PinnedMaps() []string {
	return []string{
		MapBuckets, MapConfigs, MapCounters, MapEvents, MapGlobals, MapHeat, MapLosses,
		MapLossNumbers, MapRuleBlocks4, MapRuleFilter4, MapRuleFilter6, MapRuleLadders, MapRuleRegions4,
		MapRules4, MapRules6, MapSharedBuckets, MapVerified,
	}
}

// Load parses the object for this machine's byte order. Each call returns a new spec, which the
// caller may change before it loads it.
func Load() (*ebpf.CollectionSpec, error) { return loadKernel() }

// Object returns the compiled object itself; two builds of headgate enforce with the same
// program where it is equal. The caller must not change it.
func Object() []byte { return _KernelBytes }
