#!/bin/sh
# Fetches the peers of `make bench` that this machine's release of Debian does not have, into
# build/peers; nothing is installed. What cannot be fetched is missing, and `make bench` says so.
#
#   libbpf-tools   the newest there is (memleak, profile), with its C library
#   flamegraph.pl  the copy that comes with libdevel-nytprof-perl, where none is on the PATH
set -eu
cd "$(dirname "$0")/.."
command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || exit 0
mkdir -p build/peers
get=$PWD/scripts/apt-get.sh
cd build/peers

# fetch PACKAGE FOLDER [APT OPTION...]: unpacks the package there.
fetch() {
	package=$1 folder=$2
	shift 2
	mkdir -p "$folder"
	(cd "$folder" && "$get" -qq "$@" download "$package") >/dev/null 2>&1 || return 1
	dpkg-deb -x "$folder/$package"_*.deb "$folder" && rm "$folder/$package"_*.deb
}

# Debian's unstable suite, beside this machine's own sources and from the mirror they name.
newest_libbpf_tools() {
	mirror=$(apt-cache policy libbpf-tools | awk '$2 ~ /^https?:/ { print $2; exit }')
	[ -n "$mirror" ] || return 0
	apt=$PWD/apt
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	echo "deb [signed-by=$key] $mirror sid main" >"$apt/sources.list"
	set -- -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null -o "Dir::State::lists=$apt/lists" \
		-o "Dir::Cache=$apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root
	"$get" -qq "$@" update >/dev/null 2>&1 &&
		fetch libbpf-tools libbpf-tools.new "$@" && fetch libc6 libbpf-tools.new "$@" &&
		apt-cache "$@" show libbpf-tools | sed -n 's/^Version: //p' | head -n 1 >libbpf-tools.new/version &&
		mv libbpf-tools.new libbpf-tools
	rm -rf "$apt" libbpf-tools.new
}

[ -d libbpf-tools ] || newest_libbpf_tools || echo "make bench: no newer libbpf-tools to be had" >&2
[ -d nytprof ] || command -v flamegraph.pl >/dev/null 2>&1 ||
	fetch libdevel-nytprof-perl nytprof -o APT::Sandbox::User=root ||
	echo "make bench: no flamegraph.pl to be had" >&2
