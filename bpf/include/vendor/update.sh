#!/bin/sh
# Takes the libbpf headers anew from Debian's libbpf-dev. The version in VERSION is the one
# that the committed objects were built with; after an update run `make generate` and commit both.
set -eu
cd "$(dirname "$0")"
for header in bpf_endian.h bpf_helper_defs.h bpf_helpers.h; do
	cp "/usr/include/bpf/$header" "bpf/$header"
done
dpkg-query -W -f '${source:Package} ${source:Version}\n' libbpf-dev >VERSION
