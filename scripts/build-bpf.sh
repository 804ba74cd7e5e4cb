#!/bin/sh
# Compiles every FROM/*.bpf.c for each architecture into TO/ARCH; only what has changed.
# One architecture's object differs from another's in the registers of user probes at most.
#
# usage: build-bpf.sh [FROM TO]
set -eu
cd "$(dirname "$0")/.."

from=${1:-bpf} to=${2:-dist/bpf}
strip=${STRIP:-$(command -v llvm-strip-19 || command -v llvm-strip)}
# Debian keeps asm/ headers in a folder of the host's architecture; BPF does not mind which.
include=$(find /usr/include -maxdepth 2 -name asm -path '*-linux-gnu*' | head -n 1)

for target in x86:x64 arm64:arm64; do
	define=${target%:*} arch=${target#*:}
	mkdir -p "$to/$arch"
	for source in "$from"/*.bpf.c; do
		object=$to/$arch/$(basename "$source" .c).o
		[ -n "$(find "$source" bpf scripts/build-bpf.sh -newer "$object" 2>&1)" ] || continue
		echo "  BPF  $object"
		scripts/clang.sh -g -O2 -mcpu=v3 -target bpf "-D__TARGET_ARCH_$define" \
			-Wall -Wextra -Wno-unused-parameter -Werror \
			${include:+-idirafter "${include%/asm}"} -c "$source" -o "$object.tmp"
		"$strip" -g "$object.tmp" # DWARF; BTF stays
		mv "$object.tmp" "$object"
	done
done
