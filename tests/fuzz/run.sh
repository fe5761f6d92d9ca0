#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target of the asan preset for a while each, as many at once as there are
# processors, from the kept inputs in corpus/, the seeds that the build writes, and what earlier runs
# found in build/fuzz/corpus/. A finding is left in build/fuzz/findings/; what ran is written to
# build/results/fuzz.json.
#
#   tests/fuzz/run.sh [--built] [--seconds N] [--steps FILE] [--merge] [TARGET...]
#
#   --merge   instead: reduce all known inputs to few that reach the same, and keep these in corpus/
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
SECONDS_EACH=60
STEPS=/dev/null
BUILT=0
MERGE=0
TARGETS=()
while [ $# -gt 0 ]; do
	case $1 in
	--built) BUILT=1 ;;
	--seconds) SECONDS_EACH=$2 && shift ;;
	--steps) STEPS=$2 && shift ;;
	--merge) MERGE=1 ;;
	-*) echo "fuzz: unknown option '$1'" >&2 && exit 64 ;;
	*) TARGETS+=("$1") ;;
	esac
	shift
done

# Freed memory is watched for a while, not for ever: with ASan's default the targets that make many
# objects are several times slower.
export ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=10
export UBSAN_OPTIONS=print_stacktrace=1

# The longest input: a message of small limits, or a few lines.
longest() { # TARGET
	case $1 in
	ipc_decode | channel_receive) echo 1024 ;;
	*) echo 4096 ;;
	esac
}

run_target() { # TARGET
	local found=build/fuzz/corpus/$1 findings=build/fuzz/findings/$1
	local kept=tests/fuzz/corpus/$1 seeds=build/asan/seeds/$1 options=()

	mkdir -p "$found" "$findings" "$kept" "$seeds"
	[ ! -f "tests/fuzz/dict/$1.dict" ] || options+=("-dict=tests/fuzz/dict/$1.dict")
	"build/asan/bin/fuzz-$1" -max_total_time="$SECONDS_EACH" -timeout=20 -rss_limit_mb=1024 \
		-print_final_stats=1 -max_len="$(longest "$1")" -artifact_prefix="$findings/" \
		"${options[@]}" "$found" "$kept" "$seeds" >"build/fuzz/$1.log" 2>&1
	echo $? >"build/fuzz/$1.status"
}

# The last number behind a word of libFuzzer's log; 0 when it did not get that far.
logged() { # TARGET PATTERN
	local number

	number=$(grep -aoE "$2" "build/fuzz/$1.log" | tail -n 1 | grep -oE '[0-9]+' | head -n 1)
	echo "${number:-0}"
}

# One line of fuzz.json, and what people read.
report_target() { # TARGET
	local runs seconds rate edges all corpus crashes=0 finding

	runs=$(logged "$1" 'number_of_executed_units: *[0-9]+')
	seconds=$(logged "$1" 'runs in [0-9]+')
	rate=$(logged "$1" 'average_exec_per_sec: *[0-9]+')
	edges=$(logged "$1" 'cov: [0-9]+')
	all=$(logged "$1" '\([0-9]+ inline 8-bit counters')
	corpus=$(logged "$1" 'corp: [0-9]+')
	if [ "$(cat "build/fuzz/$1.status")" = 0 ]; then
		printf 'passed\tfuzz: %s\n' "$1" >>"$STEPS"
	else
		crashes=1
		FAILED=1
		printf 'failed\tfuzz: %s\n' "$1" >>"$STEPS"
		tail -n 60 "build/fuzz/$1.log"
		finding=$(grep -ao 'Test unit written to .*' "build/fuzz/$1.log" | cut -d' ' -f5)
		printf 'fuzz: %s FOUND something; again: build/asan/bin/fuzz-%s %s\n' "$1" "$1" \
			"${finding:-(no input was left: see build/fuzz/$1.log)}"
	fi
	printf 'fuzz: %-16s %10s inputs in %4s s, %7s/s, %5s of %5s edges, %5s kept\n' \
		"$1" "$runs" "$seconds" "$rate" "$edges" "$all" "$corpus"
	JSON+=$(printf '%s\n "%s": {"executions": %s, "seconds": %s, "exec_per_s": %s, "corpus": %s, "edges": %s, "edges_in_all": %s, "crashes": %s}' \
		"${JSON:+,}" "$1" "$runs" "$seconds" "$rate" "$corpus" "$edges" "$all" "$crashes")
}

# What is reached counts, not how often, and what the seeds reach is not kept a second time. libFuzzer
# names what it keeps by its SHA-1.
merge_target() { # TARGET
	local kept=tests/fuzz/corpus/$1 merged=build/fuzz/merged/$1 seed

	rm -rf "$merged"
	mkdir -p "$merged" "$kept" "build/fuzz/corpus/$1" "build/asan/seeds/$1"
	for seed in "build/asan/seeds/$1"/*; do
		[ ! -f "$seed" ] || cp "$seed" "$merged/seed-${seed##*/}"
	done
	"build/asan/bin/fuzz-$1" -merge=1 -use_counters=0 -max_len="$(longest "$1")" "$merged" \
		"$kept" "build/fuzz/corpus/$1" >"build/fuzz/$1.merge.log" 2>&1 || {
		tail -n 20 "build/fuzz/$1.merge.log"
		return 1
	}
	rm -rf "$kept" "$merged"/seed-*
	cp -r "$merged" "$kept"
	printf 'fuzz: %-16s %5s inputs kept\n' "$1" "$(find "$kept" -type f | wc -l)"
}

mkdir -p build/results
if [ "$BUILT" -eq 0 ]; then
	cmake --preset asan >build/asan.log 2>&1 || { cat build/asan.log && exit 1; }
	cmake --build build/asan --target fuzz-all -- --quiet || exit 1
fi
if [ ${#TARGETS[@]} -eq 0 ]; then
	for program in build/asan/bin/fuzz-*; do
		TARGETS+=("${program##*/fuzz-}")
	done
fi
for target in "${TARGETS[@]}"; do
	[ -x "build/asan/bin/fuzz-$target" ] || { echo "fuzz: no target '$target'" >&2 && exit 64; }
done
FAILED=0
JSON=
if [ "$MERGE" -eq 1 ]; then
	for target in "${TARGETS[@]}"; do
		merge_target "$target" || FAILED=1
	done
	exit "$FAILED"
fi
for target in "${TARGETS[@]}"; do
	while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do
		wait -n
	done
	run_target "$target" &
done
wait
for target in "${TARGETS[@]}"; do
	report_target "$target"
done
printf '{%s\n}\n' "$JSON" >build/results/fuzz.json
exit "$FAILED"
