#!/bin/sh
# Compiles a BPF program for one architecture: x64 or arm64.
#
# usage: bpf-object.sh SOURCE ARCH OBJECT
set -eu
cd "$(dirname "$0")/.."

source=$1 arch=$2 object=$3
strip=${STRIP:-$(command -v llvm-strip-19 || command -v llvm-strip)}
# Debian keeps asm/ headers in a folder of the host's architecture; BPF does not mind which.
include=$(find /usr/include -maxdepth 2 -name asm -path '*-linux-gnu*' | head -n 1)

case $arch in
x64) define=x86 ;;
*) define=$arch ;;
esac
scripts/clang.sh -g -O2 -mcpu=v3 -target bpf "-D__TARGET_ARCH_$define" \
	-Wall -Wextra -Wno-unused-parameter -Werror \
	${include:+-idirafter "${include%/asm}"} -c "$source" -o "$object.tmp"
"$strip" -g "$object.tmp" # DWARF; BTF stays
mv "$object.tmp" "$object"
