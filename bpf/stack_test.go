package bpf_test

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/headgate/headgate/bpf"
)

// Old verifiers add up the stacks of functions that call each other in parts of 32 bytes, and refuse more
// than 512; newer ones in parts of 16, so that what loads here says nothing about those.
func TestStackOfOldVerifiers(t *testing.T) {
	spec, err := bpf.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range spec.Programs {
		functions := functionsOf(program)
		if len(functions) < 5 {
			t.Fatalf("%s has %d functions: the rest was not found", name, len(functions))
		}
		if depth, path := deepest(functions, program.Instructions[0].Symbol()); depth > 512 {
			t.Errorf("%s: %v take %d bytes of the stack, and there are 512", name, path, depth)
		}
	}
}

// function is what one function takes of the stack, in bytes, and whom it calls.
type function struct {
	stack int
	calls []string
}

func functionsOf(program *ebpf.ProgramSpec) map[string]*function {
	all := map[string]*function{}
	var f *function
	for _, in := range program.Instructions {
		if start := btf.FuncMetadata(&in); start != nil {
			f = &function{}
			all[start.Name] = f
		}
		f.stack = max(f.stack, stackOf(in))
		if in.IsFunctionCall() {
			f.calls = append(f.calls, in.Reference())
		}
	}
	return all
}

// stackOf returns how far down an instruction reaches, in bytes: it goes by the frame pointer, or
// calculates an address from it.
func stackOf(in asm.Instruction) int {
	class := in.OpCode.Class()
	switch {
	case class.IsLoad() && in.Src == asm.RFP, class.IsStore() && in.Dst == asm.RFP:
		return -int(in.Offset)
	case class == asm.ALU64Class && in.OpCode.ALUOp() == asm.Add && in.OpCode.Source() == asm.ImmSource && in.Constant >= -512:
		return -int(in.Constant)
	}
	return 0
}

// deepest returns the calls below a function that take most of the stack, and how much.
func deepest(all map[string]*function, name string) (depth int, path []string) {
	for _, callee := range all[name].calls {
		if d, p := deepest(all, callee); d > depth {
			depth, path = d, p
		}
	}
	return depth + (max(all[name].stack, 1)+31)/32*32, append([]string{name}, path...)
}
