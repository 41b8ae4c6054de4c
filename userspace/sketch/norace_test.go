//go:build !race

package sketch_test

const raceEnabled = false
