#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds and runs the test suites of the checkout it lies in, as the user it is started by, and
# leaves what happened in build/results/ for tests/summary.py. `./dev test` starts it.
#
#   tests/run.sh                 everything
#   tests/run.sh --only REGEX    the tests of the dev build whose name matches
#   tests/run.sh --root-start    what can be shown as root alone
#
# shellcheck disable=SC2317 # steps are called by name
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
RESULTS=$PWD/build/results
JOBS=$(nproc)
FUZZ_SECONDS=${FUZZ_SECONDS:-5}
FAILED=0

# Run a step; its outcome is a line in steps.tsv, its output goes to the terminal and a log.
step() { # NAME COMMAND...
	local name=$1 status=passed
	shift
	printf '\n== %s\n' "$name"
	if ! "$@" 2>&1 | tee "$RESULTS/$(tr -c 'a-z0-9\n' - <<<"$name").log"; then
		status=failed
		FAILED=1
	fi
	printf '%s\t%s\n' "$status" "$name" >>"$RESULTS/steps.tsv"
	[ "$status" = passed ]
}

build() { # PRESET [TARGET]
	cmake --preset "$1" >"build/$1.log" 2>&1 || {
		cat "build/$1.log"
		return 1
	}
	cmake --build "build/$1" ${2:+--target "$2"} -- --quiet
}

run_ctest() { # SUITE PRESET ARGUMENTS...
	local suite=$1 preset=$2
	shift 2
	printf '\n== tests: %s\n' "$suite"
	ctest --test-dir "build/$preset" -j "$JOBS" --output-on-failure --no-tests=error \
		--test-output-size-passed 1000000 --test-output-size-failed 1000000 \
		--output-junit "$RESULTS/$suite.xml" "$@" || FAILED=1
}

run_all() {
	step 'build: release' build release
	step 'build: dev' build dev && run_ctest dev dev
	step 'build: asan' build asan && run_ctest asan asan -L unit
	step 'build: fuzz' build fuzz fuzz-all && tests/fuzz/run.sh --built --seconds "$FUZZ_SECONDS" \
		--steps "$RESULTS/steps.tsv" || FAILED=1
	step 'lint: shell' tests/lint.sh shell
	step 'lint: man pages' tests/lint.sh man
}

run_root_start() {
	local script

	export MSP_BIN=$PWD/build/release/bin
	for script in tests/root/*.py tests/integration/*_root.py; do
		step "as root: $(basename "$script" .py)" python3 -B "$script"
	done
}

mkdir -p "$RESULTS"
case ${1:-} in
--only) step 'build: dev' build dev && run_ctest dev dev -R "${2:?a regular expression}" ;;
--root-start) run_root_start ;;
'') run_all ;;
*)
	echo "run.sh: unknown option '$1'" >&2
	exit 64
	;;
esac
exit "$FAILED"
