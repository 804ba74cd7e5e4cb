#!/bin/sh
# Compiles every FROM/*.bpf.c for each architecture into TO/ARCH; only what has changed.
# One architecture's object differs from another's in the registers of user probes at most.
#
# usage: build-bpf.sh [FROM TO]
set -eu
cd "$(dirname "$0")/.."

from=${1:-bpf} to=${2:-dist/bpf}

for arch in x64 arm64; do
	mkdir -p "$to/$arch"
	for source in "$from"/*.bpf.c; do
		object=$to/$arch/$(basename "$source" .c).o
		[ -n "$(find "$source" bpf scripts/build-bpf.sh scripts/bpf-object.sh -newer "$object" 2>&1)" ] ||
			continue
		echo "  BPF  $object"
		scripts/bpf-object.sh "$source" "$arch" "$object"
	done
done
