#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing of the groups named: build, test, postgres, programs, peers (other tracers, for `make bench`). Does nothing, and needs no network and no
# root, when everything is there. Debian and Ubuntu; elsewhere it names what to install by hand.
set -eu

build="gcc g++ make clang llvm pkg-config libbpf-dev libelf-dev zlib1g-dev libcapstone-dev systemtap-sdt-dev
	libcurl4-openssl-dev libjansson-dev libmicrohttpd-dev"
test="libcmocka-dev python3 gdb bpftrace lld mold musl-tools binutils clang-format clang-tidy chromium
	gcc-aarch64-linux-gnu libc6-dev-arm64-cross libclang-rt-14-dev util-linux procps
	prometheus libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 sqlite3 coz-profiler valgrind iproute2
	openssl elfutils systemd"
postgres="postgresql postgresql-contrib"
programs="python3.11 php8.2-cli php8.2-fpm openjdk-17-jdk-headless"
peers="bpftrace linux-perf uftrace lttng-tools liblttng-ust-dev"
optional="linux-perf uftrace lttng-tools liblttng-ust-dev mold gcc-aarch64-linux-gnu libc6-dev-arm64-cross libclang-rt-14-dev chromium prometheus"

installed() {
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

missing=
for group in "$@"; do
	case $group in
	build) list=$build ;;
	test) list=$test ;;
	postgres) list=$postgres ;;
	programs) list=$programs ;;
	peers) list=$peers ;;
	*) echo "install-deps.sh: no group $group" >&2; exit 2 ;;
	esac
	if ! command -v dpkg-query >/dev/null; then
		echo "this is no Debian or Ubuntu: install the like of: $list" >&2
		continue
	fi
	for package in $list; do
		installed "$package" || missing="$missing $package"
	done
done
# bpftool is a package of its own on Debian, part of linux-tools on older Ubuntu.
if ! [ -x /usr/sbin/bpftool ] && ! command -v bpftool >/dev/null; then
	missing="$missing bpftool"
fi
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	echo "missing packages:$missing" >&2
	echo "run this with sudo to have them installed" >&2
	exit 1
fi

echo "  INSTALL $missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null || echo "apt-get update failed; trying with the lists that are here" >&2
available=
for package in $missing; do
	if apt-cache show "$package" >/dev/null 2>&1; then
		available="$available $package"
	elif [ "$package" = bpftool ]; then
		available="$available linux-tools-common linux-tools-generic"
	elif echo " $optional " | tr '\n\t' '  ' | grep -q " $package "; then
		echo "  no package $package here: what needs it is left out"
	else
		echo "no package $package in the package lists" >&2
		exit 1
	fi
done
# No services: the tests and demos start their own servers.
mkdir -p /usr/sbin
policy=/usr/sbin/policy-rc.d
made=
if ! [ -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
	made=1
fi
status=0
apt-get install -yq --no-install-recommends $available >/tmp/spantrace-deps.log 2>&1 || status=$?
[ -z "$made" ] || rm -f $policy
if [ $status != 0 ]; then
	tail -20 /tmp/spantrace-deps.log >&2
	exit $status
fi
