package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/rate"
)

func quotaOf(count uint64, per time.Duration, unit rate.Unit, burst uint64) wire.Quota {
	return wire.Quota{Rate: rate.Rate{Count: count, Per: per, Unit: unit}, Burst: burst}
}

func TestLimitFlags(t *testing.T) {
	packets := func(count, burst uint64) wire.Quota { return quotaOf(count, time.Second, rate.Packets, burst) }
	bytes := func(count, burst uint64) wire.Quota { return quotaOf(count, time.Second, rate.Bytes, burst) }
	was := wire.Limit{Packets: packets(10, 20), Bytes: bytes(1_000_000, 70_000)}
	tests := []struct {
		name  string
		flags limitFlags
		was   wire.Limit
		want  wire.Limit
	}{
		{"nothing", limitFlags{}, was, was},
		{"a rate brings its burst", limitFlags{rate: "500pps"}, wire.Limit{}, wire.Limit{Packets: packets(500, 500)}},
		{"also where there was another", limitFlags{rate: "500pps"}, was, wire.Limit{Packets: packets(500, 500), Bytes: was.Bytes}},
		{"rate and burst", limitFlags{rate: "10kpps", burst: "20k"}, wire.Limit{}, wire.Limit{Packets: packets(10_000, 20_000)}},
		{"burst alone", limitFlags{burst: "7"}, was, wire.Limit{Packets: packets(10, 7), Bytes: was.Bytes}},
		{"a slow rate has room for one", limitFlags{rate: "6pph"}, wire.Limit{}, wire.Limit{Packets: quotaOf(6, time.Hour, rate.Packets, 1)}},
		{"bandwidth", limitFlags{bandwidth: "1MB/s"}, wire.Limit{}, wire.Limit{Bytes: bytes(1_000_000, 1_000_000)}},
		{"a narrow one has room for a few packets", limitFlags{bandwidth: "1KiB/s"}, wire.Limit{}, wire.Limit{Bytes: bytes(1024, 64<<10)}},
		{"bandwidth burst", limitFlags{bandwidthBurst: "64KiB"}, was, wire.Limit{Packets: was.Packets, Bytes: bytes(1_000_000, 64<<10)}},
		{"rate off", limitFlags{rate: "off"}, was, wire.Limit{Bytes: was.Bytes}},
		{"both off", limitFlags{rate: "off", bandwidth: "off"}, was, wire.Limit{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.flags.given() != (tt.flags != limitFlags{}) {
				t.Error("given is wrong")
			}
			if err := tt.flags.check(); err != nil {
				t.Error(err)
			}
			got, err := tt.flags.apply(tt.was)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("limit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitFlagsErrors(t *testing.T) {
	tests := []struct {
		flags limitFlags
		want  string
	}{
		{limitFlags{rate: "0pps"}, "`headgate block`, to lift a limit --rate off"},
		{limitFlags{bandwidth: "0B/s"}, "to lift a limit --bandwidth off"},
		{limitFlags{rate: "10"}, `--rate: rate "10": no unit`},
		{limitFlags{rate: "none"}, "30ppm or 6pph, or off for none"},
		{limitFlags{bandwidth: "unlimited"}, ", or off for none"},
		{limitFlags{rate: "10Mbit/s"}, "--rate: "},
		{limitFlags{rate: "10r/s"}, "--rate: "},
		{limitFlags{bandwidth: "10pps"}, "--bandwidth: "},
		{limitFlags{rate: "1pps", burst: "0"}, "--burst 0 would let nothing pass"},
		{limitFlags{bandwidth: "1MB/s", bandwidthBurst: "0"}, "--bandwidth-burst 0 would let nothing pass"},
		{limitFlags{rate: "1pps", burst: "many"}, "--burst: "},
		{limitFlags{rate: "off", burst: "5"}, "--burst needs a rate, and --rate is off"},
		{limitFlags{burst: "5"}, "--burst needs a rate: give --rate too"},
	}
	for _, tt := range tests {
		_, err := tt.flags.apply(wire.Limit{})
		var wrong usageError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want a usage error with %q", tt.flags, err, tt.want)
		}
	}
	// What depends on the limit that there is cannot be found before.
	if err := (&limitFlags{burst: "5"}).check(); err != nil {
		t.Errorf("burst alone: %v", err)
	}
}

func TestNoticeSmallBurst(t *testing.T) {
	for burst, want := range map[uint64]bool{0: false, 1: true, 1499: true, 1500: false} {
		c := newConsole()
		c.noticeSmallBurst(wire.Limit{Bytes: wire.Quota{Burst: burst}})
		if got := c.err.Len() > 0; got != want {
			t.Errorf("burst %d: notice %q", burst, c.err.String())
		}
	}
}
