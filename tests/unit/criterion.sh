#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# criterion.sh PROGRAM [ARGUMENT...]: runs a Criterion program under a process id whose socket is
# free. Criterion listens at /tmp/criterion_PID.sock and one that was killed leaves it behind;
# another user's cannot be removed, and a program that gets that id later does not start.
socket="/tmp/criterion_$$.sock"
if [ -e "$socket" ] && ! rm -f "$socket" 2>/dev/null; then
	"$0" "$@"
	exit
fi
exec "$@"
