#!/bin/busybox sh
# The first process of a machine of the matrix: what tests expect of a system, then the tests.
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /var/tmp /root
/bin/busybox --install -s /usr/bin 2>/dev/null
export PATH=/usr/bin:/usr/sbin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
mount -t tmpfs tmp /var/tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing
ln -s /proc/self/fd /dev/fd
ip link set lo up
echo 0 >/proc/sys/kernel/printk
# An emulated machine takes long over a sample: the kernel would lower its limit to below what tests ask.
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
cd /tstrace
node --enable-source-maps build/test/test/vm/guest.js </dev/null
sync
poweroff -f
