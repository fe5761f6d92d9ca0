# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC1091,SC2164
. ./steps.sh

npm pack --silent ./left >/dev/null
done_with package

npm install --silent ./left-1.0.0.tgz
test -f package-lock.json
done_with install

fails_with ENOTCACHED npm install express
done_with nothing from a registry

rm -r node_modules
npm ci --silent
done_with install again from the lock file

npm run --silent build
test "$(node out/main.js)" = '   7'
done_with build

node --test >tests.log || {
	cat tests.log
	exit 1
}
test "$(grep -c -E 'package|threads|processes|development server|watching files' tests.log)" -ge 5
done_with tests

npm install --silent --global ./left-1.0.0.tgz
test "$(left-pad 8)" = '   8'
done_with install for the user

test -d /home/agent/.cache/npm/_cacache
done_with cache
