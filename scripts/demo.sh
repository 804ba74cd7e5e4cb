#!/bin/sh
# Two small loads, and what tstrace sees of them.
set -eu
cd "$(dirname "$0")/.."

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
echo 'an archive is packed: where do its processes wait? tstrace offcputime --top 3 --follow -- …' >&2
bin/tstrace offcputime --format text --top 3 --follow -- sh -c 'tar cf - node_modules | gzip >/dev/null'
