# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC1091,SC2164
. ./steps.sh
cd app

go mod init example.test/app 2>/dev/null
go mod edit -require example.test/greet@v0.0.0 -replace example.test/greet=../greet
done_with project

go build -o app .
test "$(./app)" = 'hello from a module'
done_with build with a local module

go mod vendor
mv ../greet ../elsewhere
go build -o app .
test "$(./app)" = 'hello from a module'
done_with build with vendored modules

rm -r vendor
mv ../elsewhere ../greet
fails_with GOPROXY=off go get example.test/absent
done_with nothing from a proxy

go test -v . >tests.log || {
	cat tests.log
	exit 1
}
test "$(grep -c '^--- PASS' tests.log)" = 4
done_with tests

go install .
test "$(app)" = 'hello from a module'
done_with install for the user

test -n "$(find /home/agent/.cache/go-build -name '*-d')"
done_with cache
