#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target of the fuzz preset for a while each, from its seeds in corpus/ and what
# earlier runs found in build/fuzz/corpus/. A finding is left in build/fuzz/findings/.
#
#   tests/fuzz/run.sh [--built] [--seconds N] [--steps FILE]
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
SECONDS_EACH=60
STEPS=/dev/null
BUILT=0
FAILED=0
while [ $# -gt 0 ]; do
	case $1 in
	--built) BUILT=1 ;;
	--seconds) SECONDS_EACH=$2 && shift ;;
	--steps) STEPS=$2 && shift ;;
	*) echo "fuzz: unknown option '$1'" >&2 && exit 64 ;;
	esac
	shift
done

run_target() { # PROGRAM
	local name=${1##*/fuzz-}
	local found=build/fuzz/corpus/$name findings=build/fuzz/findings/$name seeds=()

	mkdir -p "$found" "$findings"
	[ ! -d "tests/fuzz/corpus/$name" ] || seeds=("tests/fuzz/corpus/$name")
	[ ! -d "build/fuzz/seeds/$name" ] || seeds+=("build/fuzz/seeds/$name")
	"$1" -max_total_time="$SECONDS_EACH" -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
		-max_len=8192 -artifact_prefix="$findings/" "$found" "${seeds[@]}" \
		>"build/fuzz/$name.log" 2>&1
}

if [ "$BUILT" -eq 0 ]; then
	cmake --preset fuzz >build/fuzz.log 2>&1 || { cat build/fuzz.log && exit 1; }
	cmake --build build/fuzz --target fuzz-all || exit 1
fi
for program in build/fuzz/bin/fuzz-*; do
	name=${program##*/fuzz-}
	if run_target "$program"; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$name.log")
		printf 'fuzz: %-12s %12s inputs in %s s, no finding\n' "$name" "$runs" "$SECONDS_EACH"
		printf 'passed\tfuzz: %s\n' "$name" >>"$STEPS"
	else
		tail -n 40 "build/fuzz/$name.log"
		printf 'fuzz: %-12s FOUND something: build/fuzz/findings/%s\n' "$name" "$name"
		printf 'failed\tfuzz: %s\n' "$name" >>"$STEPS"
		FAILED=1
	fi
done
exit "$FAILED"
