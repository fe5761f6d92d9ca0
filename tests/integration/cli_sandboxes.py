#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands about persistent sandboxes, before and behind what a supervisor answers: wrong words,
what they ask and print, and what they make of refusals. persistent_cli.py has the real thing."""
import errno
import json
import os
import pty
import re
import select
import subprocess
import tempfile
import time
import unittest

from cli_support import MSP, msp
from persistent_scripted import IDS, Scripted, changes, record, refuse, sandbox

DONE = ("request_done", {})

LONG = "x" * 64
# Ten of each, and more where there is more that can be wrong.
WRONG = {
    "create": (["word"], ["--name="], ["--name=a/b"], ["--name=" + IDS[0]], ["--name=" + LONG], ["--name=-x"],
               ["--ttl=0"], ["--ttl=soon"], ["--ttl=1w"], ["--mode=read-only"],
               ["--mode=rw", "--workspace=."], ["--workspace="], ["--workspace=" + "x" * 4096],
               ["--profile=a b"], ["--nmae=x"], ["--json=yes"], ["--no-workspace"]),
    "exec": ([], ["fix"], ["fix", "--"], ["a/b", "--", "true"], [LONG, "true"],
             ["fix", "--timeout=0", "true"], ["--cwd=here", "fix", "true"],
             ["fix", "--env=1A=2", "true"], ["fix", "--profile=x", "true"],
             ["fix", "--ro=/x", "true"], ["fix", "--limits=none", "true"], ["--json"]),
    "ps": (["a/b"], [""], [LONG], ["ok", "x"], ["--ended=1"], ["--jsn"], ["-l"], ["--socket=x"],
           ["--all"], ["--config="]),
    "attach": ([], ["ab"], [""], [LONG], ["abc", "x"], ["abc", "-n", "x"], ["abc", "--tail=-1"],
               ["abc", "--follow"], ["../abc"], ["-1"]),
    "wait": ([], ["ab"], [""], [LONG], ["abc", "x"], ["--json"], ["abc"], ["."], ["../a"], ["-1"]),
    "kill": ([], ["ab"], [""], [LONG], ["abc"], ["--all"], ["abc", "-9"], ["a\nb"], ["../a"], ["-1"]),
    "list": (["fix"], ["--all=1"], ["--jsn"], ["-l"], ["--socket=x"], ["--run-as=a b"],
             ["--config="], ["--socket"], ["--"] + ["x"], ["--stat"]),
    "logs": ([], ["a/b"], [""], [LONG], ["fix", "x"], ["fix", "-n", "x"], ["fix", "--last=-1"],
             ["fix", "--last"], ["fix", "--folow"], ["fix", "--json=1"], ["fix", "--follow=1"],
             ["fix", "--socket=x"]),
    "stop": ([], ["a/b"], [""], [LONG], ["ok", "a b"], ["--all"], ["--json", "fix"], ["."],
             ["fix", "--force"], ["\n"]),
    "destroy": ([], ["a/b"], [""], [LONG], ["ok", "a b"], ["--all"], ["--json", "fix"], [".."],
                ["fix", "--yes"], ["fix", "--socket="]),
    "checkpoint": ([], ["a/b"], ["fix", "12"], ["fix", "a b"], ["fix", ""], ["fix", "x", "y"],
                   ["fix", LONG], ["fix", "--name=x"], [""], ["fix", "--json=1"]),
    "checkpoints": ([], ["a/b"], ["fix", "x"], [""], [LONG], ["--all", "fix"], ["fix", "--jsno"],
                    ["fix", "-j"], ["fix", "--socket=x"], ["\x1b[31m"]),
    "rollback": ([], ["fix"], ["fix", ""], ["fix", "a/b"], ["a/b", "1"], ["fix", "1", "2"],
                 ["fix", "--json", "1"], ["fix", LONG], ["fix", "--to=1"], ["", "1"]),
    "fork": ([], ["a/b"], ["fix", "a/b"], ["fix", "1", "2"], ["fix", "--name="],
             ["fix", "--name=a b"], ["fix", "--name=" + LONG], ["fix", "--name=" + IDS[0]],
             ["fix", ""], ["", "1"],
             ["fix", "--nmae=x"]),
    "forget": ([], ["fix"], ["fix", ""], ["fix", "a/b"], ["a/b", "1"], ["fix", "1", "2"],
               ["fix", "--all"], ["fix", LONG], ["fix", "--json", "1"], ["", "1"]),
    "diff": ([], ["a/b"], ["fix", ""], ["fix", ".."], ["fix", "/etc"], ["fix", "a/../.."],
             ["fix", "--stat", "--patch"], ["fix", "--json", "--name-only"],
             ["fix", "--color=yes"], ["fix", "--since="], ["fix", "--since=a/b"],
             ["fix", "--statt"], ["fix", "--json=1"], ["fix", "x" * 4096]),
    "apply": ([], ["a/b"], ["fix", ".."], ["fix", "/etc"], ["fix", "--conflict=mine"],
              ["fix", "--conflict"], ["fix", "--held=1"], ["fix", "--yes"], ["fix", ""],
              ["fix", "--previw"]),
    "undo": ([], ["a/b"], ["fix", "x"], [""], [LONG], ["fix", "--all"], ["fix", "--json=1"],
             ["fix", "--held"], ["fix", "--conflict=sandbox"], ["fix", "-y"]),
}


class Wrong(unittest.TestCase):
    def test_each_is_one_clear_line(self):
        for command, lines in WRONG.items():
            self.assertGreaterEqual(len(lines), 10)
            for words in lines:
                with self.subTest(command=command, words=[word[:20] for word in words]):
                    result = msp(command, *words)
                    self.assertEqual(result.returncode, 64, result.stderr)
                    self.assertEqual(result.stdout, "")
                    self.assertRegex(result.stderr, rf"\Amsp: {command}: [^\n]{{10,}}\n\Z")
                    self.assertNotRegex(result.stderr.rstrip("\n"), r"[\x00-\x1f\x7f]")

    def test_what_helps_is_said(self):
        for words, says in ((["create", "--worspace=x"], "did you mean '--workspace'"),
                            (["creat"], "did you mean 'create'"),
                            (["exec", "fix"], "msp exec SANDBOX -- CMD"),
                            (["create", "--name=" + IDS[0]], "the form of an id"),
                            (["cp", "fix:", "."], "copy it with -r"),
                            (["cp", "fix:~/a", "."], "begins with ~"),
                            (["cp", "a", "fix:~"], "The home directory is /home/agent"),
                            (["create", "--ttl=1w"], "such as 30m, 12h or 7d"),
                            (["checkpoint", "fix", "12"], "no number"),
                            (["diff", "fix", "/etc"], "relative to this directory or below /workspace"),
                            (["rollback", "fix"], "SANDBOX CHECKPOINT")):
            with self.subTest(words=words):
                self.assertIn(says, msp(*words).stderr)


class Create(unittest.TestCase):
    def create(self, *options, answer=None, prepared=changes(), **keywords):
        with Scripted(sandbox_new=answer or (lambda fields: [sandbox()]),
                      changes_start=prepared) as service:
            result = service.msp("create", *options, **keywords)
            return result, service.requests("sandbox_new")

    def test_the_id_alone(self):
        result, (asked,) = self.create()
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, IDS[0] + "\n", ""))
        self.assertEqual((asked["workspace"], asked["workspace_mode"], asked["ttl_s"],
                          asked["name"], asked["profile"], asked["owner"]), ("", 0, 0, "", "", ""))

    def test_what_is_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            _, (asked,) = self.create("--name=fix", "--workspace=.", "--ttl=2d",
                                      "--profile=strict", cwd=folder)
            self.assertTrue(os.path.samefile(asked["workspace"], folder))
            self.assertTrue(os.path.isabs(asked["workspace"]))
        self.assertEqual((asked["workspace_mode"], asked["ttl_s"], asked["name"],
                          asked["profile"]), (1, 172800, "fix", "strict"))
        for mode, number in (("copy-on-write", 1), ("read-only", 2), ("read-write", 3)):
            _, (asked,) = self.create("--workspace=/srv/x", "--mode=" + mode)
            self.assertEqual((asked["workspace"], asked["workspace_mode"]), ("/srv/x", number))

    def test_the_default_profile_of_the_environment(self):
        _, (asked,) = self.create(env={**os.environ, "MSP_DEFAULT_PROFILE": "minimal"})
        self.assertEqual(asked["profile"], "minimal")

    def test_json(self):
        result, _ = self.create("--json", answer=lambda fields: [
            sandbox(name="fix", workspace="/srv/x", workspace_mode=1, expires_s=9)])
        value = json.loads(result.stdout)
        self.assertEqual((value["id"], value["name"], value["mode"], value["expires_s"]),
                         (IDS[0], "fix", "copy-on-write", 9))
        self.assertEqual(value["foreign"], {"total": 0, "prepared": 0, "unchangeable": 0,
                                            "searched": 0, "complete": True})

    def test_an_id_that_cannot_be_printed_is_said(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result, _ = self.create(stdout=full)
        self.assertEqual(result.returncode, 70)
        self.assertIn(IDS[0], result.stderr)


class Refusals(unittest.TestCase):
    CODES = {"SANDBOX_UNKNOWN": 64, "SANDBOX_BUSY": 75, "SANDBOX_ELSEWHERE": 75,
             "SANDBOX_DAMAGED": 125, "SANDBOX_NAME": 64, "SANDBOX_PROFILE": 64, "SANDBOXES": 75,
             "DISK": 75, "WORKSPACE": 64, "CHECKPOINT_UNKNOWN": 64, "CHECKPOINT_LIMIT": 64,
             "APPLY": 78, "UNDO": 64, "STATE": 78, "PROFILE_UNKNOWN": 64}

    def test_each_is_one_line_and_a_code(self):
        for reason, code in self.CODES.items():
            def answer(fields, reason=reason):
                return refuse(reason, "THE DETAIL")

            with self.subTest(reason=reason), \
                    Scripted(sandbox_end=answer, checkpoint_do=answer,
                             execution_start=answer) as service:
                for words in (["stop", "fix"], ["rollback", "fix", "one"],
                              ["exec", "fix", "--", "true"]):
                    result = service.msp(*words)
                    self.assertEqual(result.returncode, code, result.stderr)
                    self.assertRegex(result.stderr, rf"\Amsp: {words[0]}: [^\n]+\n\Z")

    def test_several_are_all_tried(self):
        def end(fields):
            return refuse("SANDBOX_BUSY", "2 executions") if fields["sandbox"] == "b" else [DONE]

        with Scripted(sandbox_end=end) as service:
            result = service.msp("destroy", "a", "b", "c")
            self.assertEqual(result.returncode, 75)
            self.assertEqual(result.stderr.count("\n"), 1)
            self.assertEqual([(fields["sandbox"], fields["how"]) for fields in
                              service.requests("sandbox_end")], [("a", 2), ("b", 2), ("c", 2)])

    def test_a_service_that_goes_away(self):
        class Rude(Scripted):
            def answer(self, connection, name, fields):
                if name == "sandbox_end":
                    connection.close()
                else:
                    super().answer(connection, name, fields)

        with Rude() as service:
            result = service.msp("stop", "fix", "other")
        self.assertEqual(result.returncode, 75)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


class Names(unittest.TestCase):
    """A word that the supervisor does not know may be the beginning of an id."""

    def serve(self, *listed):
        def end(fields):
            return [DONE] if fields["sandbox"] in IDS else refuse("SANDBOX_UNKNOWN")

        return Scripted(sandbox_end=end, sandbox_list=lambda fields: [*listed, DONE])

    def test_the_beginning_of_an_id(self):
        with self.serve(sandbox(0), sandbox(1, owner="laptop"), sandbox(2)) as service:
            self.assertEqual(service.msp("stop", "2rgbv").returncode, 0)
            self.assertEqual([(fields["sandbox"], fields["owner"]) for fields in
                              service.requests("sandbox_end")],
                             [("2rgbv", ""), (IDS[1], "laptop")])
            self.assertEqual(service.requests("sandbox_list")[0]["is_everybody"], 1)

    def test_of_several(self):
        with self.serve(sandbox(0), sandbox(1)) as service:
            result = service.msp("stop", "2rgb")
            self.assertEqual(result.returncode, 64)
            self.assertRegex(result.stderr, "2 ids begin with it")
            self.assertEqual(len(service.requests("sandbox_end")), 1)

    def test_what_begins_no_id_is_not_looked_for(self):
        with self.serve(sandbox(0)) as service:
            for word in ("2rg", "build", "2RGB"):
                result = service.msp("stop", word)
                self.assertEqual(result.returncode, 64)
                self.assertIn(f"no sandbox '{word}'", result.stderr)
            self.assertEqual(service.requests("sandbox_list"), [])

    def test_exec_completes_too(self):
        def start(fields):
            if fields["sandbox"] != IDS[1]:
                return refuse("SANDBOX_UNKNOWN")
            pipes = [os.pipe() for _ in range(3)]
            os.write(pipes[1][1], b"out")
            for fd in (pipes[0][0], pipes[1][1], pipes[2][1]):
                os.close(fd)
            fds = [pipes[0][1], pipes[1][0], pipes[2][0]]
            return [("execution_started", {"fds": fds}),
                    ("execution_done", {"verdict": 1, "exit_code": 7})]

        with Scripted(execution_start=start,
                      sandbox_list=lambda fields: [sandbox(0), sandbox(1, owner="x"), DONE]
                      ) as service:
            result = service.msp("exec", "2rgbv", "--env=A=1", "--", "sh", "-c", "x")
            asked = service.requests("execution_start")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (7, "out", ""))
        self.assertEqual([(fields["sandbox"], fields["owner"]) for fields in asked],
                         [("2rgbv", ""), (IDS[1], "x")])
        self.assertEqual(asked[1]["argv"], b"sh\0-c\0x\0")
        self.assertEqual(asked[1]["environment"], b"A=1\0")


class Listing(unittest.TestCase):
    def test_a_table(self):
        now = int(time.time())
        with Scripted(sandbox_list=lambda fields: [
                sandbox(0, name="fix", used_s=now - 7200, expires_s=now + 86400 * 3 + 60,
                        workspace="/srv/x", workspace_mode=1, disk_bytes=5 << 20),
                sandbox(1, is_live=1, executions=2, used_s=now, expires_s=now + 60), DONE]
                      ) as service:
            result = service.msp("list")
            self.assertEqual(service.requests("sandbox_list")[0]["is_everybody"], 0)
        head, first, second = result.stdout.splitlines()
        self.assertRegex(head, r"^ID +NAME +PROFILE +STATE +DISK +USED +EXPIRES +WORKSPACE$")
        self.assertRegex(first, rf"^{IDS[1]}  -  +default +running 2 .* -$")
        self.assertRegex(second, rf"^{IDS[0]}  fix +default +cold +5\.0 MiB +2 h ago +in 3 days +"
                                 r"/srv/x$")

    def test_all_has_the_owners(self):
        with Scripted(sandbox_list=lambda fields: [sandbox(0, owner="laptop"), DONE]) as service:
            result = service.msp("list", "--all")
            self.assertEqual(service.requests("sandbox_list")[0]["is_everybody"], 1)
        self.assertRegex(result.stdout, r"OWNER(.|\n)*laptop")

    def test_none(self):
        with Scripted(sandbox_list=lambda fields: [DONE]) as service:
            result = service.msp("list")
            self.assertEqual((result.returncode, result.stdout), (0, ""))
            self.assertIn("msp create", result.stderr)
            self.assertEqual(json.loads(service.msp("list", "--json").stdout), {"sandboxes": []})

    def test_json_of_many(self):
        listed = [sandbox(0, name=f"n{i}", workspace="/w\n\x1b") for i in range(500)]
        with Scripted(sandbox_list=lambda fields: [*listed, DONE]) as service:
            value = json.loads(service.msp("list", "--json").stdout)
        self.assertEqual([entry["name"] for entry in value["sandboxes"]],
                         [f"n{i}" for i in range(500)])
        self.assertEqual(value["sandboxes"][0]["workspace"], "/w\n\x1b")


class Checkpoints(unittest.TestCase):
    def test_numbers_and_names(self):
        with Scripted(checkpoint_do=lambda fields: [
                {1: ("checkpoint_info", {"number": 3}), 4: sandbox(2)}.get(fields["operation"],
                                                                           DONE)]) as service:
            self.assertEqual(service.msp("checkpoint", "fix", "before").stdout, "3\n")
            self.assertEqual(service.msp("rollback", "fix", "3").returncode, 0)
            self.assertEqual(service.msp("rollback", "fix", "before").returncode, 0)
            self.assertEqual(service.msp("fork", "fix", "before", "--name=two").stdout,
                             IDS[2] + "\n")
            self.assertEqual(service.msp("fork", "fix").stdout, IDS[2] + "\n")
            self.assertEqual(service.msp("forget", "fix", "3").returncode, 0)
            asked = [(fields["operation"], fields["number"], fields["of"], fields["name"])
                     for fields in service.requests("checkpoint_do")]
        self.assertEqual(asked, [(1, 0, "", "before"), (3, 3, "", ""), (3, 0, "before", ""),
                                 (4, 0, "before", "two"), (4, 0, "", ""), (5, 3, "", "")])

    def test_a_table(self):
        with Scripted(checkpoint_do=lambda fields: [
                ("checkpoint_info", {"number": 1, "created_s": 5, "name": "first"}),
                ("checkpoint_info", {"number": 2, "parent": 1, "is_current": 1}), DONE]) as service:
            result = service.msp("checkpoints", "fix")
            value = json.loads(service.msp("checkpoints", "fix", "--json").stdout)
        self.assertRegex(result.stdout, r"\A  NUMBER +CREATED +ON +NAME\n"
                                        r"  1 +\d+ days ago +- +first\n"
                                        r"\* 2 +\d+ days ago +1 +-\n\Z")
        self.assertEqual([(entry["number"], entry["parent"], entry["current"])
                          for entry in value["checkpoints"]], [(1, None, False), (2, 1, True)])


PATCH = ("diff --git a/x.c b/x.c\nindex 1..2 100644\n--- a/x.c\n+++ b/x.c\n"
         "@@ -1,2 +1,2 @@\n same\n-old\n+new\x1b[31m\n")


class Diff(unittest.TestCase):
    def diff(self, *options, records=(), done=None, **keywords):
        with Scripted(changes_start=changes(*records, **(done or {}))) as service:
            result = service.msp("diff", "fix", *options, **keywords)
            self.asked, self.chosen = service.requests("changes_start"), service.chosen
            return result

    def test_nothing(self):
        for option in ([], ["--stat"], ["--name-only"], ["--patch"]):
            result = self.diff(*option)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_for_a_person_nothing_is_obeyed(self):
        result = self.diff(records=[record("MODIFIED", "x.c", patch=PATCH)])
        self.assertEqual(result.stdout, PATCH.replace("\x1b", "^["))
        result = self.diff("--color=always", records=[record("MODIFIED", "x.c", patch=PATCH)])
        self.assertIn("\x1b[31m-old\x1b[m\n\x1b[32m+new^[[31m\x1b[m\n", result.stdout)

    def test_git_takes_a_patch(self):
        """What real git says of real changes goes through as it is, and back into git."""
        with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
            for folder, text in ((old, "a\nb\n"), (new, "a\nc\x1b\rd\n")):
                with open(os.path.join(folder, "t\u00e4b\t.txt"), "w", encoding="utf-8",
                          newline="") as file:
                    file.write(text)
            patch = subprocess.run(["git", "diff", "--no-index", "--no-prefix", old, new],
                                   capture_output=True, check=False).stdout
            patch = patch.replace(old[1:].encode(), b"a").replace(new[1:].encode(), b"b")
            patch = patch.replace(old.encode(), b"a").replace(new.encode(), b"b")
            result = self.diff("--patch", records=[record("MODIFIED", "x", patch=patch)],
                               text=False)
            self.assertEqual((result.returncode, result.stdout), (0, patch))
            applied = subprocess.run(["git", "apply", "-"], cwd=old, input=result.stdout,
                                     capture_output=True, check=False)
            self.assertEqual(applied.stderr, b"")
            with open(os.path.join(old, "t\u00e4b\t.txt"), encoding="utf-8", newline="") as file:
                self.assertEqual(file.read(), "a\nc\x1b\rd\n")

    def test_binary_files(self):
        made = record("MODIFIED", "logo.png", flags=["BINARY"], sizes=(10, 20))
        self.assertIn("Binary files a/logo.png and b/logo.png differ", self.diff(records=[made])
                      .stdout)
        result = self.diff("--patch", records=[made, record("MODIFIED", "x.c", patch=PATCH)])
        self.assertEqual((result.returncode, result.stdout), (1, PATCH))
        self.assertRegex(result.stderr, r"\Amsp: diff: left out[^\n]*logo\.png\n\Z")

    def test_stat(self):
        result = self.diff("--stat", records=[record("MODIFIED", "x.c", patch=PATCH)])
        self.assertEqual(result.stdout,
                         " x.c | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n")

    def test_paths_alone(self):
        result = self.diff("--name-only", records=[
            record("ADDED", b"a\nb\xff"), record("ADDED", "d", flags=["DIRECTORY"]),
            record("RENAMED", "new", old_path=b"old")])
        self.assertEqual(result.stdout, '"a\\nb\\377"\nd/\nnew\n')
        self.assertEqual(self.asked[0]["flags"], 0, "nobody made patches for this")

    def test_json(self):
        result = self.diff("--json", records=[record("DELETED", "x", modes=(0o100755, 0))])
        value = json.loads(result.stdout)
        self.assertEqual((value["total"], value["complete"]), (1, True))
        self.assertEqual((value["changes"][0]["kind"], value["changes"][0]["old_mode"],
                          value["changes"][0]["new_mode"]), ("deleted", "100755", None))
        value = json.loads(self.diff("--json", "--patch",
                                     records=[record("MODIFIED", "x.c", patch=PATCH)]).stdout)
        self.assertEqual(value["changes"][0]["patch"], PATCH)

    def test_chosen_paths(self):
        self.diff("./src//x.c", "/workspace/doc/")
        self.assertEqual(self.chosen, [b"src/x.c\0doc\0"])
        self.diff("src", ".")
        self.assertEqual(self.chosen, [b""])

    def test_since_a_checkpoint_by_name(self):
        with Scripted(changes_start=changes(), checkpoint_do=lambda fields: [
                ("checkpoint_info", {"number": 4, "name": "other"}),
                ("checkpoint_info", {"number": 7, "name": "before"}), DONE]) as service:
            self.assertEqual(service.msp("diff", "fix", "--since=before").returncode, 0)
            self.assertEqual(service.msp("diff", "fix", "--since=9").returncode, 0)
            self.assertEqual([(fields["flags"] & 4, fields["number"]) for fields in
                              service.requests("changes_start")], [(4, 7), (4, 9)])
            result = service.msp("diff", "fix", "--since=gone")
            self.assertEqual(result.returncode, 64)
            self.assertIn("no checkpoint 'gone'", result.stderr)

    def test_many(self):
        records = [record("ADDED", f"file-{i}", patch=PATCH) for i in range(20000)]
        result = self.diff("--name-only", records=records)
        self.assertEqual(result.stdout.count("\n"), 20000)

    def test_a_reader_that_has_enough(self):
        records = [record("ADDED", f"file-{i}", patch=PATCH) for i in range(5000)]
        with Scripted(changes_start=changes(*records)) as service:
            result = subprocess.run(
                ["bash", "-c", f"{MSP} diff --socket {service.path} fix | head -1; "
                               "echo ${PIPESTATUS[0]}"], capture_output=True, text=True,
                check=False, timeout=60)
        self.assertEqual(result.stdout.splitlines()[-1], "141")
        self.assertEqual(result.stderr, "")

    def test_what_fails(self):
        result = self.diff(done={"error": 5, "step": 1})
        self.assertEqual(result.returncode, 70)
        self.assertRegex(result.stderr, r"\Amsp: diff: [^\n]*Input/output error \(EIO\)\n\Z")
        result = self.diff(records=[record("ADDED", "x")[:-1]])
        self.assertEqual(result.returncode, 70)
        self.assertRegex(result.stderr, r"\Amsp: diff: the records [^\n]*\n\Z")


class Apply(unittest.TestCase):
    PREVIEW, APPLY, UNDO = 2, 3, 4

    TEXT_HELD = 8
    CONFIRMED = 6  # CHANGES_STEP_CONFIRMED

    def serve(self, *, held=True, conflicts=0, changed_before=99):
        """A change that is applied, one that is held back, as `held` says; what both are is another
        thing from that question on."""
        self.questions = 0

        def answer(fields):
            too = fields["flags"] & 2
            applies = fields["operation"] == self.APPLY
            self.questions += 1
            digest = bytes([1 + (self.questions >= changed_before)]) * 32
            if applies and fields["expected"] not in (digest, bytes(32)):
                return changes(error=errno.ESTALE, step=self.CONFIRMED)(fields)
            patch = "@@ -0,0 +1 @@\n+echo 1\n" if fields["flags"] & self.TEXT_HELD else ""
            told = [record("MODIFIED", "src/x.c", flags=["APPLIED"] if applies else [])]
            if held:
                told.append(record("ADDED", ".git/hooks/post-checkout", patch=patch,
                                   flags=["APPLIED"] if applies and too else ["HELD"]))
            left = held and not (applies and too)
            return changes(*told, held=int(left), conflicts=conflicts,
                           digest=bytes(32) if applies else digest)(fields)

        return Scripted(changes_start=answer)

    def asked(self, service):
        return [(fields["operation"], fields["flags"]) for fields in
                service.requests("changes_start")]

    def test_without_a_terminal_what_is_held_is_left_out_and_named(self):
        with self.serve() as service:
            result = service.msp("apply", "fix")
            self.assertEqual(self.asked(service), [(self.PREVIEW, 0), (self.APPLY, 0)])
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"\AM  src/x\.c\nA  \.git/hooks/post-checkout  \(this machine"
                                        r"[^\n]*\n1 applied, 1 left out\n\Z")
        self.assertRegex(result.stderr, r"\Amsp: apply: left out: \.git/hooks/post-checkout[^\n]*"
                                        r"--held[^\n]*\n\Z")

    def test_held_is_said_beforehand(self):
        with self.serve() as service:
            result = service.msp("apply", "fix", "--held")
            self.assertEqual(self.asked(service), [(self.PREVIEW, 2), (self.APPLY, 2)])
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "2 applied"))

    def test_nothing_held(self):
        with self.serve(held=False) as service:
            self.assertEqual(service.msp("apply", "fix", "src").returncode, 0)
            self.assertEqual(service.chosen, [b"src\0", b"src\0"])

    def test_nothing_at_all(self):
        with Scripted(changes_start=changes()) as service:
            result = service.msp("apply", "fix")
            self.assertEqual((result.returncode, self.asked(service)), (0, [(self.PREVIEW, 0)]))
            self.assertIn("nothing to apply", result.stderr)

    def test_a_path_in_which_nothing_changed_is_named(self):
        """It may be mistyped, and what was meant is not applied."""
        with self.serve(held=False) as service:
            for words in (["apply", "fix"], ["apply", "--json", "fix"], ["diff", "fix"]):
                result = service.msp(*words, "src", "sr", "no\nne")
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertEqual([line.split(": ", 2)[2].split(":")[0]
                                  for line in result.stderr.splitlines()], ["sr", '"no\\nne"'])

    def test_preview_does_nothing(self):
        for held, code in ((True, 1), (False, 0)):
            with self.serve(held=held) as service:
                self.assertEqual(service.msp("apply", "--preview", "fix").returncode, code)
                self.assertEqual(self.asked(service), [(self.PREVIEW, 0)])
        with self.serve() as service:
            self.assertEqual(service.msp("apply", "--preview", "--held", "fix").returncode, 0)

    def test_held_is_not_asked_about_when_it_was_said(self):
        with self.serve() as service:
            code, text, typed = self.in_terminal(service, "--held", answer=b"n\n")
            self.assertEqual((code, typed, self.asked(service)),
                             (0, False, [(self.PREVIEW, 2), (self.APPLY, 2)]), text)

    def test_conflicts(self):
        with self.serve(held=False, conflicts=1) as service:
            result = service.msp("apply", "fix")
            self.assertEqual(result.returncode, 1)
            self.assertIn("--conflict=merge, sandbox or host", result.stderr)
            self.assertEqual(self.asked(service), [(self.PREVIEW, 0)])
            self.assertEqual(service.msp("apply", "fix", "--conflict=sandbox").returncode, 0)
            self.assertEqual(service.requests("changes_start")[-1]["conflict"], 1)

    def test_json(self):
        with self.serve() as service:
            result = service.msp("apply", "fix", "--json")
            self.assertEqual(self.asked(service), [(self.APPLY, 0)])
        value = json.loads(result.stdout)
        self.assertEqual(result.returncode, 1)
        self.assertEqual((value["done"], value["held"], value["complete"]), (1, 1, True))

    def in_terminal(self, service, *words, answer):
        """The command in a terminal of its own, in which `answer` is typed at the question."""
        pid, master = pty.fork()
        if pid == 0:
            os.execv(MSP, [MSP, "apply", "--socket", service.path, "fix", *words])
        text, typed, end = b"", False, time.monotonic() + 30
        while time.monotonic() < end:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            text += part
            if b"[y/N]" in text and not typed:
                typed = True
                os.write(master, answer)
        os.close(master)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode(), typed

    def test_a_person_is_shown_and_asked(self):
        with self.serve() as service:
            code, text, typed = self.in_terminal(service, answer=b"y\n")
            asked = self.asked(service)
        self.assertTrue(typed, text)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(?s)may execute these by itself:\s+\.git/hooks/post-checkout.*"
                               r"\+echo 1.*Apply these too\? \[y/N\]")
        self.assertEqual(asked, [(self.PREVIEW, 0), (self.PREVIEW, self.TEXT_HELD),
                                 (self.APPLY, 2)])
        self.assertEqual(service.requests("changes_start")[-1]["expected"], b"\x01" * 32)

    def test_a_person_says_no(self):
        for answer in (b"n\n", b"\n", b"yess\n", b"\x04"):
            with self.subTest(answer=answer), self.serve() as service:
                code, text, _ = self.in_terminal(service, answer=answer)
                self.assertEqual((code, self.asked(service)[-1]), (1, (self.APPLY, 0)), text)

    def test_a_person_leaves(self):
        with self.serve() as service:
            code, _, _ = self.in_terminal(service, answer=b"\x03")
            self.assertEqual(code, 130)
            self.assertNotIn(self.APPLY, [operation for operation, _ in self.asked(service)])

    def test_what_was_agreed_to_is_what_is_applied(self):
        for question, applies in ((2, False), (3, True)):
            with self.subTest(question=question), self.serve(changed_before=question) as service:
                code, text, typed = self.in_terminal(service, answer=b"y\n")
                self.assertEqual((code, typed), (70, applies), text)
                self.assertIn("nothing was applied", re.sub(r"\s+", " ", text))
                self.assertEqual(self.asked(service)[-1][0] == self.APPLY, applies)

    def test_without_a_question_it_is_what_was_listed(self):
        with self.serve(changed_before=2) as service:
            result = service.msp("apply", "fix", "--held")
        self.assertEqual((result.returncode, self.asked(service)[-1][0]), (70, self.APPLY))
        self.assertRegex(result.stderr, r"\Amsp: apply: the changes are not those any more [^\n]*"
                                        r"\n\Z")

    def test_undo(self):
        with Scripted(changes_start=changes(record("MODIFIED", "x", flags=["UNDONE"]),
                                            record("MODIFIED", "y", flags=["CONFLICT"]),
                                            conflicts=1)) as service:
            result = service.msp("undo", "fix")
            self.assertEqual(self.asked(service), [(self.UNDO, 0)])
            self.assertEqual(service.requests("changes_start")[0]["conflict"], 2)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"\AM  x\nM  y  \(conflict[^\n]*\n1 taken back, 1 left out"
                                        r"\n\Z")


if __name__ == "__main__":
    unittest.main()
