# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# What every day begins with. Each step says its name when it is done: where the names end is where
# the day went wrong.
set -eu

done_with() { echo "done: $*"; }

# Does a command fail, and say so with these words?
fails_with() { # WORDS COMMAND...
	words=$1
	shift
	if "$@" >/tmp/said 2>&1; then
		echo "this should have failed: $*"
		exit 1
	fi
	grep -q -e "$words" /tmp/said || {
		cat /tmp/said
		exit 1
	}
}
