#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds and runs the test suites of the checkout it lies in, as the user it is started by, and
# leaves what happened in build/results/ for tests/summary.py. `./dev test` starts it, some parts
# beside others: each has a file of steps of its own.
#
#   tests/run.sh --build         the dev build
#   tests/run.sh --tests         its tests but the unit tests
#   tests/run.sh --idle          fuzz targets, other builds, lint: it may have the rest of the time
#   tests/run.sh --checks        the unit tests with sanitizers
#   tests/run.sh --only REGEX    the tests of the dev build whose name matches
#   tests/run.sh --root-start    what can be shown as root alone
#   tests/run.sh --conformance   the conformance suite of MCP; arguments go to it
#   tests/run.sh --projects      test suites of real projects; arguments are names of projects
#   tests/run.sh --coverage      line coverage over the suites
#   tests/run.sh --soak N        N executions through one server
#   tests/run.sh --system PLACE BUILD [TEST...]
#                                what needs cgroup v2 and a user's systemd; PLACE: host, vm,
#                                nowhere (a failure) or left-out (as somebody asked)
#
# MSP_TEST_ALL=ON: every case, long sweeps, gcc's analyzer and clang-tidy. MSP_TEST_BEGAN: when it all began.
#
# shellcheck disable=SC2317 # steps are called by name
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
RESULTS=$PWD/build/results
export MSP_RESULTS=$RESULTS # where tests leave figures for docs/reliability.md
SLOTS=$((3 * $(nproc))) # tests/CMakeLists.txt says how many a test takes
STEPS=$RESULTS/steps-$(tr -c 'a-z0-9\n' - <<<"${1:-}" | sed 's/^-*//').tsv
FUZZ_SECONDS=${FUZZ_SECONDS:-2}
VM_SECONDS=1800
MACHINES=$(($(nproc) > 1 ? 2 : 1)) # a test machine has one processor
BEGAN=${MSP_TEST_BEGAN:-$EPOCHSECONDS}
UNSTEADY_MOST=12
FAILED=0
ALL=${MSP_TEST_ALL:-OFF}

# Say how a stage went, and how long it took.
progress() { # NAME STATUS BEGIN
	printf '== %s: %s in %d s, %d s since the start\n' "$1" "$2" $((SECONDS - $3)) \
		$((EPOCHSECONDS - BEGAN))
}

# Run a step; its outcome is a line in $STEPS, its output goes to the terminal and a log.
step() { # NAME COMMAND...
	local name=$1 status=passed begin=$SECONDS
	shift
	printf '\n== %s\n' "$name"
	if ! "$@" 2>&1 | tee "$RESULTS/$(tr -c 'a-z0-9\n' - <<<"$name").log"; then
		status=failed
		FAILED=1
	fi
	printf '%s\t%s\n' "$status" "$name" >>"$STEPS"
	progress "$name" "$status" "$begin"
	[ "$status" = passed ]
}

# What was asked to be left out is a line too.
skip() { # NAME COMMAND THAT SAYS WHAT...
	printf '\n== %s\n' "$1"
	"${@:2}"
	printf 'skipped\t%s\n' "$1" >>"$STEPS"
}

build() { # PRESET [TARGET [OPTION...]]
	cmake --preset "$1" -DMSP_TEST_ALL="$ALL" "${@:3}" >"build/$1.log" 2>&1 || {
		cat "build/$1.log"
		return 1
	}
	cmake --build "build/$1" ${2:+--target "$2"} -- --quiet
}

run_ctest() { # PRESET FILE ARGUMENTS...
	ctest --test-dir "build/$1" --output-on-failure --no-tests=error \
		--test-output-size-passed 1000000 --test-output-size-failed 1000000 \
		--output-junit "$RESULTS/$2.xml" "${@:3}"
}

# Tests that failed among others run again, one by one: those that pass then are called unsteady by
# tests/summary.py. Where many failed, the machine is not the reason.
run_again() { # PRESET
	local failed=build/$1/Testing/Temporary/LastTestsFailed.log

	[ -s "$failed" ] && [ "$(wc -l <"$failed")" -le "$UNSTEADY_MOST" ] || return
	printf '\n== tests once more, alone: %s\n' "$1"
	run_ctest "$1" "$1-alone" --rerun-failed -j 1
}

run_suite() { # PRESET ARGUMENTS...
	local status=passed begin=$SECONDS

	rm -f "build/$1/Testing/Temporary/LastTestsFailed.log"
	printf '\n== tests: %s\n' "$1"
	run_ctest "$1" "$1" -j "$SLOTS" "${@:2}" || run_again "$1" || {
		status=failed
		FAILED=1
	}
	progress "tests: $1" "$status" "$begin"
}

run_only() { # REGEX
	step 'build: dev' build dev || return
	run_ctest dev dev -j "$SLOTS" -R "$1" || FAILED=1
}

# Where the kernel shares the processors out among sessions first (sched_autogroup), what is idle in
# one session takes as much as a test in another: this session counts least.
count_least() {
	local file=/proc/self/autogroup try

	[ -w "$file" ] || return 0
	for try in 1 2 3 4 5; do # the kernel takes no more than ten a second
		{ echo 19 >"$file"; } 2>/dev/null && return
		sleep "0.$try"
	done
}

in_idle_session() { # OPTION of this script
	local session

	setsid "$PWD/tests/run.sh" "$1" &
	session=$!
	trap 'kill -- "-$session"' TERM
	wait "$session"
}

# Each target is a step.
run_fuzz() {
	local status=passed begin=$SECONDS

	printf '\n== fuzz targets\n'
	tests/fuzz/run.sh --built --seconds "$FUZZ_SECONDS" --steps "$STEPS" || {
		status=failed
		FAILED=1
	}
	progress 'fuzz targets' "$status" "$begin"
}

run_idle() {
	count_least
	step 'build: fuzz' build asan fuzz-all && run_fuzz
	step 'build: asan' build asan unit-tests
	step 'lint: shell' tests/lint.sh shell
	step 'lint: man pages' tests/lint.sh man
	step 'lint: format' tests/lint.sh format
	step 'lint: cppcheck' tests/lint.sh cppcheck
	[ "$ALL" = OFF ] || step 'lint: analyze' tests/lint.sh analyze
	[ "$ALL" = OFF ] || step 'lint: tidy' tests/lint.sh tidy
	step 'build: release' build release
}

# The tests of the dev build but the unit tests, which tell most with sanitizers: --all runs these in
# both builds.
run_tests() {
	if [ "$ALL" = ON ]; then
		run_suite dev
	else
		run_suite dev -LE '^unit$'
	fi
}

# A build that failed was a failed step. The search for leaks at each case's end takes as long as all
# the rest of it; freed memory that is kept until 256 MiB are full, as is the default, takes as long again.
run_checks() {
	export ASAN_OPTIONS=quarantine_size_mb=1
	[ "$ALL" = ON ] || ASAN_OPTIONS+=:detect_leaks=0
	build asan unit-tests >/dev/null && run_suite asan -L '^unit$'
}

run_root_start() {
	local script

	export MSP_BIN=$PWD/build/release/bin
	for script in tests/root/*.py tests/integration/*_root.py; do
		step "as root: $(basename "$script" .py)" python3 -B "$script"
	done
}

# The machine's own limit is a little longer: what was found until then shall come back.
in_machine() { # K/N BUILD TEST...
	local share=$1 build=$2 every=()
	shift 2
	[ "$ALL" = OFF ] || every=(--all)
	tests/system/vm/start "$build" --out "$RESULTS/machine-${share%/*}" \
		--seconds $((VM_SECONDS + 60)) -- tests/system/guest.py --vm --seconds "$VM_SECONDS" \
		--share "$share" --build build --out out ${every[@]+"${every[@]}"} "$@" 2>&1 | sed -u "s/^/${share%/*}: /"
}

# The one with the kernel of Debian 12, for the test that is about it.
in_old_machine() { # BUILD
	tests/system/vm/start "$1" --kernel vmlinux-old --out "$RESULTS/machine-old" \
		--seconds $((VM_SECONDS + 60)) -- env MSP_KERNEL=6.1 tests/system/guest.py --vm \
		--seconds "$VM_SECONDS" --build build --out out system/old_kernel 2>&1 | sed -u 's/^/old: /'
}

# What a machine left, among what the others did.
gather() { # K|old
	local folder=$RESULTS/machine-$1 file

	[ -d "$folder" ] || return 0 # it says why
	mkdir -p "$RESULTS/system"
	for file in "$folder"/system/*.jsonl; do
		[ ! -e "$file" ] || cat "$file" >>"$RESULTS/system/${file##*/}"
	done
	mv "$folder/system.xml" "$RESULTS/system-$1.xml"
	[ ! -e "$folder/system-alone.xml" ] ||
		mv "$folder/system-alone.xml" "$RESULTS/system-$1-alone.xml"
	mv "$folder"/*.log "$RESULTS"
	rm -r "$folder"
}

# Those that were named are for one machine; all of them are shared out. The old kernel's comes last.
system_in_vm() { # BUILD TEST...
	local count=$MACHINES code=0 machines=() k

	tests/system/vm/build >/dev/null || return # for all of them
	[ $# -eq 1 ] || count=1
	[ "${*:2}" != system/old_kernel ] || count=0
	for ((k = 1; k <= count; k++)); do
		in_machine "$k/$count" "$@" &
		machines+=($!)
	done
	for ((k = 1; k <= count; k++)); do
		wait "${machines[k - 1]}" || code=$?
		gather "$k"
	done
	if [ $# -eq 1 ] || [ "$count" -eq 0 ]; then
		in_old_machine "$1" || code=$?
		gather old
	fi
	return "$code"
}

system_on_host() { # BUILD TEST...
	local build=$1
	shift
	python3 -B tests/system/guest.py --seconds "$VM_SECONDS" --build "$build" --out "$RESULTS" "$@"
}

not_tested() { # BUILD
	echo "NOT TESTED: what depends on cgroup v2 and a systemd of the user (limits, scopes, services)."
	echo 'There these would run:'
	python3 -B tests/system/guest.py --list --build "$1" --out "$RESULTS"
}

impossible() { # BUILD
	not_tested "$1"
	echo "This host has neither a user's systemd that hands cpu, memory and pids on, nor may QEMU be"
	echo 'installed for the test machine (./dev vm). ./dev test --host-only accepts that.'
	return 1
}

run_system() { # PLACE BUILD [TEST...]
	local place=$1
	shift
	case $place in
	host) step 'system tests on this host' system_on_host "$@" ;;
	vm) step 'system tests in the test machine' system_in_vm "$@" ;;
	nowhere) step 'system tests' impossible "$@" ;;
	left-out) skip 'system tests' not_tested "$@" ;;
	*) echo "run.sh: no place is called '$place'" >&2 && exit 64 ;;
	esac
}

# What msp records of the tests is not for the log of whoever runs them. Root's msp becomes another
# account, which finds a place of its own.
keep_state() {
	MSP_STATE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/msp-test-state-XXXXXX") || exit 1
	export MSP_STATE_DIR
	trap 'rm -rf "$MSP_STATE_DIR"' EXIT
}

mkdir -p "$RESULTS"
[ "$(id -u)" = 0 ] || keep_state
case ${1:-} in
--only) run_only "${2:?a regular expression}" ;;
--root-start) run_root_start ;;
--conformance)
	build dev || exit 1
	MSP_BUILD=$PWD/build/dev python3 -B tests/conformance/conformance.py "${@:2}"
	exit
	;;
--projects)
	build dev || exit 1
	MSP_BIN=$PWD/build/dev/bin python3 -B tests/projects/projects.py "${@:2}"
	exit
	;;
--coverage) step 'coverage' tests/coverage/run.py ;;
--soak) step 'build: release' build release &&
	step 'soak' env MSP_BIN="$PWD/build/release/bin" python3 -B tests/soak/soak.py --executions "${2:?a number}" ;;
--system) run_system "${@:2}" ;;
--build) step 'build: dev' build dev all -DMSP_UNIT_TESTS="$ALL" ;; # as --tests needs it
--tests) run_tests ;;
--idle) in_idle_session --idle-steps || FAILED=1 ;;
--idle-steps) run_idle ;;
--checks) run_checks ;;
*)
	echo "run.sh: unknown option '${1:-}'" >&2
	exit 64
	;;
esac
exit "$FAILED"
