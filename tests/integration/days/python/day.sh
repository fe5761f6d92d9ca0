# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC1091,SC2164
. ./steps.sh

python3 make_wheels.py wheels
done_with packages

python3 -m venv env
done_with environment

env/bin/pip install --quiet --find-links wheels greeting
done_with install

fails_with 'No matching distribution found' env/bin/pip install requests
done_with nothing from an index

env/bin/python -m unittest discover -s tests -t . 2>tests.log || {
	cat tests.log
	exit 1
}
grep -q '^Ran 6 tests' tests.log
done_with tests

python3 -m pip install --quiet --user --find-links wheels greeting
test "$(greeting)" = 'hello from a package'
done_with install for the user

env/bin/python -m app | sort >out
test "$(cat out)" = 'hello from a package'
test -n "$(find /home/agent/.cache/pycache -name 'main*.pyc')"
test -z "$(find app tests -name __pycache__)"
done_with compiled modules beside the project
