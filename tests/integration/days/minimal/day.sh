# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC1091,SC2164
. ./steps.sh

for number in 3 1 2; do echo "$number"; done | sort | awk '{ sum += $1; print }' >sorted
test "$(tr '\n' ' ' <sorted)" = '1 2 3 '
cp -p sorted /tmp/copy
ls -l /tmp/copy >listed 2>&1
test "$(wc -l <listed)" = 1
done_with files and pipes

mkfifo queue
(echo through a queue >queue) &
test "$(cat queue)" = 'through a queue'
wait
trap 'echo caught >signal' USR1
kill -USR1 $$
test "$(cat signal)" = caught
done_with processes and signals

chmod 700 program
test "$(./program version | cut -d ' ' -f 1)" = msp
done_with a static program

/bin/sh -c 'exit 7' || test $? = 7
date >/dev/null
done_with dynamic programs
