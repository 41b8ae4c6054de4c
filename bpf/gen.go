package bpf

// The compiler is pinned, so that the committed objects can be compared byte for byte with
// freshly built ones. The prefix map keeps the builder's paths out of them.
//go:generate go tool bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel,bpfeb -type action -type bucket -type bucket_key -type config -type counter -type counters -type credit -type dimension -type event -type family -type gcra -type global -type heat_cell -type heat_line -type limit -type loss -type overflow -type policy -type policy_info -type prefix4 -type prefix6 -type rate -type reason -type rule -type rule_ladder -type rule_line -type verdict -type verified_line kernel headgate.c -- -O2 -g -Wall -Wextra -Werror -mcpu=v3 -I include/vendor
