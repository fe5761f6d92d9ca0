#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runtimes choose heaps and threads by a profile's limits, unless somebody says otherwise."""
import os
import shutil
import unittest

from config_support import WithFolder

OWN = """\
profiles:
  - name: own
    extends: default
    limits: {memory: 1G, cpu_percent: 150}
    environment:
      - GOMEMLIMIT=5MiB
  - name: all
    extends: default
    limits: {memory: 1G, cpu_percent: 0}
"""

# About 200 MiB are live at any time.
LIVE = """\
public class G {
  public static void main(String[] a) {
    long n = 0, end = System.currentTimeMillis() + 4000;
    Object[] ring = new Object[200];
    while (System.currentTimeMillis() < end && n < 20000) ring[(int) (n++ % 200)] = new byte[1 << 20];
    System.out.println(Runtime.getRuntime().maxMemory() >> 20);
  }
}
"""

LIVE_NODE = """\
const ring = [];
for (let i = 0; i < 400; i++) ring[i % 20] = new Array(1 << 20).fill(i);
console.log(Math.round(require("v8").getHeapStatistics().heap_size_limit / 2 ** 20));
"""


def variables(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


class Variables(WithFolder):
    def environment_of(self, profile, *options):
        config = self.write(OWN)
        return variables(self.output("env", options=[f"--config={config}", f"--profile={profile}", *options]))

    def test_of_the_default_profile(self):
        found = self.environment_of("default")
        self.assertEqual(found["JDK_JAVA_OPTIONS"], "-XX:MaxRAM=2048m -XX:ActiveProcessorCount=2")
        self.assertEqual(found["NODE_OPTIONS"], "--max-old-space-size=1433")
        self.assertEqual(found["GOMAXPROCS"], "2")
        self.assertEqual(found["DOTNET_GCHeapHardLimit"], "%x" % (2 ** 31 * 7 // 10))

    def test_they_follow_the_limits_of_a_profile_that_extends(self):
        found = self.environment_of("own")
        self.assertEqual(found["NODE_OPTIONS"], "--max-old-space-size=716")
        self.assertEqual(found["CARGO_BUILD_JOBS"], "2")
        self.assertIn("-XX:ActiveProcessorCount=2", found["JDK_JAVA_OPTIONS"])

    def test_the_profile_and_the_request_say_otherwise(self):
        self.assertEqual(self.environment_of("own")["GOMEMLIMIT"], "5MiB")
        found = self.environment_of("own", "--env=NODE_OPTIONS=--title=x", "--env=GOMEMLIMIT=off")
        self.assertEqual((found["NODE_OPTIONS"], found["GOMEMLIMIT"]), ("--title=x", "off"))

    def test_without_a_limit_of_processors_none_is_said(self):
        found = self.environment_of("all")
        for name in ("GOMAXPROCS", "OMP_THREAD_LIMIT", "CARGO_BUILD_JOBS", "DOTNET_PROCESSOR_COUNT"):
            self.assertNotIn(name, found)
        self.assertNotIn("Active", found["JDK_JAVA_OPTIONS"])

    def test_nothing_of_the_machine_is_said(self):
        """The same variables on every machine: they are in the plan of the build."""
        found = self.environment_of("default")
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        for value in found.values():
            self.assertNotIn(str(total), value)


class Runtimes(WithFolder):
    def has(self, program):
        if not shutil.which(program, path="/usr/local/bin:/usr/bin:/bin"):
            self.skipTest(f"no {program}")

    def test_java(self):
        self.has("java")
        with open(self.write(LIVE, "G.java"), encoding="utf-8") as file:
            text = file.read()
        script = f"cat >G.java <<'X'\n{text}X\njava G.java"
        result = self.run_msp("sh", "-c", script)
        self.assertEqual((result.returncode, int(result.stdout) <= 520), (0, True), result.stderr)
        own = self.run_msp("sh", "-c", script.replace("java G", "java -Xmx700m G"))
        self.assertGreater(int(own.stdout), 650, "the command line goes first")

    def test_node(self):
        self.has("node")
        result = self.run_msp("node", "-e", LIVE_NODE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLess(int(result.stdout), 1600)
        self.assertEqual(result.stderr, "")

    def test_go(self):
        self.has("go")
        result = self.run_msp("sh", "-c", "cat >m.go <<'X'\npackage main\nimport (\"fmt\"; \"runtime\"; "
                              "\"runtime/debug\")\nfunc main() { fmt.Println(runtime.GOMAXPROCS(0), "
                              "debug.SetMemoryLimit(-1) >> 20) }\nX\ngo run m.go")
        self.assertEqual(result.stdout, "2 1843\n", result.stderr)

    def test_nproc(self):
        result = self.output("nproc")
        self.assertEqual(int(result), min(2, len(os.sched_getaffinity(0))))


if __name__ == "__main__":
    unittest.main()
