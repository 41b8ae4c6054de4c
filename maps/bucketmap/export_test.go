package bucketmap

import "github.com/headgate/headgate/bpf"

// Entries reads all buckets in chunks that first have this size, and returns them by their key.
// It reports how many it read, which is more where one was read twice.
func (m *Map) Entries(size int) (map[bpf.BucketKey]bpf.Bucket, int, error) {
	var all map[bpf.BucketKey]bpf.Bucket
	var read int
	err := m.entries(size, func() { all, read = map[bpf.BucketKey]bpf.Bucket{}, 0 }, func(key bpf.BucketKey, b *bpf.Bucket) {
		all[key] = *b
		read++
	})
	return all, read, err
}
