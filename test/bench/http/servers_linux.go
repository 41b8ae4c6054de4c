package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strconv"
	"sync"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Answer is what a server answers to each request.
type Answer struct {
	Addr   string
	Status int // 200 if 0
	Fields [][2]string
	Body   string
}

// answerAll is roleAnswer.
func answerAll(a Answer) (struct{}, error) {
	return struct{}{}, serveHTTP(a.Addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		for _, f := range a.Fields {
			header.Set(f[0], f[1])
		}
		header.Set("Content-Length", strconv.Itoa(len(a.Body)))
		w.WriteHeader(cmp.Or(a.Status, http.StatusOK))
		_, _ = w.Write([]byte(a.Body)) // an error is of a client that has left
	}))
}

// Pass is which server a reverse proxy passes requests on to.
type Pass struct {
	Addr, To string
}

// passAll is rolePass: httputil.ReverseProxy and nothing beside it, with the settings of headgate's.
func passAll(p Pass) (struct{}, error) {
	to := &url.URL{Scheme: "http", Host: p.To}
	const timeout = time.Minute
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return struct{}{}, serveHTTP(p.Addr, &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		Transport: &http.Transport{
			DialContext:           dialer.DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   1024,
			IdleConnTimeout:       90 * time.Second,
			ResponseHeaderTimeout: timeout,
			ExpectContinueTimeout: time.Second,
			DisableCompression:    true,
		},
		BufferPool: new(buffers),
	})
}

// buffers is a httputil.BufferPool.
type buffers struct{ pool sync.Pool }

type buffer [32 << 10]byte

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*buffer); ok {
		return p[:]
	}
	return new(buffer)[:]
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.pool.Put((*buffer)(p)) }

// serveHTTP serves h by the server that headgate's gateway stands on, with the same settings.
func serveHTTP(addr string, h http.Handler) error {
	l, err := net.Listen("tcp4", addr)
	if err != nil {
		return err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s := http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       75 * time.Second,
		MaxHeaderBytes:    64 << 10,
		Protocols:         protocols,
	}
	return s.Serve(l)
}

// Empty is where an empty gRPC server answers.
type Empty struct{ Addr string }

// serveEmpty is roleEmpty: a gRPC server with the settings of headgate's.
func serveEmpty(e Empty) (struct{}, error) {
	l, err := net.Listen("tcp4", e.Addr)
	if err != nil {
		return struct{}{}, err
	}
	s := grpc.NewServer(
		grpc.MaxRecvMsgSize(1<<20),
		grpc.MaxHeaderListSize(64<<10),
		grpc.MaxConcurrentStreams(1000),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))*16),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
	authv3.RegisterAuthorizationServer(s, emptyHandlers{})
	ratelimitv3.RegisterRateLimitServiceServer(s, emptyHandlers{})
	return struct{}{}, s.Serve(l)
}

// emptyHandlers answer without deciding anything.
type emptyHandlers struct {
	authv3.UnimplementedAuthorizationServer
	ratelimitv3.UnimplementedRateLimitServiceServer
}

// Check implements authv3.AuthorizationServer.
func (emptyHandlers) Check(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	return &authv3.CheckResponse{}, nil
}

// ShouldRateLimit implements ratelimitv3.RateLimitServiceServer.
func (emptyHandlers) ShouldRateLimit(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	return &ratelimitv3.RateLimitResponse{OverallCode: ratelimitv3.RateLimitResponse_OK}, nil
}
