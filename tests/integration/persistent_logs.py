#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp logs`: what happened in a sandbox, from the audit log: a whole life, what is read across
rotated files, what goes on, and what there is not."""
import hashlib
import json
import os
import re
import signal
import subprocess
import unittest

import audit_log
import support
from persistent_support import PersistentCase, msp

LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z +(\d+)  (\w+) *(.*)$")


def setUpModule():
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")


def sha256(*arguments):
    return hashlib.sha256(b"".join(word.encode() + b"\0" for word in arguments)).hexdigest()


class Logs(PersistentCase):
    def log(self):
        return audit_log.Log(self.state)

    def logs(self, *words, code=0):
        """(record, event, detail) of each line."""
        result = msp("logs", *words, code=code)
        found = [LINE.match(line) for line in result.stdout.splitlines()]
        self.assertTrue(all(found), result.stdout)
        return [(int(one[1]), one[2], one[3]) for one in found]

    def refused(self, *words, code, says):
        result = msp("logs", *words, code=code)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, rf"\Amsp: logs: [^\n]+\n\Z")
        self.assertRegex(result.stderr, says)

    def exec(self, sandbox, *words, code=0, options=()):
        msp("exec", *options, sandbox, "--", *words, code=code)

    def path(self, made, name="history"):
        return os.path.join(self.state, "sandboxes", made, name)

    def wait_for_notes(self, made, count):
        """No execution waits for its note."""
        self.assertTrue(support.wait_until(
            lambda: os.path.exists(self.path(made)) and
            os.stat(self.path(made)).st_size == count * 512, 60))


class Life(Logs):
    def test_all_of_it(self):
        self.put("a.txt", "a\n")
        made = self.create("--name=fix")
        script = "echo secret-word > b.txt; exit 3"
        self.exec(made, "sh", "-c", script, code=3)
        msp("checkpoint", "fix", "named")
        self.exec(made, "rm", "b.txt")
        msp("rollback", "fix", "named")
        fork = msp("fork", "fix", "named").stdout.strip()
        msp("apply", "fix")
        msp("undo", "fix")
        msp("cp", "fix:b.txt", os.path.join(self.state, "b"))
        msp("stop", "fix")
        msp("forget", "fix", "named")
        lines = self.logs("fix")
        self.assertEqual([event for _, event, _ in lines], [
            "created", "exec", "checkpoint", "exec", "rollback", "fork", "apply", "undo", "file",
            "stop", "forget"])
        told = {event: detail for _, event, detail in reversed(lines)}
        self.assertEqual(told["created"], "profile default, workspace copy-on-write")
        figures = "" if support.limits() else ", CPU [^;]*"
        self.assertRegex(told["exec"], rf"^exit 3 after \d+(\.\d)? m?s{figures}; "
                         rf"sh -c '{script}'$")
        self.assertEqual(told["checkpoint"], "checkpoint 1")
        self.assertEqual(told["rollback"], "checkpoint 1")
        self.assertEqual(told["forget"], "checkpoint 1")
        self.assertEqual(told["fork"], fork + ", of checkpoint 1")
        self.assertEqual((told["apply"], told["undo"]), ("1 of 1 change", "1 of 1 change"))
        self.assertRegex(told["file"], r"^exit 0 after ")
        self.assertNotRegex(json.dumps(self.log().records()), "secret-word|b.txt|named|fix",
                            "no word of anybody's is in the audit log")
        records = {record["seq"]: record for record in self.log().records()}
        for number, event, _ in lines:
            self.assertEqual(records[number]["sandbox"], fork if event == "fork" else made)
        (_, event, detail), = self.logs(fork)
        self.assertEqual((event, detail), ("forked", f"of {made}, checkpoint 1; profile default, "
                                           "workspace copy-on-write"))
        msp("destroy", "fix", fork)
        gone = self.logs(made)[:-1]
        self.assertEqual([line[:2] for line in gone], [line[:2] for line in lines])
        self.assertRegex(gone[1][2], rf"; 3 words of {len(script) + 7} B, "
                         rf"sha256 {sha256('sh', '-c', script)[:12]}$")
        self.assertEqual(self.logs(made, "-n", "1")[0][1:],
                         ("destroyed", "with its files and checkpoints"))
        self.assertEqual(self.logs(made[:8]), self.logs(made))
        self.refused("fix", code=64, says="no sandbox 'fix'.*holds no names.*by its id")

    def test_every_record_of_its_executions(self):
        made = self.create(workspace=False)
        self.exec(made, "unshare", "-U", "true", code=None)
        self.exec(made, "sleep", "100", code=124, options=["--timeout=0.2"])
        self.exec(made, "sh", "-c", "kill -9 $$", code=137)
        msp("run", *support.limits(), "--", "true")
        of_executions = [record for record in self.log().records() if record["event"] in
                         ("execution_begin", "execution_end", "denial", "limit")]
        others = [record for record in of_executions if "sandbox" not in record]
        self.assertEqual([record["event"] for record in others],
                         ["execution_begin", "execution_end"], "those of msp run alone")
        self.assertIn("limit", {record["event"] for record in of_executions})
        lines = self.logs(made)
        self.assertEqual([event for _, event, _ in lines],
                         ["created", "denied", "exec", "exec", "exec"])
        self.assertRegex(lines[1][2], rf"^unshare by seccomp, 1 time, in {lines[2][0]}$")
        self.assertRegex(lines[3][2], "^timeout after ")
        self.assertRegex(lines[4][2], "^signal 9 after ")

    def test_what_a_killed_supervisor_began(self):
        made = self.create(workspace=False)
        with subprocess.Popen([support.MSP, "exec", *support.limits(), "--standalone", made, "--",
                               "sh", "-c", "echo up; sleep 1000"],
                              stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            self.wait_for_notes(made, 1)
            self.assertRegex(self.logs(made)[-1][2], "^has not ended; sh -c 'echo up; sleep 1000'$")
            pid = self.log().records("execution_begin")[-1]["pid"]
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(support.wait_until(
            lambda: msp("exec", made, "--", "true", code=None).returncode == 0))
        lines = self.logs(made)
        self.assertEqual([detail.split(" ", 1)[0] for _, event, detail in lines
                          if event == "exec"], ["no", "exit"])
        self.assertRegex(lines[1][2], "^no end was recorded; sh -c ")


class History(Logs):
    """The commands of a sandbox, in its folder on the host."""

    def shown(self, made):
        return [detail.rpartition("; ")[2] for _, event, detail in self.logs(made)
                if event == "exec"]

    def test_it_goes_with_the_sandbox(self):
        made = self.create(workspace=False)
        self.exec(made, "true", options=["--env=A=hidden-word"])
        self.wait_for_notes(made, 1)
        self.assertEqual(os.stat(self.path(made)).st_mode & 0o777, 0o600)
        with open(self.path(made), "rb") as file:
            self.assertNotIn(b"hidden-word", file.read(), "no variable is kept")
        msp("destroy", made)
        self.assertFalse(os.path.exists(self.path(made)))
        self.assertRegex(self.logs(made)[1][2], "; 1 word of 5 B, sha256 ")

    def test_it_stays_with_the_sandbox(self):
        """A rollback is no way to hide a command, and a fork begins with no history."""
        made = self.create(workspace=False)
        msp("checkpoint", made, "before")
        self.exec(made, "echo", "one")
        self.wait_for_notes(made, 1)
        msp("rollback", made, "before")
        fork = msp("fork", made, "before").stdout.strip()
        self.assertEqual(self.shown(made), ["echo one"])
        self.assertEqual(self.shown(fork), [])
        self.assertFalse(os.path.exists(self.path(fork)))
        msp("destroy", fork)

    def test_a_hostile_command(self):
        """A terminal obeys nothing of it, and a newline makes no line."""
        made = self.create(workspace=False)
        words = ["true", "\x1b]0;x\x07", "a\n2026-01-01T00:00:00.000Z       9  exec", "it's"]
        self.exec(made, *words)
        self.wait_for_notes(made, 1)
        _, _, detail = self.logs(made)[1]
        self.assertTrue(detail.endswith("; true '^[]0;x^G' 'a^J2026-01-01T00:00:00.000Z       9  "
                                        "exec' 'it'\\''s'"), detail)
        lines = msp("logs", made, "--json").stdout.split("\n")
        self.assertFalse([line for line in lines if re.search(r"[\x00-\x1f\x7f]", line)])
        begun = json.loads(lines[1])
        self.assertEqual((begun["event"], begun["argv"]), ("execution_begin", words))
        self.assertNotIn("code", begun)

    def test_a_code(self):
        made = self.create(workspace=False)
        code = "import sys\nprint(sys.argv)\n" + "#" * 1000
        with support.Server(env=dict(os.environ)) as server:
            server.initialize()
            result = server.call("run_code", sandbox=made, language="python", code=code)
            self.assertFalse(result["isError"], result)
            self.wait_for_notes(made, 1)
        self.assertEqual(self.shown(made), ["code: import sys ..."])
        begun = json.loads(msp("logs", made, "--json").stdout.split("\n")[1])
        self.assertTrue(code.startswith(begun["code"]))
        self.assertGreater(len(begun["code"]), 300)
        self.assertGreater(begun["code_bytes"], len(begun["code"]), "it was cut off")

    def test_what_a_crash_left(self):
        """A part of a note and a hole are no commands, and hide none."""
        made = self.create(workspace=False)
        self.exec(made, "echo", "one")
        self.wait_for_notes(made, 1)
        with open(self.path(made), "ab") as file:
            file.write(bytes(512 + 100))
        self.exec(made, "echo", "two")
        self.wait_for_notes(made, 3)
        self.assertEqual(self.shown(made), ["echo one", "echo two"])

    def test_a_history_that_cannot_be_written(self):
        """The command runs, and the log has its hash."""
        made = self.create(workspace=False)
        os.mkdir(self.path(made))
        self.exec(made, "echo", "one")
        self.assertRegex(self.logs(made)[1][2], "; 2 words of 9 B, sha256 ")
        os.rmdir(self.path(made))

    def test_oldest_go_first(self):
        made = self.create(workspace=False)
        for number, word in enumerate(("one", "two", "three")):
            self.exec(made, "echo", word)
            self.wait_for_notes(made, 1)
            if number < 2:
                os.truncate(self.path(made), 512 * 1024)
        self.assertEqual(os.stat(self.path(made, "history.old")).st_size, 512 * 1024)
        first, *others = self.shown(made)
        self.assertRegex(first, "2 words of 9 B, sha256 ")
        self.assertEqual(others, ["echo two", "echo three"])


class Shown(Logs):
    def test_last(self):
        made = self.create(workspace=False)
        for i in range(4):
            self.exec(made, "sh", "-c", f"exit {i}", code=i)
        lines = self.logs(made)
        self.assertEqual(len(lines), 5)
        for words in (["-n", "2"], ["--last=2"], ["--last", "2"]):
            self.assertEqual(self.logs(made, *words), lines[-2:])
        for count in ("0", "5", "99"):
            self.assertEqual(self.logs(made, "-n", count), lines)

    def test_json_is_the_records(self):
        made = self.create(workspace=False)
        fork = msp("fork", made).stdout.strip()
        self.exec(fork, "true")
        ours = [record for record in self.log().records()
                if made in (record.get("sandbox"), record.get("origin"))]
        self.assertEqual([record["event"] for record in ours], ["sandbox_begin"] * 2)
        shown = [json.loads(line) for line in msp("logs", made, "--json").stdout.splitlines()]
        self.assertEqual(shown, ours)
        shown = msp("logs", fork, "--json", "-n", "2").stdout
        self.assertEqual([json.loads(line)["event"] for line in shown.splitlines()],
                         ["execution_begin", "execution_end"])
        msp("destroy", fork)

    def test_rotated_files(self):
        made = self.create(workspace=False)
        self.exec(made, "true")
        log, lines = self.log(), self.logs(made)
        rotated = log.read()
        os.rename(log.path(), log.path("audit.1.jsonl"))
        last = log.records()[-1]
        line, digest = audit_log.line_of(last["seq"] + 1, last["hash"])
        log.write(line)
        log.write(audit_log.head_of(last["seq"] + 1, len(line), digest), "head")
        self.exec(made, "true")
        self.assertEqual(log.read("audit.1.jsonl"), rotated)
        both = self.logs(made)
        self.assertEqual((both[:2], len(both)), (lines, 3))
        os.unlink(log.path("audit.1.jsonl"))
        self.assertEqual(self.logs(made), both[2:], "what is left of it is shown")

    def test_a_line_that_is_none(self):
        made = self.create(workspace=False)
        with open(self.log().path(), "ab") as file:
            file.write(b"\x1b[31m\n")
        result = msp("logs", made, code=1)
        self.assertRegex(result.stderr, r"\Amsp: logs: audit\.jsonl:\d+ is no record\n\Z")
        self.assertIn("  created", result.stdout)

    def test_a_full_disk_is_noticed(self):
        made = self.create(workspace=False)
        for words in ([], ["--follow"], ["--json"]):
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([support.MSP, "logs", made, *words], stdout=full,
                                        stderr=subprocess.PIPE, timeout=30, check=False)
                self.assertEqual(result.returncode, 70, result.stderr)


class Follow(Logs):
    def follower(self, *words):
        process = subprocess.Popen([support.MSP, "logs", *words, "--follow"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def event(self, follower):
        return LINE.match(follower.stdout.readline())[2]

    def test_until_it_is_gone(self):
        made = self.create("--name=fix", workspace=False)
        self.exec(made, "true")
        all_of_it, last = self.follower("fix"), self.follower(made, "-n", "1")
        self.assertEqual([self.event(all_of_it) for _ in range(2)], ["created", "exec"])
        self.assertEqual(self.event(last), "exec")
        self.exec(made, "false", code=1)
        self.assertEqual([self.event(one) for one in (all_of_it, last)], ["exec", "exec"])
        msp("checkpoint", made)
        self.assertEqual([self.event(one) for one in (all_of_it, last)], ["checkpoint"] * 2)
        msp("destroy", made)
        for one in (all_of_it, last):
            self.assertEqual(self.event(one), "destroyed")
            self.assertEqual((one.wait(20), one.stdout.read()), (0, ""))
        over = self.follower(made)
        self.assertEqual((len(over.stdout.read().splitlines()), over.wait(20)), (5, 0))

    def test_a_signal_ends_it(self):
        self.create("--name=fix", workspace=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            follower = self.follower("fix")
            self.assertEqual(self.event(follower), "created")
            follower.send_signal(number)
            self.assertEqual(follower.wait(20), -number)


class Wrong(Logs):
    def test_no_log(self):
        self.refused("fix", code=78, says=r"there is no audit log: nothing was audited yet.*"
                     r"MSP_STATE_DIR=DIR.*'audit: required'")
        os.environ["MSP_STATE_DIR"] = "relative"
        try:
            self.refused("fix", code=78, says="relative is no absolute path")
        finally:
            os.environ["MSP_STATE_DIR"] = self.state

    def test_none_that_is_known(self):
        made = self.create("--name=fix", workspace=False)
        other = ("1" if made[0] != "1" else "2") + made[1:]
        for word in ("fxi", "0123", other, made[:-1] + ("0" if made[-1] != "0" else "4")):
            self.refused(word, code=64, says=f"no sandbox '{word}'")

    def test_several_that_are_meant(self):
        log, seq, data = self.log(), 0, b""
        previous = audit_log.NONE
        os.mkdir(log.folder, 0o700)
        for end in "ab":
            seq += 1
            line, previous = audit_log.line_of(seq, previous, "sandbox_end", reason="expired",
                                               sandbox="2rgbftc2erh915t6ckfprby7f" + end)
            data += line
        log.write(data)
        log.write(audit_log.head_of(seq, len(data), previous), "head")
        self.refused("2rgb", code=64, says="several ids begin with it: type more")
        self.assertEqual(self.logs("2rgbftc2erh915t6ckfprby7fa"),
                         [(1, "expired", "with its files and checkpoints")])

    def test_one_without_a_record(self):
        made = self.create("--name=fix", workspace=False)
        log = self.log()
        for name in log.names() + ["head"]:
            os.unlink(log.path(name))
        self.refused("fix", code=78, says=f"nothing of sandbox {made}: .*'audit: optional'")
        self.refused(made, code=78, says="older than the oldest record")


if __name__ == "__main__":
    unittest.main()
