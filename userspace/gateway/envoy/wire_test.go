package envoy

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// FuzzCheckRequest: a CheckRequest is read as generated code does.
func FuzzCheckRequest(f *testing.F) {
	of := looksAt{"attributes": {
		"source": {"address": {"socket_address": {"address": nil}, "pipe": nil, "envoy_internal_address": nil}},
		"request": {"http": {"method": nil, "path": nil, "host": nil, "headers": nil,
			"header_map": {"headers": {"key": nil, "value": nil, "raw_value": nil}}}},
	}}.only(f, (*authv3.CheckRequest)(nil).ProtoReflect().Descriptor())
	for _, seed := range checkSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var c check
		err := c.read(message{wire, string(wire)})
		if want := proto.Unmarshal(wire, dynamicpb.NewMessage(of)); (err != nil) != (want != nil) {
			t.Fatalf("%v, want %v", err, want)
		}
		in := &authv3.CheckRequest{}
		if err != nil || proto.Unmarshal(wire, in) != nil {
			return // or only what is not looked at is wrong
		}
		got, want := c.request(), requestOf(in)
		if (got == nil) != (want == nil) {
			t.Fatalf("%v, want %v", got, want)
		}
		if got == nil {
			return
		}
		equal(t, "peer", got.Peer, want.Peer)
		equal(t, "request", line(got), line(want))
		if diff := gocmp.Diff(valuesInOrder(want.Header), valuesInOrder(got.Header)); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
	})
}

func line(r *ruleset.Request) [4]string { return [4]string{r.Method, r.Host, r.Path, r.RawQuery} }

// valuesInOrder puts the values of names that differed in case, which a map has in any order, into one.
func valuesInOrder(h http.Header) http.Header {
	for _, values := range h {
		slices.Sort(values)
	}
	return h
}

// requestOf returns the request that a message describes; nil for none.
func requestOf(in *authv3.CheckRequest) *ruleset.Request {
	asked := in.GetAttributes().GetRequest().GetHttp()
	if asked == nil {
		return nil
	}
	r := &ruleset.Request{
		Peer:   clientip.Peer(in.GetAttributes().GetSource().GetAddress().GetSocketAddress().GetAddress()),
		Method: asked.GetMethod(), Host: asked.GetHost(), Header: http.Header{},
	}
	r.Path, r.RawQuery = splitTarget(asked.GetPath())
	add := func(name, value string) {
		if name := http.CanonicalHeaderKey(name); !strings.HasPrefix(name, ":") && name != "Host" {
			r.Header[name] = append(r.Header[name], value)
		}
	}
	for name, value := range asked.GetHeaders() {
		add(name, value)
	}
	for _, v := range asked.GetHeaderMap().GetHeaders() {
		add(v.GetKey(), cmp.Or(string(v.GetRawValue()), v.GetValue()))
	}
	return r
}

func checkSeeds(t testing.TB) [][]byte {
	asked := checkOf("192.0.2.7", "GET", "example.com", "/items?page=2", curl()...)
	pipe := &authv3.CheckRequest{Attributes: &authv3.AttributeContext{Source: &authv3.AttributeContext_Peer{
		Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: "/run/x"}}},
	}}}
	listed := checkOf("192.0.2.8", "PUT", "example.org", "/%61")
	listed.GetAttributes().GetRequest().GetHttp().HeaderMap = &corev3.HeaderMap{Headers: []*corev3.HeaderValue{
		{Key: "a", Value: "b"}, {Key: "A", RawValue: []byte("\xff")}, {Key: "c", Value: "d", RawValue: []byte("e")},
	}}
	a, p, l := encode(t, asked), encode(t, pipe), encode(t, listed)
	twice := http2(entryOf("k", "1", "K", "2", "k", "3", "host", "h", ":path", "p"))
	seeds := [][]byte{
		{}, a, p, l, slices.Concat(a, l), slices.Concat(a, p), slices.Concat(p, a), slices.Concat(a, p, l), twice,
		http2(nil), http2(entryOf("k", "\xff")), http2(entryOf("\xff", "v")), http2([]byte("\x22\x01\xff")), // a path
		http2([]byte("\x1a\x08\x0a\x01k\x12\x01v\x1a\x00")),                                     // a field that map entries have not
		http2([]byte("\x1a\x09\x0a\x01k\x12\x01v\x12\x01w")), http2([]byte("\x20\x05\x10\x01")), // types that are wrong
		a[:len(a)-1], {0x0b, 0x0c}, {0x0b}, {0x0c}, {0x0a, 0x80}, {0x00}, {0x0f}, protowire.AppendVarint(nil, 1<<32|2),
		append(protowire.AppendVarint(nil, (1<<29)<<3), 0), slices.Repeat([]byte{0x0b}, 20_000),
	}
	return seeds
}

func encode(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// http2 returns a CheckRequest whose request.http is this message.
func http2(m []byte) []byte {
	for _, number := range []protowire.Number{2, 4, 1} {
		m = protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), m)
	}
	return m
}

// entryOf returns entries of the map of header fields.
func entryOf(list ...string) (m []byte) {
	for i := 0; i < len(list); i += 2 {
		var at int
		m, at = begin(m, 3)
		m = appendString(appendString(m, 1, list[i]), 2, list[i+1])
		m = end(m, at)
	}
	return m
}

// FuzzRateLimitRequest: a RateLimitRequest is read as generated code does.
func FuzzRateLimitRequest(f *testing.F) {
	of := looksAt{"domain": nil, "hits_addend": nil, "descriptors": {
		"entries": {"key": nil, "value": nil}, "hits_addend": {"value": nil}, "is_negative_hits": nil,
	}}.only(f, (*ratelimitv3.RateLimitRequest)(nil).ProtoReflect().Descriptor())
	d := descriptor("remote_address", "192.0.2.7", "path", "/")
	d.HitsAddend, d.IsNegativeHits = wrapperspb.UInt64(1<<40), true
	d.Limit = &commonv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 7}
	in := limitRequest(d, descriptor("generic_key", "x"), descriptor())
	in.HitsAddend = 3
	wire := encode(f, in)
	for _, seed := range [][]byte{{}, wire, slices.Concat(wire, wire), wire[:len(wire)-1], []byte("\x0a\x01\xff"), []byte("\x12\x05\x0a\x03\x0a\x01\xff"),
		[]byte("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), []byte("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
		[]byte("\x12\x08\x1a\x02\x08\x01\x1a\x02\x08\x00"), []byte("\x12\x02\x1a\x00"), []byte("\x12\x02\x20\x02"), []byte("\x1a\x01\x01")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var l limits
		err := l.read(message{wire, string(wire)})
		if want := proto.Unmarshal(wire, dynamicpb.NewMessage(of)); (err != nil) != (want != nil) {
			t.Fatalf("%v, want %v", err, want)
		}
		in := &ratelimitv3.RateLimitRequest{}
		if err != nil || proto.Unmarshal(wire, in) != nil {
			return // or only what is not looked at is wrong
		}
		equal(t, "domain", l.domain, in.GetDomain())
		equal(t, "hits", l.hits, in.GetHitsAddend())
		if len(l.descriptors) != len(in.GetDescriptors()) {
			t.Fatalf("%d descriptors, want %d", len(l.descriptors), len(in.GetDescriptors()))
		}
		for i, want := range in.GetDescriptors() {
			sameDescriptor(t, &l, &l.descriptors[i], want)
		}
	})
}

func sameDescriptor(t *testing.T, l *limits, got *description, want *commonv3.RateLimitDescriptor) {
	t.Helper()
	equal(t, "negative", got.negative, want.GetIsNegativeHits())
	equal(t, "own hits", got.ownHits, want.GetHitsAddend() != nil)
	equal(t, "hits", got.hits, want.GetHitsAddend().GetValue())
	var entries []pair
	for _, e := range want.GetEntries() {
		entries = append(entries, pair{e.GetKey(), e.GetValue()})
	}
	if !slices.Equal(entries, l.entriesOf(got)) {
		t.Errorf("entries %q, want %q", l.entriesOf(got), entries)
	}
}

// looksAt are the fields of a message that are looked at, and of those that are messages, theirs.
type looksAt map[string]looksAt

// only returns a message that has no other fields: for generated code, too, others may have anything in them then. A
// message of which nothing is looked at is bytes.
func (l looksAt) only(t testing.TB, of protoreflect.MessageDescriptor) protoreflect.MessageDescriptor {
	t.Helper()
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("only.proto"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{l.message(t, "M", ".M", of)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages().Get(0)
}

func (l looksAt) message(t testing.TB, name, path string, of protoreflect.MessageDescriptor) *descriptorpb.DescriptorProto {
	t.Helper()
	all := protodesc.ToDescriptorProto(of)
	m := &descriptorpb.DescriptorProto{Name: &name}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		f := of.Fields().ByName(protoreflect.Name(name))
		field := proto.CloneOf(all.GetField()[f.Index()])
		field.Options = nil
		if field.OneofIndex != nil {
			field.OneofIndex, m.OneofDecl = proto.Int32(0), []*descriptorpb.OneofDescriptorProto{{Name: proto.String("one")}}
		}
		if f.Message() != nil {
			part := "M_" + name
			switch {
			case f.IsMap():
				entry := protodesc.ToDescriptorProto(f.Message())
				field.TypeName = proto.String(path + "." + entry.GetName())
				m.NestedType = append(m.NestedType, entry)
			case l[name] == nil:
				field.Type, field.TypeName = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum(), nil
			default:
				field.TypeName = proto.String(path + "." + part)
				m.NestedType = append(m.NestedType, l[name].message(t, part, path+"."+part, f.Message()))
			}
		}
		m.Field = append(m.Field, field)
	}
	return m
}

// FuzzAppend: what is written is read by generated code as it was meant.
func FuzzAppend(f *testing.F) {
	for _, n := range []int{0, 1, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 16_360, 16_377, 16_378, 16_379, 16_384, 70_000} {
		f.Add("Ratelimit", strings.Repeat("x", n), "", uint64(n))
	}
	f.Fuzz(func(t *testing.T, name, value, second string, number uint64) {
		for _, s := range []*string{&name, &value, &second} {
			*s = strings.ToValidUTF8(*s, "?")
		}
		const add = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD // 0, which is not written
		const set = corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
		want := &authv3.DeniedHttpResponse{Body: value, Headers: []*corev3.HeaderValueOption{option(name, value, add), option("Other", second, set)}}
		limited := &ratelimitv3.RateLimitResponse{RawBody: []byte(value)}
		denied, at := begin(nil, 2)
		var plain []byte
		for _, o := range want.Headers {
			text := []byte(o.GetHeader().GetValue())
			denied = appendOption(denied, 2, o.GetHeader().GetKey(), text, o.GetAppendAction())
			plain = appendValue(plain, 3, o.GetHeader().GetKey(), text)
			limited.ResponseHeadersToAdd = append(limited.ResponseHeadersToAdd, o.GetHeader())
		}
		denied = end(appendString(denied, 3, value), at)
		sameMessage(t, denied, &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: want}})
		sameMessage(t, appendString(plain, 5, value), limited)
		sameMessage(t, appendVarint(nil, 1, number), wrapperspb.UInt64(number))
	})
}

// sameMessage compares what was written with a message, and their lengths.
func sameMessage[M proto.Message](t *testing.T, written []byte, want M) {
	t.Helper()
	got := want.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(written, got); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	equal(t, "bytes", len(written), proto.Size(want))
}
