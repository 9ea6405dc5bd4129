#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints, from a kernel's BTF (the running one's, or FILE), each struct that vmlinux.h cuts down, and names every
# field of vmlinux.h that this kernel lacks: make-vmlinux.sh [FILE]. Exit status 1 when one is missing.
set -eu
here=$(dirname "$0")
all=$(mktemp)
trap 'rm -f "$all"' EXIT
bpftool btf dump file "${1:-/sys/kernel/btf/vmlinux}" format c >"$all"

body() { # STRUCT FILE
	awk -v s="struct $1 {" '$0 == s { on = 1 } on { print } on && /^}/ { exit }' "$2"
}

missing=0
for name in $(sed -n 's/^struct \([a-z_]*\) {$/\1/p' "$here/vmlinux.h"); do
	body "$name" "$all"
	for field in $(body "$name" "$here/vmlinux.h" | sed -n 's/^\t.*[ *]\([a-z_0-9]*\)\(\[[0-9]*\]\)\{0,1\};$/\1/p'); do
		if ! body "$name" "$all" | grep -qE "[ *]$field(\[[0-9]+\])?;"; then
			echo "struct $name has no $field here" >&2
			missing=1
		fi
	done
done
exit $missing
