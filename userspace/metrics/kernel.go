package metrics

// Kernel is what the kernel's limiter counted, read at one moment. It has no addresses.
type Kernel struct {
	Interfaces []Interface
	Reasons    []Reason // every verdict and reason that there is
	Policies   []Policy
	Rules      []Rules // every action and origin that there is, also where there are none
	// Sources is how many have a bucket, of at most MaxSources.
	Sources, MaxSources int
	// Verified is how many sources proved to be who they say, and count as such now.
	Verified int
	// ColdPackets passed by their heat cell alone, for each policy that they passed.
	ColdPackets uint64
	// Inserts is how many buckets were made, Deferred how often a source that needs one got none.
	Inserts, Deferred uint64
	// MemoryBytes is what the kernel charges for all maps; 0 where it does not say.
	MemoryBytes uint64
}

// Interface is one that is limited, or should be.
type Interface struct {
	Name     string
	Mode     string // native, generic, or empty if it is not attached
	Attached bool
	Missing  bool // there is no interface of the name, or it has come just now
	// Problem is why it is not attached to, where it should be; empty if nothing is known against it.
	Problem string
}

// Reason is what was decided for one reason.
type Reason struct {
	Verdict, Reason string // as in headgate stats
	Packets, Bytes  uint64
}

// Policy is what one policy decided.
type Policy struct {
	Name           string
	Verdict        string
	Packets, Bytes uint64
}

// Rules is how many rules there are.
type Rules struct {
	Action, Origin string
	Count          int
}
