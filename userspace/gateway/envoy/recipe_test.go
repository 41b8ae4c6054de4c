package envoy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	authzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	limitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

const recipes = "../../../deploy/envoy"

// The recipes are configurations of Envoy, by its own definitions and constraints.
func TestRecipes(t *testing.T) {
	for file, filter := range map[string]string{"ext_authz.yaml": "ExtAuthz", "ratelimit.yaml": "RateLimit"} {
		t.Run(file, func(t *testing.T) {
			found := map[protoreflect.Name]proto.Message{}
			validate(t, readBootstrap(t, file), found)
			if found["HttpConnectionManager"] == nil || found["Router"] == nil || found["HttpProtocolOptions"] == nil || found[protoreflect.Name(filter)] == nil {
				t.Errorf("only has %v", found)
			}
			switch f := found[protoreflect.Name(filter)].(type) {
			case *authzv3.ExtAuthz:
				equal(t, "fails open", f.GetFailureModeAllow(), false)
				equal(t, "cluster", f.GetGrpcService().GetEnvoyGrpc().GetClusterName(), "headgate")
			case *limitv3.RateLimit:
				equal(t, "fails open", !f.GetFailureModeDeny(), false)
				equal(t, "cluster", f.GetRateLimitService().GetGrpcService().GetEnvoyGrpc().GetClusterName(), "headgate")
			}
		})
	}
}

// What answers them is a configuration of headgate.
func TestRecipeOfHeadgate(t *testing.T) {
	path := filepath.Join(recipes, "headgate.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Warnings) > 0 || f.Auth == nil || len(f.Auth.GRPC) != 1 || f.Auth.GRPC[0].Address != "/run/headgate/envoy.sock" {
		t.Errorf("auth %+v, warnings %v", f.Auth, f.Warnings)
	}
	if _, err := ruleset.New(f.HTTP); err != nil {
		t.Error(err)
	}
}

func readBootstrap(t *testing.T, file string) *bootstrapv3.Bootstrap {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recipes, file))
	if err != nil {
		t.Fatal(err)
	}
	var content any
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	b := new(bootstrapv3.Bootstrap)
	if err := protojson.Unmarshal(asJSON, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// validate checks the constraints of m, and of what is packed in it, which found is given.
func validate(t *testing.T, m proto.Message, found map[protoreflect.Name]proto.Message) {
	t.Helper()
	if v, ok := m.(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil {
			t.Errorf("%s: %v", m.ProtoReflect().Descriptor().FullName(), err)
		}
	}
	err := protorange.Range(m.ProtoReflect(), func(at protopath.Values) error {
		packed, ok := at.Index(-1).Value.Interface().(protoreflect.Message)
		if !ok {
			return nil
		}
		if a, ok := packed.Interface().(*anypb.Any); ok {
			inner, err := a.UnmarshalNew()
			if err != nil {
				return err
			}
			found[inner.ProtoReflect().Descriptor().Name()] = inner
			validate(t, inner, found)
			return protorange.Break
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
