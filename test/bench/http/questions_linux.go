package main

import (
	"errors"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
)

// questions returns what Envoy asks both services about a request of curl, encoded.
func questions(path string) (check, limits []byte, err error) {
	const client = "192.0.2.7"
	check, err1 := proto.Marshal(&authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Source: &authv3.AttributeContext_Peer{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
			SocketAddress: &corev3.SocketAddress{Address: client, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 40000}},
		}}},
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Id: "1", Method: "GET", Path: path, Host: "example.com", Scheme: "https", Protocol: "HTTP/2", Headers: map[string]string{
				":authority": "example.com", ":method": "GET", ":path": path, ":scheme": "https",
				"user-agent": "curl/8.5.0", "accept": "*/*", "x-forwarded-for": client, "x-forwarded-proto": "https",
				"x-request-id": "0b9c6f3e-8f6e-4d7c-9d0e-1f2a3b4c5d6e",
			},
		}},
	}})
	limits, err2 := proto.Marshal(&ratelimitv3.RateLimitRequest{Domain: "headgate", Descriptors: []*commonv3.RateLimitDescriptor{
		{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "remote_address", Value: client}, {Key: "path", Value: path}}},
	}})
	return check, limits, errors.Join(err1, err2)
}
