#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bench's judgements, from figures that were made up: what the regression gate says, what it
refuses, and how targets are told. Nothing here is measured."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import tree

BENCH = os.path.join(tree.ROOT, "tests", "bench")
sys.path.insert(0, BENCH)
import bench  # noqa: E402
import context  # noqa: E402
import gate  # noqa: E402
import groups  # noqa: E402
import image_costs  # noqa: E402
import launch  # noqa: E402
import machines  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
import runtime_costs  # noqa: E402
import runtime_page  # noqa: E402
import stats  # noqa: E402
import targets  # noqa: E402

FACTS = {"kernel": "6.12", "cpus": 2, "limits": "cgroup"}
CALL = "MCP run_command"
# A machine's noise, the same each time: factors of one round after another.
WOBBLE = (1.0, 1.04, 0.97, 1.01, 0.99, 1.06, 0.95, 1.02)


def launches(ratio=1.3, sandbox=0.2, wobble=WOBBLE, extra=(), rate=0.5):
    """Groups of a run in which a call took `ratio` of bare, and its stage `sandbox` so much."""
    bare = [1000.0 * factor for factor in wobble]

    def times(share):
        return [share * value * factor for value, factor in zip(bare, wobble[::-1])]

    found = [groups.Group("true", "Launch", "us", {"bare": bare, CALL: times(ratio)}, base="bare",
                          ours=[CALL], job="launch"),
             groups.Group("stages", "Stages", "us",
                          {"bare": bare, f"{CALL}: queue": times(0.05),
                           f"{CALL}: sandbox": times(sandbox),
                           f"{CALL}: run": times(0.8)}, base="bare",
                          ours=[f"{CALL}: {name}" for name in ("queue", "sandbox", "run")],
                          stages=True, job="stages"),
             groups.Group("stream", "Output", "MB/s", {"bare": bare, "msp run": times(rate)},
                          base="bare", ours=["msp run"], rate=True, job="stream")]
    return found + [groups.Group(name, name, "us", {"bare": bare, CALL: times(1)}, base="bare",
                                 ours=[CALL], job=name) for name in extra]


def reference(**keywords):
    runs = [launches(1.3 * factor, wobble=WOBBLE[number:] + WOBBLE[:number], **keywords)
            for number, factor in enumerate((1.0, 1.03, 0.98, 1.01, 0.99))]
    return gate.make(runs)


class Measures:
    """Made-up runs one after another, the last one again and again; the first is in `first`."""

    def __init__(self, *runs):
        self.first, *self.runs = runs
        self.runs, self.asked = self.runs or [self.first], []

    def __call__(self, jobs):
        self.asked.append(jobs)
        found = self.runs.pop(0) if len(self.runs) > 1 else self.runs[0]
        return [group for group in found if group.job in jobs]


def compare(known, measure):
    return gate.compare(known, measure.first, measure)


class Gate(unittest.TestCase):
    def test_the_same_again_passes(self):
        measure = Measures(launches())
        is_kept, lines = compare(reference(), measure)
        self.assertTrue(is_kept)
        self.assertEqual(lines, ["gate: none of 2 ratios is slower than in the reference's 5 runs"])
        self.assertEqual(measure.asked, [], "what is not suspect is not measured again")

    def test_noise_within_the_spread_passes(self):
        self.assertTrue(compare(reference(), Measures(launches(1.3 * 1.1)))[0])

    def test_noise_that_does_not_come_again_passes(self):
        measure = Measures(launches(2.6), launches(2.6), launches(1.3))
        is_kept, lines = compare(reference(), measure)
        self.assertTrue(is_kept, lines)
        self.assertEqual(measure.asked, [["launch", "stages"], ["launch", "stages"]])

    def test_what_is_slower_each_time_fails(self):
        measure = Measures(launches(1.3 * 1.3))
        is_kept, lines = compare(reference(), measure)
        self.assertFalse(is_kept)
        self.assertEqual(len(measure.asked), gate.AGAIN)
        self.assertRegex(lines[0], r"^slower: true/MCP run_command: 1\.\d+ of its base, in the "
                                   r"reference 1\.\d+ .*: \d+ % more, in 4 of 4 measurements$")

    def test_the_slower_stage_is_named(self):
        _, lines = compare(reference(), Measures(launches(1.8, sandbox=0.7)))
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[1], r"^  stage sandbox: 0\.\d+ x bare, in the reference 0\.2\d*$")

    def test_stages_that_did_not_grow_are_not_named(self):
        _, lines = compare(reference(), Measures(launches(1.8, sandbox=0.205)))
        self.assertRegex(lines[1], "^  in no stage more than usual; most in ")

    def test_of_what_has_no_stages_those_of_others_are_named(self):
        _, lines = compare(reference(), Measures(launches(sandbox=0.7, rate=0.2)))
        self.assertRegex(lines[0], "^slower: stream/msp run")
        self.assertRegex(lines[1], r"^  stage sandbox of MCP run_command: 0\.\d+ x bare")

    def test_a_slower_stage_alone_does_not_fail(self):
        self.assertTrue(compare(reference(), Measures(launches(1.3, sandbox=0.9)))[0])

    def test_what_is_faster_passes(self):
        self.assertTrue(compare(reference(), Measures(launches(0.4, rate=5)))[0])

    def test_a_lower_rate_is_slower(self):
        _, lines = compare(reference(), Measures(launches(rate=0.2)))
        self.assertRegex(lines[0], r"^slower: stream/msp run: ")

    def test_a_wide_reference_allows_more(self):
        narrow = gate.limit([1.0, 1.01, 1.0])
        self.assertGreater(gate.limit([0.8, 1.0, 1.2]), narrow)
        self.assertAlmostEqual(narrow, 1.0 + gate.SHARE)


    def test_a_price_allows_more_of_its_group_alone(self):
        known = reference() | {"prices": {"true": 1.4}}
        self.assertTrue(compare(known, Measures(launches(1.3 * 1.3)))[0])
        self.assertFalse(compare(known, Measures(launches(1.3 * 1.7)))[0])
        self.assertFalse(compare(known, Measures(launches(1.3 * 1.3, rate=0.2)))[0])


class Refused(unittest.TestCase):
    def refused(self, text, function, *arguments):
        with self.assertRaisesRegex(gate.Refused, text):
            function(*arguments)

    def test_a_ratio_of_one_build_only(self):
        text = "'node/MCP run_command' was measured of one build only"
        self.refused(text, compare, reference(), Measures(launches(extra=("node",))))
        self.refused(text, compare, reference(extra=("node",)), Measures(launches()))

    def test_groups_without_a_ratio(self):
        self.refused("these groups have no ratio", compare, gate.make([[], []]), Measures([]))

    def test_a_commit_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as place:
            self.refused("looking for the commit '--x' .*git fetch --unshallow.* failed: fatal: ",
                         bench.reference.build, place, "--x")


class Reference(unittest.TestCase):
    """Of a small project of its own, with a preset as ours."""

    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory())
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(x NONE)\n"
                   "file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)\n"
                   "configure_file(msp ${CMAKE_BINARY_DIR}/bin/msp COPYONLY)\n")
        self.write("CMakePresets.json", json.dumps({"version": 5, "configurePresets": [
            {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}))
        self.git("init", "-q")
        self.first = self.commit("one")
        self.second = self.commit("two")

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *words):
        return subprocess.run(
            ["git", "-C", self.root, "-c", "user.name=x", "-c", "user.email=x@localhost", *words],
            check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, text):
        self.write("msp", text)
        self.git("add", "CMakeLists.txt", "CMakePresets.json", "msp")
        self.git("commit", "-q", "-m", text)
        return self.git("rev-parse", "HEAD")

    def program(self, name):
        with open(os.path.join(bench.reference.build(self.root, name).programs, "msp"),
                  encoding="utf-8") as file:
            return file.read()

    def test_each_commit_has_its_own_programs(self):
        self.assertEqual([self.program(self.first), self.program("HEAD"), self.program("HEAD~1")],
                         ["one", "two", "one"])

    def test_what_was_interrupted_is_made_anew(self):
        folder = os.path.join(self.root, "build", "reference", self.first[:12])
        os.makedirs(folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="ascii") as file:
            file.write("broken")
        self.assertEqual(self.program(self.first), "one")

    def test_the_file_has_a_commit_and_prices(self):
        self.write("reference", "# why\nabc1234\n\nprotocol-ping 1.5  # because\n")
        self.assertEqual(bench.reference.named(os.path.join(self.root, "reference")),
                         ("abc1234", {"protocol-ping": 1.5}))
        commit, prices = bench.reference.named()
        self.assertRegex(commit, "^[0-9a-f]{7,40}$")
        self.assertTrue(all(1 < price < 2 for price in prices.values()), prices)

    def test_a_build_that_fails_says_why(self):
        self.write("CMakeLists.txt", "message(FATAL_ERROR nonsense)")
        self.commit("three")
        with self.assertRaisesRegex(gate.Refused, "(?s)^configuring the reference failed: .*nonsense"):
            self.program("HEAD")


class RuntimePage(unittest.TestCase):
    RESULT = {"facts": {"date": "2026-01-02", "commit": "0123456789ab", "load_before": 0.1,
                        "load_after": 0.2, **FACTS}}

    def page(self, *measured):
        text = f"before\n{runtime_page.BEGIN}\nold\n{runtime_page.END}\nafter\n"
        return runtime_page.fill(text, self.RESULT, measured)

    def starts(self):
        name = runtime_costs.PYTHON
        return groups.Group("runtimes", "Starts", "us", {
            name + runtime_costs.IN_MSP: [11000.0, 12000.0, 13000.0],
            name + runtime_costs.OUTSIDE: [10000.0, 10000.0, 10000.0]})

    def test_the_table_stands_between_its_lines(self):
        memory = groups.Group("runtimes-memory", "Memory", "kB", {runtime_costs.PYTHON: [8000, 9000]})
        lines = self.page(self.starts(), memory).splitlines()
        self.assertEqual((lines[0], lines[-1]), ("before", "after"))
        self.assertIn("| python | sandbox | 12.0 | 1.20 (1.10 to 1.30) | 8.50 |", lines)
        self.assertNotIn("old", lines)
        self.assertEqual(sum(line.startswith("| ") for line in lines), 2, "head and one row")

    def test_a_memory_that_was_not_measured_is_said(self):
        self.assertIn("| python | sandbox | 12.0 | 1.20 (1.10 to 1.30) | - |", self.page(self.starts()))

    def test_a_run_without_runtimes_leaves_the_page(self):
        self.assertIn("\nold\n", self.page(*launches()))
        self.assertEqual(runtime_page.fill("no lines", self.RESULT, [self.starts()]), "no lines")

    def test_the_page_has_its_lines(self):
        with open(os.path.join(tree.ROOT, "docs", "runtimes.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertLess(0, text.find(runtime_page.BEGIN), text.find(runtime_page.END))

    def test_each_row_is_measured(self):
        """Names of series that no group has would leave a row out without a word."""
        known = {"runtimes": {name + end for name in (
            runtime_costs.TRUE, runtime_costs.PYTHON, runtime_costs.NODE, runtime_costs.TYPESCRIPT,
            runtime_costs.WORKER, runtime_costs.WASM)
            for end in (runtime_costs.IN_MSP, runtime_costs.OUTSIDE)},
            "image": {image_costs.IMAGE, "bare"}, "image-python": {image_costs.IMAGE, "bare"},
            "machines": {machines.IN_MSP, machines.OUTSIDE}}
        for _, _, group, series, base, _ in runtime_page.ROWS:
            self.assertLessEqual({series, base}, known[group])


class Figures(unittest.TestCase):
    def test_ratios_are_of_one_round(self):
        group = groups.Group("g", "", "us", {"a": [1, None, 30], "b": [2, 4, 10]}, base="b")
        self.assertEqual(group.ratios("a", "b"), [0.5, 3])
        self.assertEqual(group.ratios("a", "none"), [])

    def test_order_statistics(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 2, 3]), 2.5)
        self.assertEqual(stats.quantile(range(100), 0.9), 90)
        self.assertEqual(stats.interval([1, 2, 3]), (1, 3))
        low, high = stats.interval(list(range(1000)))
        self.assertTrue(450 < low < 500 < high < 550, (low, high))

    def test_turns_are_of_all_in_each_round(self):
        counts = {"a": 0, "b": 0}

        def way(name):
            counts[name] += 1
            return counts[name]

        series = groups.take_turns({name: lambda name=name: way(name) for name in counts}, 8,
                                   warm=2, every={"b": 4})
        self.assertEqual(series["a"], list(range(3, 11)))
        self.assertEqual([value is None for value in series["b"]], [False, True, True, True] * 2)

    def test_targets_are_judged(self):
        def judged(least, value):
            target = targets.Target("t", "true", CALL, "bare", 1.5, least)
            return targets.judge(target, launches(value, wobble=(1.0,) * 8))["met"]

        self.assertEqual([judged(False, 1.4), judged(False, 1.6)], [True, False])
        self.assertEqual([judged(True, 1.4), judged(True, 1.6)], [False, True])
        self.assertIsNone(targets.judge(targets.TARGETS[0], [])["met"])

    def test_floors_are_judged_by_the_same_rule(self):
        def floor(bound, least, series=CALL):
            target = targets.Target("t", "true", CALL, "bare", bound, least, floor=series)
            return targets.judge(target, launches(1.4, wobble=(1.0,) * 8))["floor_met"]

        self.assertEqual([floor(1.3, False), floor(1.5, False)], [False, True])
        self.assertEqual([floor(1.3, True), floor(1.5, True)], [True, False])
        self.assertIsNone(floor(1.5, False, series=""))
        self.assertIsNone(floor(1.5, False, series="nowhere"))

    def test_targets_name_what_there_is(self):
        """A series that was renamed would be "not measured" for ever."""
        text = "".join(tree.read(f"tests/bench/{name}") for name in os.listdir(BENCH)
                       if name.endswith(".py") and name != "targets.py")
        for target in targets.TARGETS:
            series = target.series.removesuffix(launch.CONFIGURED).removesuffix(runtime_costs.IN_MSP)
            for name in filter(None, (series.rpartition(", 1000")[0] or series,
                                      target.base.rpartition(", none")[0]
                                      or target.base.removesuffix(runtime_costs.OUTSIDE),
                                      target.floor.removesuffix(runtime_costs.FLOOR))):
                self.assertIn(f'"{name}', text, target)

    def test_calls_are_found_in_what_msp_policy_prints(self):
        self.assertEqual(context.allowed_in("basic: allowed (default.yaml:1)\n  words, more\n"
                                            "  read write\n    prctl: no\nrare: EPERM\n  a\n  x\n"),
                         ["read", "write"])


class Pages(unittest.TestCase):
    def setUp(self):
        self.groups = launches()
        facts = FACTS | {"date": "2000-01-01", "commit": "c", "processor": "p", "memory_mib": 1,
                         "load_before": 0, "load_after": 0, "user": "u", "versions": {}}
        self.result = {"version": 1, "facts": facts, "quick": True, "seconds": 1.0, "failed": {},
                       "targets": targets.judge_all(self.groups),
                       "groups": groups.to_json(self.groups)}

    def test_the_page_tells_what_was_missed(self):
        target = targets.Target("t|t", "true", CALL, "bare", 0.1)
        self.result["targets"] = [targets.judge(target, self.groups)]
        page = report.page(self.result, self.groups, "x.svg")
        self.assertRegex(page, r"\| t\\\|t \| at most 0\.1 \| 1\.3\d \(.* to .*\) \| - \| "
                               r"\*\*missed\*\* \|")
        self.assertIn("(x.svg)", page)

    def test_the_page_tells_what_no_launcher_could_meet(self):
        for floor, words in ((CALL, "**missed**, as by the floor"), ("bare", "**missed**")):
            target = targets.Target("t", "true", CALL, "bare", 1.0, floor=floor)
            self.result["targets"] = [targets.judge(target, self.groups)]
            self.assertIn(f" | {words} |", report.page(self.result, self.groups, "x.svg"))

    def test_the_page_has_a_row_for_each_series(self):
        page = report.page(self.result, self.groups, "x.svg")
        self.assertIn("| MCP run_command: sandbox |", page)

    def test_the_image_is_xml_with_a_row_for_each(self):
        document = xml.dom.minidom.parseString(plot.distributions(self.groups[0]))
        words = [node.firstChild.data for node in document.getElementsByTagName("text")]
        self.assertIn("bare", words)
        self.assertIn(CALL, words)
        self.assertEqual(len(document.getElementsByTagName("polygon")), 2)
        self.assertTrue(any(word.endswith("ms") for word in words), words)

    def test_a_result_is_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bench.json")
            bench.write(path, json.dumps(self.result))
            self.assertEqual(bench.load(path)[1], self.groups)


class Commands(unittest.TestCase):
    """Lines and exit codes of wrong uses; nothing gets as far as measuring."""

    def bench(self, *arguments):
        result = subprocess.run([sys.executable, "-B", os.path.join(BENCH, "bench.py"), *arguments],
                                capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                timeout=60, check=False)
        self.assertEqual(result.stdout, "")
        return result.returncode, result.stderr

    def test_wrong_arguments(self):
        for arguments in (["--fast"], ["--only", "launch,lunch"], ["--against", "HEAD"],
                          ["--gate", "--against"], ["--gate", "--json"], ["--qui"], ["word"],
                          ["--only"]):
            with self.subTest(arguments=arguments):
                code, said = self.bench(*arguments)
                self.assertEqual(code, bench.USAGE)
                self.assertRegex(said, r"\Abench: [^\n]+\n\Z")

    def test_no_such_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for code, arguments in ((bench.BROKEN, ["--from", os.path.join(folder, "none")]),
                                    (bench.BROKEN, ["--gate", "--against", "none"])):
                with self.subTest(arguments=arguments):
                    found, said = self.bench(*arguments)
                    self.assertEqual(found, code)
                    self.assertRegex(said, r"\Abench: [^\n]+\n\Z")

    @unittest.skipIf(os.geteuid() == 0, "root's needs an account")
    def test_no_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            code, said = self.bench("--bin", folder)
            self.assertEqual(code, 1)
            self.assertIn("./dev build", said)


if __name__ == "__main__":
    unittest.main()
