package sketch

import "testing"

// The reference values of SipHash-2-4: the first from the paper, the others for a key of zeros.
func TestSipHash(t *testing.T) {
	counting := Hasher{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	for _, test := range []struct {
		h    Hasher
		text string
		want uint64
	}{
		{counting, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 0xa129ca6149be45e5},
		{Hasher{}, "", 0x1e924b9d737700d7},
		{Hasher{}, "Hello world", 0xc9e8a3021f3822d9},
		{Hasher{}, "12345678123", 0xf95d77ccdb0649f},
		{Hasher{}, string(make([]byte, 8)), 0xe849e8bb6ffe2567},
		{Hasher{}, string(make([]byte, 1535)), 0xe74d1c0ab64b2afa},
	} {
		if got := test.h.String(test.text); got != test.want {
			t.Errorf("%q: %x, want %x", test.text, got, test.want)
		}
		if got := test.h.Bytes([]byte(test.text)); got != test.want {
			t.Errorf("bytes of %q: %x, want %x", test.text, got, test.want)
		}
	}
}

func TestHasherDependsOnTheSeedOnly(t *testing.T) {
	if a, b := NewHasher(1).String("key"), NewHasher(1).String("key"); a != b {
		t.Errorf("%x and %x with the same seed", a, b)
	}
	if a, b := NewHasher(1).String("key"), NewHasher(2).String("key"); a == b {
		t.Errorf("%x with both seeds", a)
	}
	if got, want := NewHasher(1).Bytes(nil), NewHasher(1).String(""); got != want {
		t.Errorf("nil is %x, the empty string %x", got, want)
	}
}
