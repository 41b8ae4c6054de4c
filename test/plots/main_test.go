package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const docs = "../../docs"

// The committed pictures are those that the algorithms of now make.
func TestPicturesAreFresh(t *testing.T) {
	for name, made := range pictures() {
		committed, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil || !bytes.Equal(made, committed) {
			t.Errorf("docs/%s is not what is drawn now (%v); go run ./test/plots docs", name, err)
		}
	}
}

// The numbers in the text are those of the pictures.
func TestTableIsInTheText(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), table()) {
		t.Errorf("docs/http.md does not have this table:\n%s", table())
	}
}

// leaky, nginx and sketch are one line in the pictures.
func TestOneLineForThree(t *testing.T) {
	for _, arrivals := range [][]time.Duration{steady(), edge(), instant(8)} {
		for _, burst := range []uint64{5, 9} {
			all := likeLeaky(burst)
			want := passed(all[0].limiter, arrivals)
			for _, c := range all[1:] {
				if got := passed(c.limiter, arrivals); !slices.Equal(got, want) {
					t.Errorf("burst %d: %s lets pass at %v, and leaky at %v", burst, c.name, got, want)
				}
			}
		}
	}
}

func TestMost(t *testing.T) {
	times := []time.Duration{0, 1, 2, 10, 11, 12, 13}
	for period, want := range map[time.Duration]int{1: 1, 3: 3, 4: 4, 11: 4, 100: 7} {
		if got := most(times, period); got != want {
			t.Errorf("most in %d: %d, want %d", period, got, want)
		}
	}
}
