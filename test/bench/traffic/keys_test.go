package traffic

import "testing"

// count returns how often each key is used.
func count(keys Keys) map[string]int {
	uses := map[string]int{}
	for i := range keys.Len() {
		uses[keys.At(i)]++
	}
	return uses
}

func TestSequences(t *testing.T) {
	tests := []struct {
		name           string
		keys           Keys
		uses, distinct int
	}{
		{"range", Range(0, 1000), 1000, 1000},
		{"range further on", Range(5_000_000, 1000), 1000, 1000},
		{"shuffled", Shuffled(1000), 1000, 1000},
		{"one key", Uniform(1, 50), 50, 1},
		{"uniform", Uniform(1000, 5000), 5000, 1000},
		{"one key by Zipf", Zipf(1, 50), 50, 1},
		{"Zipf", Zipf(10, 5000), 5000, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			uses := count(tt.keys)
			if tt.keys.Len() != tt.uses || len(uses) != tt.distinct {
				t.Errorf("%d uses of %d keys, want %d of %d", tt.keys.Len(), len(uses), tt.uses, tt.distinct)
			}
			seen := NewSeen(6_000_000)
			if err := seen.Add(tt.keys); err != nil || seen.Distinct() != tt.distinct {
				t.Errorf("counted %d, %v, want %d", seen.Distinct(), err, tt.distinct)
			}
		})
	}
}

func TestUniformIsEven(t *testing.T) {
	for key, uses := range count(Uniform(1000, 5000)) {
		if uses != 5 {
			t.Fatalf("key %q is used %d times, want 5", key, uses)
		}
	}
}

func TestUniformIsInRandomOrder(t *testing.T) {
	keys := Uniform(1000, 2000)
	if keys.Slice(0, 1000) == Range(0, 1000) || keys.Slice(0, 1000) == keys.Slice(1000, 2000) {
		t.Error("keys are in order, or twice in the same one")
	}
}

func TestZipfIsSteep(t *testing.T) {
	uses := count(Zipf(1000, 10_000))
	first, second := uses[Range(0, 1).At(0)], uses[Range(1, 1).At(0)]
	if first < 2*second*9/10 || first > 10_000/3 {
		t.Errorf("the first key is used %d times and the second %d, want about 2^1.1 to 1", first, second)
	}
}

func TestSequencesAreTheSameEachTime(t *testing.T) {
	for name, again := range map[string]func(n, uses int) Keys{"uniform": Uniform, "Zipf": Zipf} {
		if first := again(100, 500); first != again(100, 500) {
			t.Errorf("%s: not the same the second time", name)
		}
	}
}

func TestSeenAddsUp(t *testing.T) {
	seen := NewSeen(200)
	for _, keys := range []Keys{Range(0, 100), Range(50, 100), Range(0, 100)} {
		if err := seen.Add(keys); err != nil {
			t.Fatal(err)
		}
	}
	if seen.Distinct() != 150 {
		t.Errorf("counted %d, want 150", seen.Distinct())
	}
}

func TestSeenRefusesForeignKeys(t *testing.T) {
	for name, keys := range map[string]Keys{
		"number too large": Range(1000, 1), "no number": "0123456789abcdeX",
	} {
		if err := NewSeen(100).Add(keys); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
