#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Persistent sandboxes, through the real server: what an agent makes of them, and whom they are
shown. What reaches the host is in persistent_consent.py."""
import os
import re
import shutil
import tempfile
import time
import unittest

import support
from http_support import HttpServer, ModernClient

ID = re.compile(r"^[0-9a-hjkmnp-tv-z]{26}$")
HANDLE = re.compile(r"\b([0-9a-hjkmnp-tv-z]{26})-(\d+)\b")
NOBODYS = "0" * 26


def setUpModule():
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("this build has no msp-layers, and no sandbox is persistent without it")


class Client(support.Server):
    """A session whose user answers what it is asked; `reply` None: the client cannot ask."""

    def __init__(self, *options, reply=None, **keywords):
        super().__init__("--standalone", *options, **keywords)
        self.reply, self.asked = reply, []

    def initialize(self, version=support.PROTOCOL):
        able = {} if self.reply is None else {"elicitation": {}}
        result = self.request("initialize", {
            "protocolVersion": version, "capabilities": able,
            "clientInfo": {"name": "tests", "version": "1"}})
        self.notify("notifications/initialized")
        return result

    def receive(self, timeout=20):
        message = super().receive(timeout)
        if message.get("method") == "elicitation/create":
            self.asked.append(message["params"])
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": self.reply})
        return message


class Case(unittest.TestCase):
    """A place for what lasts, a project, and servers that see both."""

    APPLY = "ask"

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msp-persistent-")
        self.addCleanup(support.remove_folder, self.folder)
        self.project = self.make("project/")
        self.write("main.c", "int main(void)\n{\n\treturn 1;\n}\n")
        self.write("README", "old\n")
        self.state = self.make("state/", 0o700)
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("default_profile: mine\nprofiles:\n  - name: mine\n    description: a test\n"
                       "    extends: default\n    lasting:\n"
                       f"      apply: {self.APPLY}\n")
        self.environment = {**os.environ, "MSP_STATE_DIR": self.state, "MSP_CONFIG": config}
        self.server = self.start()

    def make(self, path, mode=0o755):
        path = os.path.join(self.folder, path)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
        return path.rstrip("/")

    def write(self, path, text):
        path = os.path.join(self.project, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.project, path), encoding="utf-8") as file:
            return file.read()

    def start(self, reply=None):
        server = Client("--workspace", self.project, reply=reply, env=self.environment)
        self.addCleanup(server.close)
        server.initialize()
        return server

    def call(self, tool, **arguments):
        return self.server.call(tool, 90, **arguments)

    def text(self, tool, **arguments):
        result = self.call(tool, **arguments)
        self.assertFalse(result["isError"], result["content"])
        return support.text_of(result)

    def problem(self, tool, **arguments):
        result = self.call(tool, **arguments)
        self.assertTrue(result["isError"], result["content"])
        return support.text_of(result)

    def create(self, **arguments):
        """The id of a new one; on the project, unless it is said."""
        arguments.setdefault("workspace", self.project)
        if arguments["workspace"] is None:
            del arguments["workspace"]
        result = self.call("create_sandbox", **arguments)
        self.assertFalse(result["isError"], result["content"])
        self.assertRegex(result["structuredContent"]["id"], ID)
        return result["structuredContent"]["id"]

    def run_in(self, sandbox, command, **arguments):
        return self.text("run_command", sandbox=sandbox, command=command, **arguments)

    def listed(self):
        result = self.call("list_sandboxes")
        self.assertEqual(support.json.loads(support.text_of(result)), result["structuredContent"])
        return result["structuredContent"]["sandboxes"]


class Life(Case):
    def test_files_stay(self):
        box = self.create(name="build", workspace=None)
        self.run_in("build", "echo one > a; echo two > ~/b")
        self.assertIn("one\ntwo\n[exit 0", self.run_in(box, "cat /workspace/a /home/agent/b"))
        self.assertIn("two\n[exit 0", self.text("run_code", sandbox="build", language="bash",
                                                code="cat ~/b"))
        self.assertNotIn("one", self.text("run_command", command="cat /workspace/a 2>&1; true"))

    def test_each_code_is_its_own(self):
        """Also where it is of the same language as one that did not read its own yet."""
        box = self.create(workspace=None)
        slow = self.call("run_code", sandbox=box, language="bash", code="sleep 1; echo slow",
                         yield_ms=0)
        handle = slow["_meta"]["msp/execution"]["handle"]
        for word in ("one", "two"):
            self.assertIn(word + "\n[exit 0", self.text(
                "run_code", sandbox=box, language="bash", code="echo " + word))
        self.assertIn("slow\n", self.text("read_output", handle=handle, wait_ms=20000))

    def test_what_is_said_of_one(self):
        result = self.call("create_sandbox", name="build", workspace=self.project, ttl_s=7200)
        data = result["structuredContent"]
        self.assertEqual((data["name"], data["profile"], data["workspace"], data["workspace_mode"]),
                         ("build", "mine", self.project, "copy-on-write"))
        self.assertIn("2 h after its last use", support.text_of(result))
        (box,) = self.listed()
        self.assertEqual((box["id"], box["name"], box["kind"], box["executions"]),
                         (data["id"], "build", "persistent", []))
        self.assertIn(box["state"], ("cold", "live"))
        self.run_in("build", "true")
        self.assertEqual(self.listed()[0]["state"], "live")

    def test_names_are_unique(self):
        box = self.create(name="build")
        text = self.problem("create_sandbox", name="build")
        self.assertIn(box, text)
        self.assertIn("Use it", text)
        text = self.problem("create_sandbox", name="x" * 64)
        self.assertIn("at most 63 are possible. Use a shorter one", text)

    def test_the_end(self):
        box = self.create(name="build")
        handle = HANDLE.search(self.run_in("build", "sleep 600", yield_ms=0)).group()
        self.assertIn("is removed", self.text("destroy_sandbox", sandbox="build"))
        self.assertIn("stopped or destroyed",
                      self.text("read_output", handle=handle, wait_ms=10000))
        gone, never = (self.problem("run_command", sandbox=name, command="true")
                       for name in (box, NOBODYS))
        self.assertEqual(gone.replace(box, NOBODYS), never)
        self.assertEqual([entry["state"] for entry in self.listed() if entry["kind"] == "persistent"],
                         ["gone"])  # for its log
        self.assertEqual(self.read("README"), "old\n")

    def test_nobodys_is_unknown_to_every_tool(self):
        for tool, more in (("destroy_sandbox", {}), ("diff_changes", {}),
                               ("preview_changes", {}), ("apply_changes", {}),
                           ("checkpoint", {"action": "list"}), ("run_command", {"command": "true"}),
                           ("run_code", {"language": "bash", "code": "true"})):
            for name in (NOBODYS, "nope", "../" + NOBODYS, "/etc"):
                with self.subTest(tool=tool, name=name):
                    self.assertIn(f'There is no sandbox "{name}".',
                                  self.problem(tool, sandbox=name, **more))

    def test_one_server_has_it_at_a_time(self):
        box = self.create(name="build")
        self.run_in("build", "true")
        other = self.start()
        (entry,) = other.call("list_sandboxes")["structuredContent"]["sandboxes"]
        self.assertEqual((entry["id"], entry["state"]), (box, "elsewhere"))
        for tool, more in (("run_command", {"command": "true"}), ("diff_changes", {}),
                           ("destroy_sandbox", {}), ("checkpoint", {"action": "save"})):
            result = other.call(tool, sandbox="build", **more)
            self.assertIn("in use by another msp", support.text_of(result))
            self.assertTrue(result["isError"])
        self.run_in("build", "true")

    def test_another_server_has_them_too(self):
        box = self.create(name="build")
        self.run_in("build", "echo kept > ~/a")
        self.assertEqual(self.server.close(), 0)
        self.server = self.start()
        self.assertEqual([entry["id"] for entry in self.listed()], [box])
        self.assertIn("kept\n", self.run_in("build", "cat ~/a"))

    def test_a_crash_loses_nothing(self):
        self.create(name="build")
        self.run_in("build", "echo kept > ~/a; sync")
        self.server.process.kill()
        self.server.process.wait()
        self.server = self.start()
        self.assertIn("kept\n", self.run_in("build", "cat ~/a"))

    def test_profiles(self):
        self.create(name="build")
        self.assertIn('has the profile "mine", and the argument `profile` is "default"',
                      self.problem("run_command", sandbox="build", profile="default",
                                   command="true"))
        self.run_in("build", "true", profile="mine")
        self.assertIn("allows no persistent sandbox", self.problem("create_sandbox", profile="strict"))

    def test_workspaces_that_may_not_be(self):
        for path in ("/", "/etc", "/root", os.path.expanduser("~"), self.folder,
                     self.project + "/no-such", self.project + "/README"):
            with self.subTest(path=path):
                self.assertIn("The workspace cannot be used:",
                              self.problem("create_sandbox", workspace=path))
        self.assertEqual(self.listed(), [])


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Directories(Case):
    """A directory of the project is not renamed in one step: a hint has the way that works."""

    def test_a_rename(self):
        self.write("src/a.c", "int a;\n")
        box = self.create()
        self.run_in(box, "git init -q; git config --global user.name a; git config --global user.email a@b; "
                         "git add -A; git commit -qm first; mkdir own; touch own/x; git add own; git mv own mine")
        for command, way in (("git mv src lib", "'mv OLD NEW && git add -A'"),
                             ("python3 -c 'import os; os.rename(\"src\", \"lib\")'", "mv, which copies it"),
                             ("perl -e 'rename(\"src\", \"lib\") or die \"$!\\n\"'", "mv, which copies it")):
            self.assertIn("\n[sandbox: a directory of the project cannot be renamed in one step: use "
                          f"{way}]\n", support.text_of(self.call("run_command", sandbox=box, command=command)))
        self.assertIn("[sandbox: /tmp/x is in another mount than the other path: use mv, which copies it]",
                      support.text_of(self.call("run_command", sandbox=box, command=
                          "touch /tmp/x; python3 -c 'import os; os.rename(\"/tmp/x\", \"y\")'")))
        text = self.run_in(box, "mv src lib && git add -A && git status --short")
        self.assertIn("R  src/a.c -> lib/a.c", text)
        self.assertNotIn("[sandbox:", text)
        self.assertIn("src/a.c => lib/a.c", self.text("diff_changes", sandbox=box))


class Executions(Case):
    def test_handles_and_logs_are_of_the_sandbox(self):
        box = self.create(name="build")
        first = HANDLE.search(self.run_in("build", "echo first; sleep 600", yield_ms=500))
        second = HANDLE.search(self.run_in(box, "sleep 0.2; echo second", yield_ms=0))
        self.assertEqual((first.group(1), second.group(1)), (box, box))
        self.assertNotEqual(first.group(2), second.group(2))
        self.assertIn("second\n[exit 0", self.text("read_output", handle=second.group(),
                                                   wait_ms=10000))
        handles = [entry["handle"] for entry in self.listed()[0]["executions"]]
        self.assertEqual(handles, [second.group(), first.group()])
        log = self.server.request("resources/read",
                                  {"uri": f"sandbox://{box}/log/{first.group(2)}"})
        self.assertIn("first\n[still running]", log["contents"][0]["text"])
        self.assertIn("was killed", self.text("kill_execution", handle=first.group()))

    def test_two_see_each_others_files(self):
        self.create(name="build")
        waits = HANDLE.search(self.run_in(
            "build", "until [ -e ~/go ]; do sleep 0.05; done; echo gone", yield_ms=0)).group()
        self.run_in("build", "touch ~/go")
        self.assertIn("gone\n[exit 0", self.text("read_output", handle=waits, wait_ms=20000))

    def test_one_that_is_cancelled(self):
        self.create(name="build")
        number = self.server.post("tools/call", {"name": "run_command", "arguments": {
            "sandbox": "build", "command": "sleep 600", "yield_ms": 55000}})
        self.assertTrue(support.wait_until(
            lambda: self.listed()[0]["executions"] != []))
        self.server.notify("notifications/cancelled", {"requestId": number})
        self.assertTrue(support.wait_until(lambda: self.listed()[0]["executions"] == []))
        self.run_in("build", "true")


class Checkpoints(Case):
    def checkpoint(self, action, **arguments):
        return self.text("checkpoint", sandbox="build", action=action, **arguments)

    def setUp(self):
        super().setUp()
        self.create(name="build")

    def test_there_and_back(self):
        self.run_in("build", "echo one > a")
        self.assertIn('checkpoint 1 "first"', self.checkpoint("save", name="first"))
        self.run_in("build", "echo two > a; rm README")
        self.assertIn("checkpoint 2", self.checkpoint("save"))
        self.assertRegex(self.checkpoint("list"), r'(?s)1 "first" · .*\n2 · .*\[2 checkpoints')
        self.checkpoint("rollback", checkpoint="first")
        self.assertIn("one\nold\n", self.run_in("build", "cat a README"))
        self.checkpoint("rollback", checkpoint="2")
        self.assertIn("two\n", self.run_in("build", "cat a; ! test -e README"))
        self.assertEqual(self.read("README"), "old\n")

    def test_a_fork_goes_its_own_way(self):
        self.run_in("build", "echo one > a")
        self.checkpoint("save", name="first")
        self.run_in("build", "echo two > a")
        self.assertIn("checkpoint first", self.checkpoint("fork", checkpoint="first", name="old"))
        self.checkpoint("fork", name="new")
        self.run_in("build", "echo three > a")
        for name, text in (("build", "three"), ("old", "one"), ("new", "two")):
            self.assertIn(text + "\n", self.run_in(name, "cat a"))
        self.text("destroy_sandbox", sandbox="build")
        self.assertIn("one\n", self.run_in("old", "cat a"))

    def test_what_runs_is_in_the_way(self):
        handle = HANDLE.search(self.run_in("build", "sleep 600", yield_ms=0)).group()
        for action, more in (("save", {}), ("fork", {})):
            text = self.problem("checkpoint", sandbox="build", action=action, **more)
            self.assertIn("is in use: 1", text)
        self.assertIn("[no checkpoints", self.checkpoint("list"))
        self.text("kill_execution", handle=handle)
        self.assertIn("saved", self.checkpoint("save"))

    def test_those_that_are_not_there(self):
        self.checkpoint("save", name="first")
        for action in ("rollback", "delete", "fork"):
            for which in ("2", "second"):
                text = self.problem("checkpoint", sandbox="build", action=action, checkpoint=which)
                self.assertIn(f'There is no checkpoint "{which}" of this sandbox.', text)
        self.assertIn("is deleted", self.checkpoint("delete", checkpoint="1"))
        self.assertIn("[no checkpoints", self.checkpoint("list"))

    def test_the_difference_to_one(self):
        self.run_in("build", "echo one > a; echo x > b")
        self.checkpoint("save", name="first")
        self.run_in("build", "echo two > a")
        for since in ("first", "1"):
            text = self.text("diff_changes", sandbox="build", since=since)
            self.assertRegex(text, r"^ M a \| \+1 -1\n\n")
            self.assertIn("-one\n+two\n", text)
            self.assertIn(f"[1 change against checkpoint {since}]", text)


class Changes(Case):
    def setUp(self):
        super().setUp()
        self.box = self.create(name="build")

    def test_a_diff(self):
        self.assertEqual(self.text("diff_changes", sandbox="build"),
                         "[no file differs from the project on the host]")
        self.run_in("build", "sed -i 's/1/2/' main.c; rm README; mkdir sub; echo new > sub/n;"
                             r" printf 'a\0b' > bin; ln -s main.c link; chmod +x main.c")
        text = self.text("diff_changes", sandbox="build")
        for line in (" M main.c | +1 -1 [may run]\n", " D README", " A sub/n | +1 -0\n",
                     " A bin | binary, ", " A link -> main.c\n", "-\treturn 1;\n+\treturn 2;\n", "+new\n"):
            self.assertIn(line, text)
        self.assertRegex(text, r"\[\d changes against the project on the host\]$")
        self.assertEqual(self.read("README"), "old\n")
        self.assertNotIn("-\treturn", self.text("diff_changes", sandbox="build", text=False))
        some = self.text("diff_changes", sandbox="build", paths=["sub/", "/workspace/bin"])
        self.assertIn(" A sub/n", some)
        self.assertNotIn("main.c", some)

    def test_pages(self):
        self.run_in("build", "t=$(seq 250); for i in $(seq 100 399); do echo \"$t\" > f$i; done")
        seen, offset = set(), 0
        while offset is not None:
            text = self.text("diff_changes", sandbox="build", offset=offset)
            self.assertLess(len(text), 12000)
            seen |= set(re.findall(r"^ A (f\d+)", text, re.M))
            more = re.search(r"more: offset=(\d+)", text)
            self.assertTrue(more is None or int(more.group(1)) > offset, text[-300:])
            offset = int(more.group(1)) if more else None
        self.assertEqual(len(seen), 300)

    def test_odd_names(self):
        for name in (r"$(printf 'a\nb')", r"$(printf '\377\033[2J')", r"q\"\\"):
            self.run_in("build", f'printf x > "{name}"')
        text = self.text("diff_changes", sandbox="build", text=False)
        for shown in (r' A "a\nb" |', r' A "\377\033[2J" |', r' A "q\"\\" |'):
            self.assertIn(shown, text)

    def test_the_resource(self):
        uri = f"sandbox://{self.box}/diff"
        listed = [entry["uri"] for entry in self.server.request("resources/list")["resources"]]
        self.assertIn(uri, listed)
        self.server.request("resources/subscribe", {"uri": uri})
        self.run_in("build", "echo new > README")
        self.assertTrue(support.wait_until(lambda: self.server.request("ping") == {} and any(
            message.get("params", {}).get("uri") == uri for message in self.server.other)))
        (content,) = self.server.request("resources/read", {"uri": uri})["contents"]
        self.assertIn("-old\n+new\n", content["text"])
        self.assertIn("[1 change]", content["text"])
        self.server.close()
        self.server = self.start()  # which has not heard of it
        (content,) = self.server.request("resources/read", {"uri": uri})["contents"]
        self.assertIn("+new\n", content["text"])
        with self.assertRaises(support.RpcError) as caught:
            self.server.request("resources/read", {"uri": f"sandbox://{NOBODYS}/diff"})
        self.assertEqual(caught.exception.code, -32002)

    def test_read_only(self):
        self.create(name="look", workspace_mode="read-only")
        self.assertIn("old\n", self.run_in("look", "cat README; ! touch x"))
        self.assertFalse(os.path.exists(os.path.join(self.project, "x")))
        text = self.problem("apply_changes", sandbox="look")
        self.assertIn("no copy of a project", text)
        self.assertNotIn("`msp apply", text)  # a person cannot either
        self.assertIn("no copy-on-write directory", self.problem("diff_changes", sandbox="look"))

    def test_read_write_is_the_operators_to_allow(self):
        self.assertIn("The workspace cannot be used:", self.problem(
            "create_sandbox", workspace=self.project, workspace_mode="read-write"))


class Limit(Case):
    """As many sandboxes as the operator allows; the agent cannot destroy any."""

    def setUp(self):
        super().setUp()
        self.server.close()
        with open(self.environment["MSP_CONFIG"], "a", encoding="utf-8") as file:
            file.write("sandboxes: {most: 3}\n")
        home = os.path.join(os.path.dirname(self.environment["MSP_CONFIG"]), "home")
        os.mkdir(home)
        with open(os.path.join(home, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write("[user]\n\tname = Ada\n\temail = ada@example.org\n")
        self.environment["HOME"] = home  # each sandbox has that name for git, which is no file of it
        self.server = self.start()
        self.boxes = [self.create(name=name) for name in ("files", "home", "empty")]

    def leave(self, *unused):
        """End the session, as if these were not used for an hour, the first ones longest."""
        self.server.close()
        for name, age in zip(unused, range(4000, 3000, -100)):
            path = os.path.join(self.state, "sandboxes", self.boxes[
                ("files", "home", "empty").index(name)])
            then = time.time() - age
            os.utime(path, (then, then))
        self.server = self.start()

    def test_an_empty_one_makes_room(self):
        self.run_in("files", "touch file")
        self.run_in("home", "touch ~/file")
        self.run_in("empty", "touch file; rm file; echo x > /tmp/x")
        self.leave("files", "home", "empty")
        result = self.call("create_sandbox", name="fourth")
        self.assertFalse(result["isError"], result["content"])
        self.assertIn('To make room, your sandbox "empty" was removed: it had no files and was '
                      'unused for', support.text_of(result))
        self.assertEqual(result["structuredContent"]["removed"], self.boxes[2])
        self.assertEqual({one["name"] for one in self.listed()}, {"files", "home", "fourth"})
        self.run_in("files", "test -e file")
        self.run_in("home", "test -e ~/file")

    def test_the_error_names_one(self):
        self.run_in("files", "rm README")
        self.run_in("home", "touch ~/file")
        self.leave("home", "files")  # the third was used just now
        text = self.problem("create_sandbox", name="fourth")
        self.assertIn("3 of 3 sandboxes", text)
        self.assertIn(f'Unused for longest is "home"; the user can remove it with `msp destroy '
                      f'{self.boxes[1]}`.', text)
        self.assertEqual(len(self.listed()), 3)


class Owners(unittest.TestCase):
    """Over HTTP, a sandbox is its token's."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msp-owners-")
        self.addCleanup(support.remove_folder, self.folder)
        self.environment = {**os.environ, "MSP_STATE_DIR": self.folder}

    def result(self, client, tool, **arguments):
        return client.say(client.call(tool, **arguments)).messages()[-1]["result"]

    def test_a_sandbox_is_its_owners(self):
        with HttpServer(tokens=("alice", "bob"), env=self.environment) as server:
            box = self.check_owners(ModernClient(server), ModernClient(server, "bob"))
        self.check_stdio()
        with HttpServer(tokens=("alice",), env=self.environment) as server:
            result = self.result(ModernClient(server), "run_command", sandbox=box,
                                 command="cat ~/a")
            self.assertIn("hers\n", support.text_of(result))

    def check_owners(self, alice, bob):
        """What is Alice's is nothing to Bob; her sandbox's id."""
        box = self.result(alice, "create_sandbox", name="build")["structuredContent"]["id"]
        self.result(alice, "run_command", sandbox="build", command="echo hers > ~/a")
        for name in (box, "build"):
            for tool, more in (("destroy_sandbox", {}), ("diff_changes", {}),
                               ("preview_changes", {}), ("apply_changes", {}),
                               ("checkpoint", {"action": "list"}),
                               ("run_command", {"command": "cat ~/a"})):
                with self.subTest(name=name, tool=tool):
                    theirs = self.result(bob, tool, sandbox=name, **more)
                    never = self.result(bob, tool, sandbox=NOBODYS, **more)
                    self.assertTrue(theirs["isError"])
                    self.assertEqual(support.text_of(theirs).replace(name, NOBODYS),
                                     support.text_of(never))
        self.assertEqual(self.result(bob, "list_sandboxes")["structuredContent"]["sandboxes"], [])
        # a name is one's own
        other = self.result(bob, "create_sandbox", name="build")["structuredContent"]["id"]
        self.assertNotEqual(other, box)
        self.assertIn("hers\n", support.text_of(
            self.result(alice, "run_command", sandbox="build", command="cat ~/a")))
        return box

    def check_stdio(self):
        """The user's own are neither's, and neither's are the user's."""
        with Client(env=self.environment) as own:
            own.initialize()
            self.assertEqual(own.call("list_sandboxes")["structuredContent"]["sandboxes"], [])
            self.assertTrue(own.call("run_command", sandbox="build", command="true")["isError"])


if __name__ == "__main__":
    unittest.main()
