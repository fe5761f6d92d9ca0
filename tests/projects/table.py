# SPDX-License-Identifier: Apache-2.0
"""The projects whose own test suites run outside and inside of a sandbox. Nothing here is a test."""
import collections

# `origin` is "debian:SOURCE", a source package of this release of Debian without Debian's patches, or
# "npm:PACKAGE@VERSION". `folder` is the project's folder in the workspace. `prepare` runs outside,
# with a network; `command` runs in the workspace, outside and inside, in bash with the
# project's folder as its directory. `counts` has the regular expressions of the suite's own words:
# the sum of the first group or, without a group, the number of matches.
Project = collections.namedtuple("Project", "name origin profile packages folder prepare command counts")

NPM_INSTALL = "npm install --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error"

TAP = {"passed": r"^ *ok \d", "failed": r"^ *not ok \d"}

JAVA = r"""
path=target:src/main/resources:src/test/resources
path+=$(printf ':%s' /usr/share/java/{junit4,hamcrest*,commons-lang3}.jar)
mkdir target
find src -name '*.java' >target/sources
javac -J-Xmx512m -nowarn -encoding UTF-8 -d target -cp "$path" @target/sources
cd src/test/java
classes=$(find . -name '*Test.java' ! -name '*AbstractTest.java' -printf '%P\n' | sort)
cd ../../..
java -Xmx512m -cp "$path" org.junit.runner.JUnitCore $(sed 's/\.java$//; s,/,.,g' <<<"$classes")
"""

PROJECTS = (
    Project("Jinja2", "debian:jinja2", "python-dev", ["python3-pytest", "python3-markupsafe"], ".",
            None,
            # The suite takes each warning for an error, also of pytest about its own future.
            "PYTHONPATH=src python3 -m pytest -q -p no:cacheprovider -W 'ignore:Support for nose'",
            {"passed": r"(\d+) passed", "failed": r"(\d+) failed", "errors": r"(\d+) error"}),
    Project("Express", "debian:node-express", "node-dev", ["npm"], ".", NPM_INSTALL,
            # As "npm test", which ends with the first failure, and has 2 s for each case.
            "npm run test-tap -- --timeout 60000", TAP),
    Project("zlib", "debian:zlib", "default", ["gcc", "libc6-dev", "make"], ".", None,
            "./configure && make test",
            {"passed": r"\*\*\* zlib .*test OK \*\*\*", "failed": r"\*\*\* zlib .*test FAILED \*\*\*",
             "inflated": r"^(?:inflate|large_inflate|uncompress|gzread)\(\): "}),
    Project("jq", "debian:jq", "default",
            ["gcc", "libc6-dev", "make", "autoconf", "automake", "libtool", "bison", "flex", "libonig-dev"],
            ".", None,
            # Under valgrind, which the suite uses if it can, it takes ten times as long.
            "autoreconf -fi && ./configure --disable-docs --disable-valgrind && "
            "{ make check; code=$?; cat tests/*.log; exit $code; }",
            {"passed": r"^# PASS: +(\d+)", "failed": r"^# FAIL: +(\d+)", "errors": r"^# ERROR: +(\d+)",
             "cases": r"^(\d+) of \d+ tests passed"}),
    Project("cobra", "debian:golang-github-spf13-cobra", "go-dev",
            ["golang-go", "golang-github-spf13-pflag-dev", "golang-gopkg-yaml.v3-dev",
             "golang-github-inconshreveable-mousetrap-dev", "golang-github-cpuguy83-go-md2man-v2-dev"],
            "src/github.com/spf13/cobra", None,
            # Debian's libraries are a GOPATH.
            "export GO111MODULE=off GOPATH=${PWD%/src/github.com/*}:/usr/share/gocode && go test -v ./...",
            {"passed": r"^ *--- PASS", "failed": r"^ *--- FAIL", "left out": r"^ *--- SKIP"}),
    # The last version with the tests in its package.
    Project("semver", "npm:semver@5.1.0", "node-dev", ["npm"], ".", NPM_INSTALL, "npm test", TAP),
    Project("commons-codec", "debian:libcommons-codec-java", "java-dev",
            ["default-jdk-headless", "junit4", "libhamcrest-java", "libcommons-lang3-java"], ".", None,
            JAVA, {"passed": r"^OK \((\d+) tests?\)", "run": r"^Tests run: (\d+)",
                   "failed": r"^Tests run: \d+,  Failures: (\d+)"}),
)
