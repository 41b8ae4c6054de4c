package bucketmap

import "github.com/headgate/headgate/bpf"

// Entries reads all buckets in chunks that first have this size, and returns them by their key.
// It reports how many it read, which is more where one was read twice.
func (m *Map) Entries(size int) (map[bpf.BucketKey]bpf.Bucket, int, error) {
	entries, err := m.entries(size)
	all := make(map[bpf.BucketKey]bpf.Bucket, len(entries))
	for _, e := range entries {
		all[e.key] = e.bucket
	}
	return all, len(entries), err
}
