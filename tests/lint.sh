#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/lint.sh KIND...: shell, man, format, tidy, cppcheck, analyze. All kinds run; fails if one did.
#
# shellcheck disable=SC2317 # kinds are called by name
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
FAILED=0

# The folders of our programs and libraries: each is a part of the build.
PARTS=()
for part in */CMakeLists.txt; do
	[ "$part" = tests/CMakeLists.txt ] || PARTS+=("${part%/*}")
done

sources() { # SUFFIX... -> files of ours, NUL after each
	local suffix

	for suffix in "$@"; do
		find "${PARTS[@]}" tests -name "*.$suffix" -print0
	done
}

lint_shell() {
	find dev .ci tests broker docs packaging -type f -print0 | xargs -0 grep -lZE -m1 '^#!.*\b(ba)?sh$' |
		xargs -0 shellcheck
}

# lintian has groff's warnings, with which groff ends with 0 all the same.
lint_man() {
	local said

	find docs/man -name '*.[1-9]' -print0 | xargs -0 -r mandoc -Tlint -W warning || return
	said=$(find docs/man -name '*.[1-9]' -print0 |
		LC_ALL=C.UTF-8 xargs -0 -r -n 1 groff -mandoc -Tutf8 -rLL=80n -z 2>&1) || return
	[ -z "$said" ] || {
		printf '%s\n' "$said" >&2
		return 1
	}
}

lint_format() {
	sources c h | xargs -0 clang-format --dry-run --Werror
}

# With the compile commands of a build by clang: gcc's flags are not all known to it. The whole is
# built for the headers that the build writes; that it builds is worth knowing too.
lint_tidy() {
	{
		cmake -G Ninja -B build/tidy -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
			-DMSP_STATIC=OFF && cmake --build build/tidy
	} >build/tidy.log 2>&1 || {
		cat build/tidy.log
		return 1
	}
	# One file at a time: clang-tidy 14 carries false findings from one to the next.
	find "${PARTS[@]}" -name '*.c' -print0 |
		xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p build/tidy
}

lint_cppcheck() {
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --enable=warning,portability \
		--suppress=missingInclude -D_GNU_SOURCE -D__x86_64__ -I. -Isupervisor \
		"${PARTS[@]}"
}

# gcc's analyzer, all of our programs; its warnings are errors.
lint_analyze() {
	{
		cmake --preset analyze && cmake --build build/analyze -- --quiet -k 0
	} >build/analyze.log 2>&1 || {
		grep -A 12 'error:' build/analyze.log || cat build/analyze.log
		return 1
	}
}

for kind in "$@"; do
	if [ "$(type -t "lint_$kind")" != function ]; then
		echo "lint.sh: unknown kind '$kind'" >&2
		exit 64
	fi
	if "lint_$kind"; then
		echo "lint: $kind: clean"
	else
		echo "lint: $kind: failed"
		FAILED=1
	fi
done
exit "$FAILED"
