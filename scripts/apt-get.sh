#!/bin/sh
# apt-get that waits while another apt or dpkg holds a lock: at most APT_WAIT_S seconds, 600 unless told. What
# it says on standard error is shown when it ends.
set -u

limit_s=${APT_WAIT_S:-600}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
begin_s=$(date +%s)
waited_s=0
told=''
while :; do
	# For dpkg's lock apt waits by itself; for those of its lists and its archive it never does.
	LC_ALL=C apt-get -o "DPkg::Lock::Timeout=$((limit_s - waited_s))" "$@" 2>"$said"
	status=$?
	waited_s=$(($(date +%s) - begin_s))
	[ $status -ne 0 ] && [ "$waited_s" -lt "$limit_s" ] &&
		grep -Eq 'Could not get lock|Unable to (lock|acquire)' "$said" || break
	[ -n "$told" ] || echo 'apt-get: waiting for another apt to end' >&2
	told=yes
	sleep 1
done
cat "$said" >&2
exit $status
