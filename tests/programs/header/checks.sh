# SPDX-License-Identifier: MIT
# What the checks of usdt/spantrace.h share: its warnings, what the programs here say of themselves, and a runner of many
# small checks side by side. A script that sources it defines a check_KIND for each kind, then calls
#
#   checks_begin "$@"   runs the one check in its arguments and ends; goes on if there is none
#   add KIND ARG...     notes a check
#   checks_end          runs all of them, counts, and is true if none failed
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
PROGRAMS=$ROOT/tests/programs/header
WARNINGS=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align
	-Wundef -Wunused -Werror)
C_WARNINGS=(-Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wnested-externs
	-Wredundant-decls -Wbad-function-cast)
CXX_WARNINGS=(-Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual)

# compile COMPILER FLAGS...: the command, with the warnings of its language
compile() {
	local compiler=$1
	shift
	local flags=("${WARNINGS[@]}")
	case $compiler in
	*++) flags+=("${CXX_WARNINGS[@]}") ;;
	*) flags+=("${C_WARNINGS[@]}") ;;
	esac
	[[ $compiler == g++ ]] && flags+=(-Wuseless-cast)
	# sys/sdt.h itself is not that clean.
	[[ $* == *own_probes.c* ]] && flags+=(-Wno-pedantic)
	"$compiler" "${flags[@]}" -I"$ROOT/usdt" "$@"
}

# expected HEADING SOURCE...: what stands under HEADING in the sources' comments
expected() {
	local heading=$1
	shift
	awk -v heading="$heading:" '
		$1 == "*" && $2 == heading { on = 1; next }
		$1 == "*" && NF > 1 && on { sub(/^ *\* */, ""); print; next }
		{ on = 0 }' "$@"
}

# A check has a name of its own for what it makes: $OUT, in $WORK.
checks_begin() {
	local output
	if (($#)); then
		OUT=$(mktemp -p "$WORK" "$1.XXXXXX")
		if output=$("check_$1" "${@:2}" 2>&1); then
			echo "ok $*"
		else
			printf 'FAIL %s\n%s\n' "$*" "$output"
		fi
		exit 0
	fi
	WORK=$(mktemp -d)
	export WORK
	trap 'rm -rf "$WORK"' EXIT
	left_out=()
}

# Whether a tool is there; those that are not are named at the end.
have() {
	command -v "$1" >/dev/null && return
	left_out+=("$1")
	return 1
}

add() {
	printf '%s\n' "$*" >>"$WORK/jobs"
}

checks_end() {
	local passed failed
	xargs -P "$(nproc)" -I{} bash -c "$(printf '%q' "$0") {}" <"$WORK/jobs" >"$WORK/results"
	grep -v '^ok ' "$WORK/results" || true
	passed=$(grep -c '^ok ' "$WORK/results" || true)
	failed=$(($(wc -l <"$WORK/jobs") - passed))
	if ((${#left_out[@]})); then
		echo "not installed, left out: ${left_out[*]}"
	fi
	echo "$passed passed, $failed failed, 0 skipped"
	((failed == 0))
}
