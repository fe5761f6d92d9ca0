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

# One setting prints a line of its own: that of the limits, which javac and jar do not read.
says_only() { # TEXT FILE
	test "$(cat "$2")" = "$1"
	test "$(cat err)" = "NOTE: Picked up JDK_JAVA_OPTIONS: $JDK_JAVA_OPTIONS"
}

java -jar app.jar >out 2>err
says_only 'hello from a jar' out
done_with run

java -ea -Xmx256m -cp build/app:lib/greet.jar app.AppTest >tests.log 2>err || {
	cat tests.log err
	exit 1
}
says_only '5 tests passed' tests.log
done_with tests

mkdir -p /home/agent/.cache
java -XX:ArchiveClassesAtExit=/home/agent/.cache/app.jsa -jar app.jar >/dev/null 2>&1
java -XX:SharedArchiveFile=/home/agent/.cache/app.jsa -Xshare:on -jar app.jar >out 2>err
says_only 'hello from a jar' out
done_with cache
