package envoy

import (
	"context"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// codec reads questions without a message in between, and passes on answers that are written already: generated code would
// take longer over both than all that is decided. Other services have the codec of protobuf.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// readable is what a message can be read into.
type readable interface{ read(message) error }

// written is an answer as it is sent.
type written []byte

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	into, ours := v.(readable)
	if !ours {
		return c.CodecV2.Unmarshal(data, v)
	}
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	wire := b.ReadOnlyData()
	return into.read(message{wire, string(wire)})
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if answer, ours := v.(written); ours {
		return mem.BufferSlice{mem.SliceBuffer(answer)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// method is one whose handler is given what reads the question.
func (s *Server) method(name string, handle func(ctx context.Context, read func(any) error) (written, error)) grpc.MethodDesc {
	return grpc.MethodDesc{
		MethodName: name,
		// The interceptor would do what is done here, at the cost of a closure.
		Handler: func(_ any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (_ any, err error) {
			defer s.survive(name, &err)
			answer, err := handle(ctx, read)
			if err != nil {
				return nil, err
			}
			return answer, nil
		},
	}
}

// survive is deferred by what answers a question: a panic, which gRPC would let end the process, is an error then.
func (s *Server) survive(method string, err *error) {
	what := recover()
	if what == nil {
		return
	}
	if times, ok := s.counts.sayPanic.Now(); ok {
		s.options.Load().Log.Error("the answer to a gateway's question ended in a panic; please report this",
			"method", method, "panic", what, "times", times, "stack", string(debug.Stack()))
	}
	*err = status.Error(codes.Internal, "the question could not be answered")
}

// surviving is the interceptor of methods that are not ours.
func (s *Server) surviving(ctx context.Context, in any, about *grpc.UnaryServerInfo, next grpc.UnaryHandler) (out any, err error) {
	defer s.survive(about.FullMethod, &err)
	return next(ctx, in)
}
