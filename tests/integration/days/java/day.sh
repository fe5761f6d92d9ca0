# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC1091,SC2164
. ./steps.sh

mkdir lib manifest
javac -d build/greet greet/Greet.java
jar --create --file lib/greet.jar -C build/greet .
done_with package

javac -d build/app -cp lib/greet.jar app/App.java app/AppTest.java
printf 'Main-Class: app.App\nClass-Path: lib/greet.jar\n' >manifest/MF
jar --create --file app.jar --manifest manifest/MF -C build/app .
done_with build

# Nobody's setting prints a line of its own.
java -jar app.jar >out 2>&1
test "$(cat out)" = 'hello from a jar'
done_with run

java -ea -Xmx256m -cp build/app:lib/greet.jar app.AppTest >tests.log 2>&1 || {
	cat tests.log
	exit 1
}
test "$(cat tests.log)" = '5 tests passed'
done_with tests

mkdir -p /home/agent/.cache
java -XX:ArchiveClassesAtExit=/home/agent/.cache/app.jsa -jar app.jar >/dev/null 2>&1
java -XX:SharedArchiveFile=/home/agent/.cache/app.jsa -Xshare:on -jar app.jar >out 2>&1
test "$(cat out)" = 'hello from a jar'
done_with cache
