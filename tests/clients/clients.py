#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that people use, as they come from npm, against the real server: the TypeScript SDKs, the
Inspector's command line and mcporter, in both eras and over both transports."""
import json
import os
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import leftovers  # noqa: E402
import packages  # noqa: E402
import sdk  # noqa: E402
import support  # noqa: E402
from http_server import HttpServer  # noqa: E402
from sdk import ClientError, text_of  # noqa: E402
from workload import Workload, is_running  # noqa: E402

LEGACY, MODERN = "2025-11-25", "2026-07-28"
TOOLS = {"run_command", "run_code", "read_output", "send_input", "kill_execution",
         "list_sandboxes", "create_sandbox", "destroy_sandbox", "checkpoint", "diff_changes",
         "preview_changes", "apply_changes", "read_sandbox_file", "write_sandbox_file",
         "patch_sandbox_files", "list_sandbox_files", "import_files", "explain_policy"}
HINTS = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
HANDLE = re.compile(r"\b([0-9abcdefghjkmnpqrstvwxyz]{26})-(\d+)\b")
# The last line of a text says how an execution ended, or that it runs.
RUNS = re.compile(r"\[still running [^\]]*\]\s*$")

# An ordinary run has each SDK and each era once over each transport, and of a command line client,
# each of whose calls is a start of Node, what concerns a transport or an era once with it.
IS_ALL = os.environ.get("MSP_CLIENTS") == "all"
EVERY_MODE = unittest.skipUnless(IS_ALL, "MSP_CLIENTS=all")

ERAS = ("legacy", "auto", "modern")  # by the Inspector's names

PLACE = None
HTTP = None


def setUpModule():
    global PLACE
    try:
        packages.folder()
    except packages.Unreachable as error:
        raise unittest.SkipTest(str(error)) from error
    leftovers.become_reaper()
    PLACE = sdk.Place()


def tearDownModule():
    if HTTP:
        HTTP.__exit__()
    PLACE.remove()
    leftovers.reap_orphans()
    if leftovers.wait_gone(time.monotonic()) is None:
        raise AssertionError(f"left over: {leftovers.describe(leftovers.living())}")


def http_server():
    """One server for all that connect over HTTP."""
    global HTTP
    if not HTTP:
        HTTP = HttpServer(support.MSP, *support.limits()).__enter__()
    return HTTP


# --- the SDKs -------------------------------------------------------------------------------


class Sdk:
    """The tests; classes below say with what."""

    sdk, mode, version, over_http = None, None, None, False

    @classmethod
    def connect(cls, **changes):
        if cls.over_http:
            server = http_server()
            setup = {"url": server.url, "token": server.token}
        else:
            setup = {"command": support.MSP, "args": ["serve", *support.limits()]}
        return sdk.Session(PLACE, sdk=cls.sdk, mode=cls.mode, **{**setup, **changes})

    @classmethod
    def setUpClass(cls):
        cls.session = cls.connect()

    @classmethod
    def tearDownClass(cls):
        cls.session.end()

    def is_modern(self):
        return self.version == MODERN

    def run_text(self, tool, **arguments):
        result = self.session.call(tool, arguments)
        self.assertFalse(result.get("isError"), result)
        return text_of(result)

    def start_long(self, command, **more):
        """A command that outlives its call: (the handle, what the call said)."""
        text = self.run_text("run_command", command=command, yield_ms=300, **more)
        match = HANDLE.search(text)
        self.assertTrue(match and RUNS.search(text), text)
        return match.group(), text

    def read_to_end(self, handle):
        """Poll as a model would, until the last line says how the execution ended."""
        texts = []
        for _ in range(30):
            texts.append(self.run_text("read_output", handle=handle, wait_ms=2000))
            if not RUNS.search(texts[-1]):
                return "\n".join(texts)
        self.fail(f"no end in {texts}")

    def test_what_connecting_tells(self):
        told = self.session.connected
        self.assertEqual(told["server"]["name"], "msp")
        for name in ("run_command", "run_code"):
            self.assertIn(name, told["instructions"])
        if self.sdk == 2:
            self.assertEqual(told["version"], self.version)

    def test_the_tools(self):
        tools = {tool["name"]: tool for tool in self.session.do("listTools")["tools"]}
        self.assertEqual(set(tools), TOOLS)
        for name, tool in tools.items():
            with self.subTest(tool=name):
                self.assertEqual(HINTS, {key for key, value in tool["annotations"].items()
                                         if isinstance(value, bool)})
                self.assertEqual(tool["inputSchema"]["type"], "object")
                self.assertGreaterEqual(len(re.findall(r"[.:](?:\s|$)", tool["description"])), 2)

    def test_a_command_and_code(self):
        self.assertRegex(self.run_text("run_command", command="echo out; echo err >&2; exit 3"),
                         r"^out\n\[stderr\]\nerr\n\[exit 3 · \d+\.\d\d s\]$")
        self.assertRegex(self.run_text("run_code", language="python", code="print(6 * 7)"),
                         r"^42\n\[exit 0 · \d+\.\d\d s\]$")

    def test_output_is_what_was_printed(self):
        text = self.run_text("run_code", language="python",
                             code="print('ü 日本 \\x1b[1m \\u2028 \"q\" \\\\ ')")
        self.assertIn('ü 日本', text)
        self.assertIn('"q" \\', text)

    def test_what_is_wrong_is_said(self):
        with self.assertRaises(ClientError) as caught:
            self.session.call("no_such_tool")
        self.assertEqual(caught.exception.code, -32602)
        self.assertIn("run_command", caught.exception.message)
        result = self.session.call("run_command", {"comand": "true"})
        self.assertTrue(result["isError"])
        self.assertIn("command", text_of(result))

    def test_cancellation_ends_the_processes(self):
        work = Workload()
        step = self.session.start("callTool", {
            "name": "run_command", "arguments": {"command": work.command}})
        self.assertTrue(work.is_seen())
        self.session.do("cancel", step)
        with self.assertRaises(ClientError) as caught:
            self.session.outcome(step)
        self.assertIn("seen enough", caught.exception.message)
        self.assertTrue(work.is_gone())
        self.assertIn("still", self.run_text("run_command", command="echo still here"))

    def test_progress_grows_and_ends(self):
        start = time.monotonic()
        step = self.session.start("callTool", {
            "name": "run_command", "arguments": {"command": "sleep 2.3"}}, progress=True)
        self.session.outcome(step)
        said = self.session.progress(step)
        self.assertGreaterEqual(len(said), 2)
        self.assertLessEqual(len(said), 2 * (time.monotonic() - start) + 1)  # two a second
        values = [params["progress"] for params in said]
        self.assertEqual(values, sorted(set(values)))
        self.assertTrue(all(params.get("message") for params in said), said)
        self.session.do("listTools")
        self.assertEqual(self.session.progress(step), said)

    def test_calls_at_the_same_time(self):
        steps = [self.session.start("callTool", {"name": "run_command", "arguments": {
            "command": f"sleep 0.{9 - i}; echo this is {i}"}}) for i in range(9)]
        for i, step in enumerate(steps):
            self.assertIn(f"this is {i}\n", text_of(self.session.outcome(step)))

    # --- what outlives its call ---

    def test_a_long_command_is_polled(self):
        handle, first = self.start_long("for i in 1 2 3 4 5; do echo line $i; sleep 0.4; done")
        rest = self.read_to_end(handle)
        self.assertRegex(rest, r"\[exit 0 · [^\]]*\]$")
        lines = re.findall(r"^line \d$", first + "\n" + rest, re.M)
        self.assertEqual(lines, [f"line {i}" for i in range(1, 6)])  # each of them once
        whole = self.run_text("read_output", handle=handle, offset=0, wait_ms=0)
        self.assertIn("\n".join(lines), whole)

    def test_one_keeps_talking_to_an_interpreter(self):
        handle, _ = self.start_long("while read line; do echo got $line; done; echo over",
                                    interactive=True)
        for word in ("one", "two"):
            self.assertIn("got " + word, self.run_text("send_input", handle=handle,
                                                       data=word + "\n", wait_ms=10000))
        text = self.run_text("send_input", handle=handle, data="", eof=True, wait_ms=10000)
        self.assertIn("over", text + self.read_to_end(handle))

    def test_what_runs_can_be_killed(self):
        work = Workload()
        handle, _ = self.start_long(work.command)
        self.assertTrue(work.is_seen())
        self.assertFalse(RUNS.search(self.run_text("kill_execution", handle=handle)))
        self.assertTrue(work.is_gone())
        self.assertIn("killed", self.read_to_end(handle))

    def test_what_runs_can_be_signalled(self):
        work = Workload("trap 'echo caught; exit 5' USR1; (echo started")
        handle, _ = self.start_long(work.command + ") & wait")
        self.assertTrue(work.is_seen())
        self.run_text("kill_execution", handle=handle, signal="USR1")
        text = self.read_to_end(handle)
        self.assertIn("caught", text)
        self.assertIn("[exit 5", text)
        self.assertTrue(work.is_gone())

    def test_a_terminal_is_one(self):
        handle, first = self.start_long("tty; stty size; read line; echo got $line", tty=True,
                                        tty_rows=33, tty_columns=111)
        text = first + self.run_text("send_input", handle=handle, data="it\n", wait_ms=10000)
        text += self.read_to_end(handle)
        for part in ("/dev/pts/", "33 111", "got it"):
            self.assertIn(part, text)

    def test_what_runs_is_listed_with_its_log(self):
        work = Workload()
        handle, _ = self.start_long(work.command)
        sandbox, number = HANDLE.match(handle).groups()
        self.assertIn(sandbox, self.run_text("list_sandboxes"))
        self.assertTrue(support.wait_until(lambda: "started" in self.session.do(
            "readResource", {"uri": f"sandbox://{sandbox}/log/{number}"})["contents"][0]["text"]))
        self.run_text("kill_execution", handle=handle)
        self.assertTrue(work.is_gone())

    def test_a_handle_that_never_was(self):
        result = self.session.call("read_output", {"handle": "0" * 26 + "-1"})
        self.assertTrue(result["isError"])
        self.assertIn("handle", text_of(result))

    # --- resources, prompts, completion, changes ---

    def test_resources(self):
        listed = {one["uri"] for one in self.session.do("listResources")["resources"]}
        self.assertIn("policy://default", listed)
        templates = self.session.do("listResourceTemplates")["resourceTemplates"]
        self.assertTrue(any(one["uriTemplate"].startswith("sandbox://") for one in templates))
        policy = self.session.do("readResource", {"uri": "policy://default"})["contents"][0]
        self.assertEqual(policy["uri"], "policy://default")
        self.assertIn("memory", policy["text"])
        with self.assertRaises(ClientError) as caught:
            self.session.do("readResource", {"uri": "policy://no-such-profile"})
        self.assertEqual(caught.exception.code, -32002 if self.sdk == 1 else -32602)  # SDK 2 translates

    def test_prompts(self):
        prompts = self.session.do("listPrompts")["prompts"]
        self.assertEqual(len(prompts), 3)
        for prompt in prompts:
            with self.subTest(prompt=prompt["name"]):
                given = {one["name"]: "python" for one in prompt.get("arguments", ())}
                messages = self.session.do("getPrompt", {
                    "name": prompt["name"], "arguments": given})["messages"]
                self.assertEqual(messages[0]["role"], "user")
                self.assertTrue(messages[0]["content"]["text"])
        with self.assertRaises(ClientError) as caught:
            self.session.do("getPrompt", {"name": "no_such_prompt"})
        self.assertEqual(caught.exception.code, -32602)

    def test_completion(self):
        template = next(one["uriTemplate"] for one
                        in self.session.do("listResourceTemplates")["resourceTemplates"]
                        if one["uriTemplate"].startswith("policy://"))
        argument = re.search(r"\{(\w+)\}", template).group(1)
        found = self.session.do("complete", {
            "ref": {"type": "ref/resource", "uri": template},
            "argument": {"name": argument, "value": "def"}})["completion"]["values"]
        self.assertEqual(found, ["default"])

    def test_a_log_that_grows_is_announced(self):
        handle, _ = self.start_long("read line; echo more of it; read line", interactive=True)
        sandbox, number = HANDLE.match(handle).groups()
        uri = f"sandbox://{sandbox}/log/{number}"
        if self.is_modern():
            self.session.do("listen", {"resourceSubscriptions": [uri]})
        else:
            self.session.do("subscribeResource", {"uri": uri})
        self.run_text("send_input", handle=handle, data="go\n", wait_ms=0)
        event = self.session.event("notification", method="notifications/resources/updated")
        self.assertEqual(event["params"]["uri"], uri)
        if self.is_modern():
            self.session.do("unlisten")
        else:
            self.session.do("unsubscribeResource", {"uri": uri})
        self.run_text("send_input", handle=handle, data="", eof=True, wait_ms=1000)


class Sdk1Stdio(Sdk, unittest.TestCase):
    sdk, mode, version = 1, "legacy", LEGACY


@EVERY_MODE
class Sdk2LegacyStdio(Sdk, unittest.TestCase):
    sdk, mode, version = 2, "legacy", LEGACY


@EVERY_MODE
class Sdk2AutoStdio(Sdk, unittest.TestCase):
    sdk, mode, version = 2, "auto", MODERN


class Sdk2ModernStdio(Sdk, unittest.TestCase):
    sdk, mode, version = 2, "modern", MODERN


class OverHttp(Sdk):
    """What is different with a token and a URL."""

    over_http = True

    def test_no_session_without_the_token(self):
        for token in ("msp_" + "A" * 43, "") if IS_ALL else ("msp_" + "A" * 43,):
            with self.subTest(token=token), self.assertRaises(EOFError) as caught:
                self.connect(token=token)
            self.assertIn("401", str(caught.exception))

    def test_another_client_cannot_use_the_handle(self):
        work = Workload()
        handle, _ = self.start_long(work.command)
        with self.connect(token=http_server().make_token("other-" + work.word)) as other:
            for tool, more in (("read_output", {}), ("send_input", {"data": "x"}),
                               ("kill_execution", {})):
                with self.subTest(tool=tool):
                    self.assertTrue(other.call(tool, {"handle": handle, **more})["isError"])
            self.assertNotIn(handle.split("-")[0], text_of(other.call("list_sandboxes")))
        self.assertTrue(is_running(work.word))
        self.run_text("kill_execution", handle=handle)
        self.assertTrue(work.is_gone())


class Sdk1Http(OverHttp, unittest.TestCase):
    sdk, mode, version = 1, "legacy", LEGACY


@EVERY_MODE
class Sdk2LegacyHttp(OverHttp, unittest.TestCase):
    sdk, mode, version = 2, "legacy", LEGACY


@EVERY_MODE
class Sdk2AutoHttp(OverHttp, unittest.TestCase):
    sdk, mode, version = 2, "auto", MODERN


class Sdk2ModernHttp(OverHttp, unittest.TestCase):
    sdk, mode, version = 2, "modern", MODERN


# --- command line clients -------------------------------------------------------------------


class Inspector(unittest.TestCase):
    lists = ERAS  # in which the tools are listed
    eras = ERAS if IS_ALL else ("legacy",)  # of the other tests

    def server(self):
        return [support.MSP, "serve", *support.limits()]

    def run_it(self, *arguments, era="legacy", code=0):
        result = PLACE.run("mcp-inspector", "--cli", "--protocol-era", era, *self.server(),
                           *arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def answer(self, *arguments, **keywords):
        result = self.run_it(*arguments, "--format", "json", "-q", **keywords)
        return json.loads(result.stdout)["result"]

    def test_each_era_sees_the_same_tools(self):
        """And the Inspector's own check of them finds nothing."""
        first = None
        for era in self.lists:
            with self.subTest(era=era):
                listed = self.run_it("--method", "tools/list", "--strict", "--format", "json", era=era)
                self.assertEqual(listed.stderr, "")
                tools = json.loads(listed.stdout)["result"]["tools"]
                self.assertEqual({tool["name"] for tool in tools}, TOOLS)
                first = first or tools
                self.assertEqual(tools, first)

    def test_a_call(self):
        for era in self.eras:
            with self.subTest(era=era):
                result = self.answer("--method", "tools/call", "--tool-name", "run_code",
                                     "--tool-arg", "language=python", "code=print(6*7)", era=era)
                self.assertTrue(text_of(result).startswith("42\n"), result)
                self.assertEqual(result["_meta"]["msp/execution"]["exit_code"], 0)

    def test_a_long_call_is_a_task_in_the_modern_era(self):
        """The Inspector declares the extension, and polls until the end."""
        given = {"command": "echo a; sleep 1.5; echo b", "yield_ms": 300}
        texts = {era: text_of(self.answer("--method", "tools/call", "--tool-name", "run_command",
                                          "--tool-args-json", json.dumps(given), era=era))
                 for era in ("legacy", "modern")}
        self.assertRegex(texts["legacy"], RUNS)
        self.assertRegex(texts["modern"], r"^a\nb\n\[exit 0 · \d+\.\d\d s\]$")

    def test_an_error_is_one(self):
        result = self.run_it("--method", "tools/call", "--tool-name", "run_command",
                             "--tool-arg", "comand=true", code=5)
        self.assertIn("tool_is_error", result.stderr)
        self.assertIn("command", result.stdout)

    def test_load(self):
        figures_ = self.answer("--method", "tools/call", "--tool-name", "run_command",
                               "--tool-args-json", '{"command":"true"}', "--load",
                               "--load-duration", "1", "--load-concurrency", "8")
        self.assertGreater(figures_["ok"], 8)
        self.assertEqual((figures_["toolErrors"], figures_["errors"]), (0, 0), figures_)

    def test_resources_and_prompts(self):
        for era in self.eras:
            with self.subTest(era=era):
                resource = self.answer("--method", "resources/read", "--uri", "policy://default",
                                       era=era)
                self.assertIn("memory", resource["contents"][0]["text"])
                prompts = self.answer("--method", "prompts/list", era=era)["prompts"]
                self.assertEqual(len(prompts), 3)


class InspectorHttp(Inspector):
    lists = ERAS if IS_ALL else ("legacy", "modern")
    eras = ERAS if IS_ALL else ("modern",)

    def server(self):
        server = http_server()
        return ["--transport", "http", "--server-url", server.url, "--header",
                f"Authorization: Bearer {server.token}"]

    # What an answer means is the same over each transport.
    test_a_long_call_is_a_task_in_the_modern_era = EVERY_MODE(
        Inspector.test_a_long_call_is_a_task_in_the_modern_era)
    test_an_error_is_one = EVERY_MODE(Inspector.test_an_error_is_one)


class Mcporter(unittest.TestCase):
    def server(self):
        return ["--stdio", " ".join([support.MSP, "serve", *support.limits()])]

    def run_it(self, command, *arguments, code=0):
        result = PLACE.run("mcporter", command, *self.server(), *arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def test_the_tools_as_functions(self):
        text = self.run_it("list", "--schema").stdout
        for name in TOOLS:
            self.assertIn(f"function {name}(", text)
        self.assertIn(f"{len(TOOLS)} tools", text)

    def test_calls(self):
        text = self.run_it("call", "run_code", "language=python", "code=print(6*7)").stdout
        self.assertRegex(text, r"^42\n\[exit 0 · \d+\.\d\d s\]\n$")
        result = json.loads(self.run_it("call", "run_command", "command=exit 3", "--output",
                                        "json").stdout)
        self.assertEqual(result["_meta"]["msp/execution"]["exit_code"], 3)

    def test_what_is_wrong_is_said(self):
        self.assertIn("has no argument", self.run_it("call", "run_command", "comand=true",
                                                     code=1).stdout)
        self.assertIn("run_command", self.run_it("call", "no_such_tool", code=1).stderr)


class McporterHttp(Mcporter):
    def server(self):
        server = http_server()
        return ["--http-url", server.url, "--allow-http", "--no-oauth", "--header",
                f"Authorization=Bearer {server.token}"]

    test_what_is_wrong_is_said = EVERY_MODE(Mcporter.test_what_is_wrong_is_said)


if __name__ == "__main__":
    unittest.main()
