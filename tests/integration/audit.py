#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The audit log: what is in it and what never is, who may write it, what a start without it is, and
what a reader sees."""
import glob
import hashlib
import json
import os
import struct
import subprocess
import tempfile
import time
import unittest

import audit_log
import ipc
import leftovers
import service
import support
from cli_support import LIMITS, MSP, command

SECRET = "a-secret-of-17x23"
KEY_BYTES = 32  # before a kept plan: what it was made of


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()


def optional(plan):
    """What `audit: optional` compiles to."""
    with open(os.path.join(support.ROOT, "common/plan/plan.h"), encoding="utf-8") as file:
        body = file.read().partition("struct plan_header {")[2].partition("};")[0]
    names = [name.strip() for line in body.splitlines() if "uint32_t" in line
             for name in line.partition("uint32_t")[2].partition(";")[0].split(",")]
    struct.pack_into("=I", plan, 4 * names.index("audit_optional"), 1)


def kept_plans():
    """(digest, bytes) of each plan that the user's cache has, among them that of the last start."""
    found = []
    for path in glob.glob(os.path.expanduser("~/.cache/msp/plan-*")):
        with open(path, "rb") as file:
            plan = file.read()[KEY_BYTES:]
        found.append((hashlib.sha256(plan).hexdigest(), len(plan)))
    return found


class Records(audit_log.Place):
    def events(self):
        return [record["event"] for record in self.log.records()]

    def test_a_run(self):
        result = self.log.run("sh", "-c", "exit 7", options=["--timeout=9"])
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertEqual(self.events(), ["start", "execution_begin", "posture", "execution_end"])
        start, begin, posture, end = self.log.records()
        self.assertEqual(posture["profile"], "default")
        self.assertGreater(posture["layers_closed"], 0)
        self.assertEqual((start["uid"], start["frontend"]), (os.getuid(), "launcher"))
        self.assertEqual(start["file"], "builtin")
        self.assertIn((start["sha256"], start["bytes"]), kept_plans())
        argv = b"sh\0-c\0exit 7\0"
        self.assertEqual((begin["argv_count"], begin["argv_bytes"], begin["argv_sha256"]),
                         (3, len(argv), hashlib.sha256(argv).hexdigest()))
        self.assertEqual((begin["profile"], begin["timeout_ms"], begin["tty"], begin["execution"]),
                         ("default", 9000, 0, 1))
        self.assertEqual((end["verdict"], end["exit_code"], end["execution"]), ("exited", 7, 1))
        self.assertGreater(end["wall_us"], 0)
        self.assertEqual(len({record["pid"] for record in self.log.records()}), 1)
        self.assertLess(abs(start["time_us"] / 1e6 - time.time()), 60)
        self.assertEqual(self.assert_whole(), 4)
        self.assertEqual(os.stat(self.log.folder).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(self.log.path()).st_mode & 0o777, 0o600)

    def test_nothing_of_what_was_said_is_in_it(self):
        self.log.run("sh", "-c", f"echo {SECRET}; cat >&2", options=[f"--env=A={SECRET}"],
                     input=SECRET)
        self.log.run("true", options=[f"--profile={SECRET}"])
        with support.Server(env=self.log.environment()) as server:
            server.initialize()
            code = f"print('{SECRET}')"
            result = server.call("run_code", language="python", code=code)
            self.assertIn(SECRET, support.text_of(result))
            server.call("run_command", command=f"echo {SECRET}", env={"B": SECRET})
            server.call("run_code", language=SECRET, code=code)
        begins = [record for record in self.log.records("execution_begin")
                  if "code_sha256" in record]
        self.assertEqual([(record["code_bytes"], record["code_sha256"]) for record in begins],
                         [(len(code), hashlib.sha256(code.encode()).hexdigest())])
        self.assertEqual(len(self.log.records("execution_begin")), 3)
        self.assertNotIn(SECRET.encode(), self.log.read())
        self.assert_whole()

    def test_listing_is_no_event(self):
        """Neither a list nor status is recorded; what is refused, and what is made, is."""
        self.log.run("true")
        before = self.log.read()
        for words in (("list",), ("list", "--json")):
            self.assertEqual(self.log.msp(*words).returncode, 0)
        self.assertEqual(self.log.read(), before)
        count = len(self.log.records())
        self.assertNotEqual(self.log.msp("destroy", "none-such").returncode, 0)
        self.assertEqual(self.events()[count:], ["start", "refused"])
        self.assertEqual(self.log.msp("create", "--name=one").returncode, 0)
        self.assertEqual(self.events()[count + 2:], ["start", "sandbox_begin"])
        self.assertEqual(self.log.msp("destroy", "one").returncode, 0)
        self.assertEqual(self.events()[count + 4:], ["start", "sandbox_end"])
        self.assert_whole()

    def test_a_server_starts_and_stops(self):
        with support.Server(env=self.log.environment()) as server:
            server.initialize()
        self.assertTrue(support.wait_until(lambda: self.log.records("stop"), 20))
        self.assertEqual((self.events()[0], self.events()[-1]), ("start", "stop"))
        self.assertEqual(self.log.records("stop")[0]["executions"], 0)

    def test_limits(self):
        self.log.run("sleep", "9", options=["--timeout=0.2"])
        limit, = self.log.records("limit")
        end, = self.log.records("execution_end")
        self.assertEqual((limit["limit"], limit["execution"]), ("timeout", end["execution"]))
        self.assertEqual((end["verdict"], end["signal"]), ("timeout", 9))

    def test_what_is_refused(self):
        self.log.run("true", options=["--profile=none-such"])
        with support.Server(env=self.log.environment()) as server:
            server.initialize()
            server.call("run_code", language="none-such", code="1")
        self.assertEqual([record["reason"] for record in self.log.records("refused")],
                         ["profile_unknown", "language_unknown"])
        self.assertNotIn("none-such", self.log.read().decode())

    def test_a_frontend_that_goes_away(self):
        process = subprocess.Popen([MSP, *command("sh", "-c", "echo up; exec sleep 60")],
                                   env=self.log.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.kill()
        process.communicate()
        self.assertTrue(support.wait_until(lambda: self.log.records("execution_end"), 20))
        end, = self.log.records("execution_end")
        self.assertEqual(end["verdict"], "client_gone")
        self.assert_whole()

    def test_a_breach_of_the_protocol(self):
        with ipc.Peer() as peer:
            peer.launch(audit=self.log.folder)
            os.close(peer.greet().fds[0])
            peer.send(ipc.message("execution_end", request=1, reason=77))
            peer.end()
        with ipc.Peer() as peer:
            peer.launch(audit=self.log.folder)
            os.close(peer.greet().fds[0])
            peer.send(b"\xff\xff\xff\xff")
            peer.end()
        # The log is written by a process that the supervisor does not wait for.
        self.assertTrue(support.wait_until(lambda: len(self.log.records("violation")) == 2))
        self.assertEqual([(record["peer"], record["number"])
                          for record in self.log.records("violation")], [("frontend", 1)] * 2)

    def test_a_large_code_is_hashed_whole(self):
        code = "#" * (3 << 20)
        with support.Server(env=self.log.environment()) as server:
            server.initialize()
            server.call("run_code", language="python", code=code)
        begin, = self.log.records("execution_begin")
        self.assertEqual((begin["code_bytes"], begin["code_sha256"]),
                         (len(code), hashlib.sha256(code.encode()).hexdigest()))


class Commands(audit_log.Place):
    """`audit: {commands: text}`: the record of a begin has the command, and nothing else that was
    said; `digest`, the default, has sizes and hashes."""

    def configured(self, text):
        path = os.path.join(self.place(), "config.yaml")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(text)
        return f"--config={path}"

    def run_with(self, text, *words, options=()):
        result = self.log.run(*words, options=[self.configured(text), *options])
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.log.records("execution_begin")[-1]

    def test_words_of_a_run(self):
        words = ["sh", "-c", ": \"$1\"", "", f"say '{SECRET}'"]
        begin = self.run_with("audit: {commands: digest}\n", *words)
        self.assertNotIn("command", begin)
        self.assertNotIn(SECRET.encode(), self.log.read())
        begin = self.run_with("audit: {commands: text}\n", *words)
        self.assertEqual(begin["command"], words)
        self.assertNotIn("command_missing", begin)
        self.assertEqual(begin["argv_sha256"],
                         hashlib.sha256(("\0".join(words) + "\0").encode()).hexdigest())
        self.assert_whole()
        shown = self.log.audit("show").stdout
        self.assertIn(" command=[sh -c ': \"$1\"' '' 'say '\\''" + SECRET + "'\\''']\n", shown)

    def test_a_long_command_is_cut(self):
        """So that its record fits into a line, whatever its bytes are."""
        for byte in ("x", "\n", "\u00e4"):
            with self.subTest(byte=byte):
                last = byte * 40000
                begin = self.run_with("audit: {commands: text}\n", "true", last)
                kept = "\0".join(begin["command"]).encode("latin-1")
                self.assertEqual(len(kept) + begin["command_missing"], begin["argv_bytes"])
                self.assertEqual(kept, f"true\0{last}\0".encode()[:480])
        self.assertLess(max(len(line) for line in self.log.lines()), 4096)
        self.assertIn(b"\\u000a\\u000a", self.log.read())
        self.assert_whole()

    def test_any_byte_of_an_argument(self):
        """Each but NUL comes back, and none of them is another field, line or escape."""
        every = bytes(range(1, 256))
        told = b'","sandbox":"other"],"execution":77,"x":["\n{"seq":1}'
        begin = self.run_with("audit: {commands: text}\n", "true", every, told)
        self.assertEqual([word.encode("latin-1") for word in begin["command"]],
                         [b"true", every, told])
        self.assertEqual((begin["execution"], begin.get("sandbox")), (1, None))
        for line in self.log.lines():
            self.assertRegex(line, rb"\A[ -~]+\n\Z")
        self.assert_whole()
        shown = self.log.audit("show").stdout
        self.assertNotRegex(shown, "[\x00-\x08\x0b-\x1f\x7f]")

    def test_what_else_was_said_is_not_in_it(self):
        """Neither a variable nor code, nor input or output."""
        option = self.configured("audit: {commands: text}\n")
        result = self.log.run("sh", "-c", "cat; echo $A", options=[option, f"--env=A={SECRET}"],
                              input=SECRET)
        self.assertIn(SECRET, result.stdout)
        with support.Server(option, env=self.log.environment()) as server:
            server.initialize()
            code = f"print('{SECRET}')"
            self.assertIn(SECRET, support.text_of(server.call("run_code", language="python",
                                                              code=code)))
            server.call("run_command", command="echo $B", env={"B": SECRET})
        run, code_run, called = self.log.records("execution_begin")
        self.assertEqual(run["command"], ["sh", "-c", "cat; echo $A"])
        self.assertIn("python", code_run["command"][0])
        self.assertEqual(code_run["code_bytes"], len(code))
        self.assertEqual(called["command"][-1], "echo $B")
        self.assertNotIn(SECRET.encode(), self.log.read())
        self.assert_whole()

    def test_in_a_persistent_sandbox(self):
        option = self.configured("audit: {commands: text}\n")
        self.assertEqual(self.log.msp("create", "--name=one", option).returncode, 0)
        result = self.log.msp("exec", *LIMITS, option, "one", "--", "echo", "a b")
        self.assertEqual((result.returncode, result.stdout), (0, "a b\n"), result.stderr)
        begin, = self.log.records("execution_begin")
        self.assertEqual((begin["command"], begin["file_tool"]), (["echo", "a b"], 0))
        self.assertIn("echo 'a b'", self.log.msp("logs", "one").stdout)
        self.assert_whole()


class Service(service.Folder):
    def test_its_clients(self):
        log = audit_log.Log(self.folder)
        user = self.service(env=log.environment())
        self.assertEqual(self.run_msp("true").returncode, 0)
        client = self.client()
        client.call("run_command", command="true")
        self.close(client)
        user.end()
        clients = log.records("client")
        self.assertEqual([record["asks"] for record in clients], ["for itself", "through a broker"])
        self.assertEqual([record["frontend"] for record in log.records("execution_begin")],
                         [record["frontend"] for record in clients])
        self.assertEqual([record["execution"] for record in log.records("execution_end")], [1, 2])
        self.assertEqual(log.records("start")[0]["frontend"], "service")
        self.assertEqual(log.audit("verify").returncode, 0)


class Start(audit_log.Place):
    """Without a place for the log nothing starts."""

    def refused(self, *parts, environment=None):
        result = subprocess.run([MSP, *command("true")], env=environment or self.log.environment(),
                                capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                timeout=60, check=False)
        self.assertEqual(result.returncode, 78, result.stderr)
        for part in ("nothing could be audited: ", "MSP_STATE_DIR=DIR", "audit: optional", *parts):
            self.assertIn(part, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        server = subprocess.run([MSP, "serve", *LIMITS], capture_output=True, text=True,
                                env=environment or self.log.environment(),
                                stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual((server.returncode, server.stdout), (78, ""), server.stderr)

    def test_a_relative_place(self):
        self.refused("MSP_STATE_DIR=state is no absolute path",
                     environment={**os.environ, "MSP_STATE_DIR": "state"})

    def test_a_folder_that_others_can_look_into(self):
        os.mkdir(self.log.folder)
        for mode in (0o750, 0o701):
            os.chmod(self.log.folder, mode)
            self.refused(f"has mode 0{mode:o}", "chmod 700")
        os.chmod(self.log.folder, 0o700)
        self.assertEqual(self.log.run("true").returncode, 0)

    def test_what_is_no_folder(self):
        with open(self.log.folder, "w", encoding="ascii"):
            pass
        self.refused("no directory")
        os.unlink(self.log.folder)
        os.symlink(self.place(), self.log.folder)
        self.refused("symbolic link")

    def test_where_nothing_can_be_made(self):
        self.refused("cannot be made", environment={**os.environ, "MSP_STATE_DIR": "/usr/none"})

    def test_a_log_that_is_no_file(self):
        os.mkdir(self.log.folder, 0o700)
        os.mkfifo(self.log.path())
        self.refused("cannot be written")
        os.unlink(self.log.path())
        os.symlink("/dev/null", self.log.path())
        self.refused("cannot be written")

    def test_the_doctor_knows(self):
        os.mkdir(self.log.folder, 0o755)
        probe, = [one for one in json.loads(self.log.msp("doctor", "--json").stdout)["probes"]
                  if one["name"] == "audit"]
        self.assertEqual(probe["status"], "missing")
        self.assertIn("chmod 700", probe["happened"])
        os.chmod(self.log.folder, 0o700)
        probe, = [one for one in json.loads(self.log.msp("doctor", "--json").stdout)["probes"]
                  if one["name"] == "audit"]
        self.assertEqual((probe["status"], probe["happened"]), ("ok", self.log.folder))

    def test_folders_are_made(self):
        log = audit_log.Log(os.path.join(self.log.state, "a", "b"))
        self.assertEqual(log.run("true").returncode, 0)
        for folder in (log.folder, log.state, os.path.dirname(log.state)):
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)

    def test_in_the_home(self):
        environment = {**os.environ, "HOME": self.log.state}
        del environment["MSP_STATE_DIR"]
        subprocess.run([MSP, *command("true")], env=environment, stdin=subprocess.DEVNULL,
                       timeout=60, check=True)
        log = audit_log.Log(os.path.join(self.log.state, ".local", "state", "msp"))
        self.assertEqual(len(log.records("start")), 1)

    def test_an_operator_who_does_without(self):
        with tempfile.TemporaryDirectory() as folder:
            program = audit_log.programs_with(folder, optional)
            for state, said in (("state", 1), (self.log.state, 0)):
                result = subprocess.run([program, *command("echo", "up")], text=True,
                                        env={**os.environ, "MSP_STATE_DIR": state}, timeout=60,
                                        capture_output=True, check=False,
                                        stdin=subprocess.DEVNULL)
                self.assertEqual((result.returncode, result.stdout), (0, "up\n"), result.stderr)
                self.assertEqual(result.stderr.count("nothing is audited: "), said, result.stderr)
        self.assertEqual(len(self.log.records("start")), 1)


class Show(audit_log.Place):
    def setUp(self):
        super().setUp()
        for _ in range(3):
            self.log.run("true")

    def test_show(self):
        result = self.log.audit("show")
        lines = result.stdout.splitlines()
        self.assertEqual((result.returncode, len(lines)), (0, 12), result.stderr)
        self.assertRegex(lines[0], r"^1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \d+ start version=")
        self.assertIn(" execution_end execution=1 verdict=exited exit_code=0 ", lines[3])
        for words in (("--last=4",), ("--last", "4"), ("-n", "4")):
            self.assertEqual(self.log.audit("show", *words).stdout.splitlines(), lines[-4:])
        self.assertEqual(self.log.audit("show", "-n", "0").stdout.splitlines(), lines)
        self.assertEqual(self.log.audit("show", "-n", "x").returncode, 64)
        self.assertEqual(self.log.audit("show", "--json").stdout.encode(), self.log.read())

    def test_more_than_one_file(self):
        log = audit_log.Log(self.place()).fill(1000, 1000, 1000)
        lines = log.audit("show", "--json", "--last=0").stdout.encode()
        self.assertEqual(lines, b"".join(log.read(name) for name in log.names()))
        last = [json.loads(line)["seq"] for line in
                log.audit("show", "--json", "-n", "5").stdout.splitlines()]
        self.assertEqual(last, [record["seq"] for record in log.records()][-5:])

    def test_bad_lines_are_told(self):
        lines = self.log.lines()
        for bad in (b"\n", b"{}\n", b"\x1b[31m\n", b"x" * 100000 + b"\n",
                    lines[1].replace(b'"profile"', b'"prof\x1ble"'), lines[1][:-40] + b"\n",
                    lines[1].replace(b'"frontend":1', b'"frontend":[1]')):
            with self.subTest(bad=bad[:20]):
                self.log.write(b"".join([lines[0], bad, *lines[2:]]))
                result = self.log.audit("show")
                self.assertEqual(result.returncode, 1)
                self.assertIn("audit.jsonl:2 is no record", result.stderr)
                self.assertEqual(len(result.stdout.splitlines()), len(lines) - 1)
                self.assertNotIn("\x1b", result.stdout + result.stderr)

    def test_nothing_yet(self):
        result = audit_log.Log(self.place()).audit("show")
        self.assertEqual(result.returncode, 78)
        self.assertIn("nothing was audited yet", result.stderr)

    def test_usage(self):
        for words in ((), ("shw",), ("show", "verify"), ("show", "--last=-1")):
            result = self.log.audit(*words)
            self.assertEqual(result.returncode, 64, words)
        self.assertIn("did you mean 'show'?", self.log.audit("shw").stderr)


class Follow(audit_log.Place):
    def test_across_a_rotation(self):
        """Every record once, in order, while the file that is written to becomes another."""
        self.log.fill(audit_log.FILE_BYTES - 4096 - 3000)
        before = len(self.log.lines())
        follower = subprocess.Popen([MSP, "audit", "follow", "--json"], stdout=subprocess.PIPE,
                                    env=self.log.environment(), stdin=subprocess.DEVNULL)
        self.addCleanup(follower.communicate)
        self.addCleanup(follower.kill)
        told = [json.loads(follower.stdout.readline()) for _ in range(10)]
        self.assertEqual(told[-1]["seq"], before)
        for _ in range(4):
            self.assertEqual(self.log.run("true").returncode, 0)
        self.assertIn("audit.1.jsonl", self.log.names())
        last = self.log.records()[-1]["seq"]
        while told[-1]["seq"] < last:
            told.append(json.loads(follower.stdout.readline()))
        self.assertEqual([record["seq"] for record in told], list(range(before - 9, last + 1)))
        self.assertEqual(told[10:], self.log.records()[before:])
        self.assert_whole()

    def test_it_ends_with_its_reader(self):
        self.log.run("true")
        follower = subprocess.Popen([MSP, "audit", "follow"], stdout=subprocess.PIPE,
                                    env=self.log.environment(), stdin=subprocess.DEVNULL)
        self.assertTrue(follower.stdout.readline())
        follower.stdout.close()
        self.assertIn(follower.wait(20), (-13, 141))  # by SIGPIPE, or before it would write


if __name__ == "__main__":
    unittest.main()
