#!/bin/sh
# Two small loads, and what tstrace sees of them, in numbers and in pictures.
set -eu
cd "$(dirname "$0")/.."

out=build/demo
mkdir -p "$out"
pids=''
trap 'kill $pids 2>/dev/null || true' EXIT INT TERM
for _ in $(seq $(($(nproc) + 1))); do
	# Works for a while, then sleeps: preemptions and wake-ups both.
	sh -c 'while :; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 0.002; done' &
	pids="$pids $!"
done
echo "a load of $(($(nproc) + 1)) busy shells on $(nproc) CPUs; tstrace runqlat 5 1:" >&2
bin/tstrace runqlat 5 1
kill $pids
pids=''

echo >&2
echo 'a small service counts words: what runs? tstrace profile -o on-cpu.svg -- …' >&2
pid=$(bin/tstrace profile -q -o "$out/on-cpu.svg" -- \
	node --perf-basic-prof scripts/demo-workload.mjs node_modules "$out/words.gz")
rm -f "/tmp/perf-$pid.map" "$out/words.gz"

echo 'an archive is packed: where is it waited? tstrace offcputime --follow -- … | flamegraph' >&2
bin/tstrace offcputime -q --follow -- sh -c "tar cf - node_modules | gzip -1 >$out/archive.gz; sync" |
	bin/flamegraph -q --title 'Packing an archive: off-CPU time' >"$out/off-cpu.svg"
rm -f "$out/archive.gz"

echo "flame graphs, for a browser: $PWD/$out/on-cpu.svg $PWD/$out/off-cpu.svg" >&2
