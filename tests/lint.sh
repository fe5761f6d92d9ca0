#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/lint.sh KIND...: shell, man, format, tidy, cppcheck. All kinds run; fails if one did.
#
# shellcheck disable=SC2317 # kinds are called by name
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
FAILED=0

sources() { # SUFFIX... -> files of ours, NUL after each
	local suffix

	for suffix in "$@"; do
		find broker child-init common policy supervisor tests -name "*.$suffix" -print0
	done
}

lint_shell() {
	find dev .ci tests broker docs -type f -print0 | xargs -0 grep -lZE -m1 '^#!.*\b(ba)?sh$' |
		xargs -0 shellcheck
}

lint_man() {
	find docs/man -name '*.[1-9]' -print0 | xargs -0 -r mandoc -Tlint -W warning
}

lint_format() {
	sources c h | xargs -0 clang-format --dry-run -Werror
}

# The dev build's compile commands; generated sources are not ours to read.
lint_tidy() {
	cmake --preset dev >build/dev.log 2>&1 && cmake --build build/dev -- --quiet &&
		sources c | grep -zv '^tests/fuzz' |
		xargs -0 -n 8 -P "$(nproc)" clang-tidy --quiet -p build/dev
}

lint_cppcheck() {
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --enable=warning,portability \
		--suppress=missingInclude -D_GNU_SOURCE -D__x86_64__ -I. \
		broker child-init common policy supervisor
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
