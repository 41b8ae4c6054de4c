package bpf

// As for the limiter itself, the compiler is pinned, so that fresh objects equal the committed ones.
//go:generate go tool bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel,bpfeb bench bench.c -- -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -mcpu=v3 -I ../../../bpf -I ../../../bpf/include/vendor
