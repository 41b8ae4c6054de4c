package rate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/rate"
)

type parser func(string) (rate.Rate, error)

func packets(count uint64, per time.Duration) rate.Rate {
	return rate.Rate{Count: count, Per: per, Unit: rate.Packets}
}

func bytes(count uint64, per time.Duration) rate.Rate {
	return rate.Rate{Count: count, Per: per, Unit: rate.Bytes}
}

func requests(count uint64, per time.Duration) rate.Rate {
	return rate.Rate{Count: count, Per: per, Unit: rate.Requests}
}

func TestParseAndPrint(t *testing.T) {
	tests := []struct {
		parse parser
		text  string
		want  rate.Rate
		print string // empty: the same as text
	}{
		{rate.ParsePackets, "500pps", packets(500, time.Second), ""},
		{rate.ParsePackets, "10kpps", packets(10_000, time.Second), ""},
		{rate.ParsePackets, "2.5Mpps", packets(2_500_000, time.Second), ""},
		{rate.ParsePackets, "100Mpps", packets(100_000_000, time.Second), ""},
		{rate.ParsePackets, "0.1Gpps", packets(100_000_000, time.Second), "100Mpps"},
		{rate.ParsePackets, "1234567pps", packets(1_234_567, time.Second), "1234.567kpps"},
		{rate.ParsePackets, "30ppm", packets(30, time.Minute), ""},
		{rate.ParsePackets, "60ppm", packets(1, time.Second), "1pps"},
		{rate.ParsePackets, "3kppm", packets(50, time.Second), "50pps"},
		{rate.ParsePackets, "1.001kppm", packets(1001, time.Minute), ""},
		{rate.ParsePackets, "1.5ppm", packets(90, time.Hour), "90pph"},
		{rate.ParsePackets, "6pph", packets(6, time.Hour), ""},
		{rate.ParsePackets, "1pph", packets(1, time.Hour), ""},
		{rate.ParsePackets, "1.001kpph", packets(1001, time.Hour), ""},
		{rate.ParsePackets, "1.001Mppm", packets(1_001_000, time.Minute), ""},
		{rate.ParsePackets, "1Mpph", packets(1_000_000, time.Hour), ""},
		{rate.ParsePackets, "0.5pps", packets(30, time.Minute), "30ppm"},
		{rate.ParsePackets, "2.0005pps", packets(4001, 2000*time.Second), "7201.8pph"},
		{rate.ParsePackets, "007pps", packets(7, time.Second), "7pps"},
		{rate.ParsePackets, strings.Repeat("0", 39) + "7pps", packets(7, time.Second), "7pps"},
		{rate.ParsePackets, "1.50kpps", packets(1500, time.Second), "1.5kpps"},

		{rate.ParseBandwidth, "100Mbit/s", bytes(12_500_000, time.Second), ""},
		{rate.ParseBandwidth, "12MB/s", bytes(12_000_000, time.Second), "96Mbit/s"},
		{rate.ParseBandwidth, "64KiB/s", bytes(65_536, time.Second), ""},
		{rate.ParseBandwidth, "1MiB/s", bytes(1<<20, time.Second), ""},
		{rate.ParseBandwidth, "1GiB/s", bytes(1<<30, time.Second), ""},
		{rate.ParseBandwidth, "1024MiB/s", bytes(1<<30, time.Second), "1GiB/s"},
		{rate.ParseBandwidth, "1.5MiB/s", bytes(3<<19, time.Second), "1536KiB/s"},
		{rate.ParseBandwidth, "1.5KiB/s", bytes(1536, time.Second), "12.288kbit/s"},
		{rate.ParseBandwidth, "125KiB/s", bytes(128_000, time.Second), ""},                   // 1.024Mbit/s
		{rate.ParseBandwidth, "2000MiB/s", bytes(2000<<20, time.Second), ""},                 // 16777.216Mbit/s
		{rate.ParseBandwidth, "15625KiB/s", bytes(16_000_000, time.Second), "128Mbit/s"},     // longer
		{rate.ParseBandwidth, "100000KiB/s", bytes(102_400_000, time.Second), "819.2Mbit/s"}, // as long
		{rate.ParseBandwidth, "1000KiB/s", bytes(1_024_000, time.Second), ""},                // 8.192Mbit/s
		{rate.ParseBandwidth, "400Gbit/s", bytes(50_000_000_000, time.Second), ""},
		{rate.ParseBandwidth, "50GB/s", bytes(50_000_000_000, time.Second), "400Gbit/s"},
		{rate.ParseBandwidth, "1kB/s", bytes(1000, time.Second), "8kbit/s"},
		{rate.ParseBandwidth, "1536kbit/s", bytes(192_000, time.Second), "1.536Mbit/s"},
		{rate.ParseBandwidth, "1B/s", bytes(1, time.Second), "8bit/s"},
		{rate.ParseBandwidth, "100bit/s", bytes(750, time.Minute), ""},
		{rate.ParseBandwidth, "8.001bit/s", bytes(8001, 8000*time.Second), ""},
		{rate.ParseBandwidth, "1.0001B/s", bytes(10_001, 10_000*time.Second), ""},

		{rate.ParseRequests, "10r/s", requests(10, time.Second), ""},
		{rate.ParseRequests, "30r/m", requests(30, time.Minute), ""},
		{rate.ParseRequests, "120r/m", requests(2, time.Second), "2r/s"},
		{rate.ParseRequests, "100r/h", requests(100, time.Hour), ""},
		{rate.ParseRequests, "1.5r/s", requests(90, time.Minute), "90r/m"},
		{rate.ParseRequests, "100000000r/s", requests(100_000_000, time.Second), ""},
	}
	for _, tt := range tests {
		got, err := tt.parse(tt.text)
		if err != nil || got != tt.want {
			t.Errorf("parse %q = %#v, %v; want %#v", tt.text, got, err, tt.want)
			continue
		}
		want := tt.print
		if want == "" {
			want = tt.text
		}
		if got.String() != want {
			t.Errorf("parse %q prints %q, want %q", tt.text, got, want)
		}
		if again, err := tt.parse(want); err != nil || again != got {
			t.Errorf("parse %q = %#v, %v; want %#v as from %q", want, again, err, got, tt.text)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		parse parser
		text  string
		want  string // the whole error
	}{
		{rate.ParsePackets, "", `rate "": does not start with a number; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "pps", `rate "pps": does not start with a number; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "-5pps", `rate "-5pps": does not start with a number; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "10kps", `rate "10kps": unknown unit "kps"; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "10Kpps", `rate "10Kpps": unknown unit "Kpps"; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "10mpps", `rate "10mpps": unknown unit "mpps"; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "10", `rate "10": no unit; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "10 kpps", `rate "10 kpps": contains a space, write number and unit together; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "1.2.3pps", `rate "1.2.3pps": malformed number "1.2.3"; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, ".5pps", `rate ".5pps": malformed number ".5"; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "5.pps", `rate "5.pps": malformed number "5."; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "1e3pps", `rate "1e3pps": unknown unit "e3pps"; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "1,000pps", `rate "1,000pps": unknown unit ",000pps"; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, strings.Repeat("0", 40) + "1pps", `rate "0000000000000000000000000000000000000000": number is longer than 40 digits; use 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph`},
		{rate.ParsePackets, "1Gpps", `rate "1Gpps": too high; use 1pph to 100Mpps`},
		{rate.ParsePackets, "100000001pps", `rate "100000001pps": too high; use 1pph to 100Mpps`},
		{rate.ParsePackets, "0.999pph", `rate "0.999pph": too low; use 1pph to 100Mpps`},
		{rate.ParsePackets, "0pps", `rate "0pps": a rate of 0 would let nothing pass`},
		{rate.ParsePackets, "1.0000000000000000001pps", `rate "1.0000000000000000001pps": too many digits to keep exactly; use fewer decimals`},

		{rate.ParseBandwidth, "100Mbps", `rate "100Mbps": unit "Mbps" could mean bits or bytes; use 100Mbit/s, 12MB/s or 64KiB/s`},
		{rate.ParseBandwidth, "9bps", `rate "9bps": unit "bps" could mean bits or bytes; use 100Mbit/s, 12MB/s or 64KiB/s`},
		{rate.ParseBandwidth, "9MBps", `rate "9MBps": unit "MBps" could mean bits or bytes; use 100Mbit/s, 12MB/s or 64KiB/s`},
		{rate.ParseBandwidth, "9Mb/s", `rate "9Mb/s": unit "Mb/s" could mean bits or bytes; use 100Mbit/s, 12MB/s or 64KiB/s`},
		{rate.ParseBandwidth, "9MBit/s", `rate "9MBit/s": unknown unit "MBit/s"; use 100Mbit/s, 12MB/s or 64KiB/s`},
		{rate.ParseBandwidth, "7bit/s", `rate "7bit/s": too low; use 1B/s to 400Gbit/s`},
		{rate.ParseBandwidth, "401Gbit/s", `rate "401Gbit/s": too high; use 1B/s to 400Gbit/s`},
		{rate.ParseBandwidth, "0B/s", `rate "0B/s": a rate of 0 would let nothing pass`},

		{rate.ParseRequests, "10r", `rate "10r": unknown unit "r"; use 10r/s, 30r/m or 100r/h`},
		{rate.ParseRequests, "10kr/s", `rate "10kr/s": unknown unit "kr/s"; use 10r/s, 30r/m or 100r/h`},
		{rate.ParseRequests, "0.5r/h", `rate "0.5r/h": too low; use 1r/h to 100000000r/s`},
		{rate.ParseRequests, "100000001r/s", `rate "100000001r/s": too high; use 1r/h to 100000000r/s`},
	}
	for _, tt := range tests {
		got, err := tt.parse(tt.text)
		if err == nil || err.Error() != tt.want || !got.IsZero() {
			t.Errorf("parse %q = %v, %v\nwant error %s", tt.text, got, err, tt.want)
		}
		zero := strings.HasSuffix(tt.want, "a rate of 0 would let nothing pass")
		if errors.Is(err, rate.ErrZero) != zero {
			t.Errorf("parse %q: errors.Is(%v, ErrZero) = %v, want %v", tt.text, err, !zero, zero)
		}
	}
}

func TestLongInputMakesShortError(t *testing.T) {
	for _, text := range []string{strings.Repeat("9", 1<<20) + "pps", "1" + strings.Repeat("p", 1<<20)} {
		if _, err := rate.ParsePackets(text); err == nil || len(err.Error()) > 200 {
			t.Errorf("parse of %d bytes: error %.300v, want one of at most 200 bytes", len(text), err)
		}
	}
}
