#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runtimes beside the machine's own programs: TypeScript by deno, workers by workerd and modules of WASI
by node, each a real one, within the limits of its execution and with the posture of any other. Deno and
workerd come from the npm registry (tests/clients/npm-runtimes)."""
import base64
import os
import re
import sys
import unittest

import support
import wasm_modules
from bridge_support import Bridge, await_server
from config_support import WithFolder
from persistent_support import msp
from service import Service

sys.path[:0] = [os.path.join(support.ROOT, "tests"), os.path.join(support.ROOT, "tests", "clients")]
import packages  # noqa: E402
import sessions  # noqa: E402

NPM = os.path.join(support.ROOT, "tests", "clients", "npm-runtimes")
PROFILES = """\
profiles:
  - name: npm
    extends: default
    files:
      - {at: /opt, from: %s, kind: bind}
    limits: {memory: 1G, output: 256K, pids: 96}
"""
HONO = """\
import { Hono } from 'hono'
import { cors } from 'hono/cors'
const app = new Hono()
app.use(cors())
app.post('/sum', async (c) => {
  const numbers: number[] = await c.req.json()
  return c.json({ sum: numbers.reduce((a, b) => a + b), by: c.req.header('x-by') }, 201)
})
export default app
"""
PROGRAMS = {"typescript": "deno", "worker": "workerd", "wasm": "node"}
LOOP = "while (true) {}\n"
FLOOD = "while (true) console.log('x'.repeat(10000));\n"
HOG = "const all = []; while (true) all.push(new Uint8Array(1 << 24).fill(1));\n"
# A program of each kind, as code; of wasm as the modules of wasm_modules.
CODE = {
    "typescript": {"loop": LOOP, "flood": FLOOD, "hog": HOG},
    "worker": {kind: "export default { async fetch() { " + code + " } }"
               for kind, code in (("loop", LOOP), ("flood", FLOOD), ("hog", HOG))},
    "wasm": {"loop": wasm_modules.LOOPING, "flood": wasm_modules.FLOOD},
}


def shown(result):
    return result["content"][0]["text"]


class Runtimes(WithFolder):
    def setUp(self):
        super().setUp()
        self.folder_of_npm = "/opt"
        self.server = None

    def start(self, needs_npm=True):
        """A server, whose profile `npm` has the packages."""
        if needs_npm:
            try:
                self.folder_of_npm = packages.folder(NPM)
            except packages.Unreachable as error:
                self.skipTest(str(error))
        self.config = self.write(PROFILES % self.folder_of_npm)
        self.server = self.serve("--config=" + self.config)

    def need_node(self):
        if not os.access("/usr/bin/node", os.X_OK):
            self.skipTest("there is no /usr/bin/node (apt install nodejs)")

    def code(self, language, code, **more):
        """Run code; what the call shows, and what it says of the execution."""
        kind = "code" if isinstance(code, str) else "code_base64"
        data = code if isinstance(code, str) else base64.b64encode(code).decode()
        more.setdefault("profile", "npm")
        result = self.server.call("run_code", 60, language=language, **{kind: data}, **more)
        return shown(result), result["_meta"].get("msp/execution", {})

    def expect_bounds(self, language):
        """What the limits of an execution do to programs of the language."""
        programs = CODE[language]
        text, about = self.code(language, programs["loop"], timeout_ms=1500)
        self.assertEqual(about["verdict"], "timeout", text)
        text, about = self.code(language, programs["flood"])
        self.assertEqual(about["verdict"], "output", text[-300:])
        number = self.server.post("tools/call", {"name": "run_code", "arguments": {
            "language": language, "profile": "npm", "yield_ms": 50000, "timeout_ms": 600000,
            **({"code": programs["loop"]} if isinstance(programs["loop"], str) else
               {"code_base64": base64.b64encode(programs["loop"]).decode()})}})
        program = PROGRAMS[language]
        server = self.server.process.pid
        self.assertTrue(support.wait_until(lambda: support.find(server, program), 60))
        self.server.notify("notifications/cancelled", {"requestId": number})
        self.assertTrue(support.wait_until(lambda: not support.find(server, program), 60))

    def expect_posture(self, language, code, **more):
        """It is that of the machine's own programs in this profile."""
        self.code("sh", "true", profile=more.get("profile", "npm"))
        _, about = self.code(language, code, **more)
        _, plain = self.code("sh", "true", profile=more.get("profile", "npm"))
        self.assertEqual(about["posture"], plain["posture"])
        self.assertGreater(about["posture"]["layers"], 10)

    def test_typescript(self):
        self.start()
        text, about = self.code("typescript", "const n: number = 41;\nconsole.log('ts', n + 1, Deno.args[0]);\n",
                                args=["x"])
        self.assertRegex(text, r"^ts 42 x\n\[exit 0 ")
        text, _ = self.code("ts", "const n: number = ;\n")
        self.assertRegex(text, r"(?s)main.ts:1:.*\[exit 1 ")
        self.assertNotIn("\\x1b", text)
        self.expect_posture("typescript", "1")
        self.expect_bounds("typescript")

    def test_a_worker(self):
        self.start()
        text, about = self.code("worker", HONO, args=["POST", "/sum", "x-by: me"], stdin="[1, 2, 39]")
        self.assertRegex(text, r'(?s)^HTTP 201.*\ncontent-type: application/json\n\n\{"sum":42,"by":"me"\}\n'
                               r"\[exit 0 ")
        text, _ = self.code("worker", "export default { fetch() { throw new Error('on purpose') } }")
        self.assertRegex(text, r"(?s)Error: on purpose\n    at .*worker.js.*\[exit 1 ")
        self.assertNotIn("debug:", text)
        for code, words in (
                ("export const a = 1", "has no handler; expected: export default"),
                ("export default { fetch: () => 5 }", "fetch returned number; expected a Response"),
                ("import x from 'nowhere'; export default x", "modules are looked for beside"),
                ("export default { fetch: () => fetch('http://127.0.0.1:1') }", "not allowed")):
            text, about = self.code("worker", code)
            self.assertIn(words, text)
            self.assertNotEqual(about["exit_code"], 0)
        for args, words in ((["GET", "/", "bad"], "the header is 'bad'; expected NAME: VALUE"),
                            (["get", "/"], "the method is 'get'; expected one such as GET"),
                            ([""], "the method is ''; expected one such as GET"),
                            (["/nowhere"], "HTTP 404")):
            text, about = self.code("worker", HONO, args=args)
            self.assertIn(words, text)
        self.expect_posture("worker", HONO)
        self.expect_bounds("worker")
        text, about = self.code("worker", CODE["worker"]["hog"], timeout_ms=30000)
        self.assertTrue(about["verdict"] != "exited" or about["exit_code"] != 0, text)

    def test_a_worker_without_esbuild(self):
        """The hint is for what esbuild would mend, and for nothing else."""
        self.start()
        hint = "TypeScript and imports need esbuild; on the host: npm install -g esbuild"
        for code, status, is_hinted in (("import { Hono } from 'hono'; export default new Hono()", 65, True),
                                        ("const n: number = 1; export default {}", 65, True),
                                        ("nothing.at.all", 65, False), ("export const a = 1", 1, False),
                                        ("export default { fetch() { throw new Error('x') } }", 1, False),
                                        ("export default { fetch: () => new Response('yes') }", 0, False)):
            result = self.server.call(
                "run_command", 60, profile="npm", stdin=code, argv=[
                    "/bin/sh", "-c", "cat >w.js; NODE_PATH=/nowhere sh /etc/runtimes/worker w.js"],
                env={"PATH": "/opt/node_modules/@cloudflare/workerd-linux-64/bin:/usr/bin:/bin"})
            self.assertEqual(result["_meta"]["msp/execution"]["exit_code"], status, shown(result))
            self.assertEqual(hint in shown(result), is_hinted, shown(result))

    def test_the_commands_of_the_page(self):
        self.start()
        with open(os.path.join(support.ROOT, "docs", "runtimes.md"), encoding="utf-8") as file:
            page = file.read()
        wishes = sessions.sections(page)
        programs = os.path.join(self.folder, "bin")
        os.mkdir(programs)
        with open(os.path.join(programs, "msp"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nword=$1\nshift\nexec {support.MSP} \"$word\" --standalone "
                       f"{' '.join(support.limits())} \"$@\"\n")
        os.chmod(file.name, 0o755)
        profile = re.search(r"^```yaml\n(.*?)^```$", page, re.M | re.S).group(1)
        environment = self.environment(
            PATH=programs + ":/usr/bin:/bin",
            MSP_CONFIG=self.write(profile.replace("/home/you/runtimes", self.folder_of_npm), "page.yaml"))
        for title in ("TypeScript", "Workers", "WebAssembly"):
            self.assertGreater(len(wishes[title]), 1)
            self.assertEqual(sessions.faults(wishes[title], self.folder, environment), [], title)

    def test_a_worker_serves(self):
        """In the background of a persistent sandbox, with a bridge to it."""
        self.start()
        path = os.path.join(self.folder, "s.sock")
        environment = self.environment(MSP_STATE_DIR=os.path.join(self.folder, "state"))
        os.mkdir(environment["MSP_STATE_DIR"], 0o700)
        service = Service(path, "--config=" + self.config, env=environment)
        self.addCleanup(service.end)

        def msp_in(verb, *words, **more):
            return msp(verb, "--socket=" + path, *words, env=environment, **more)

        box = msp_in("create", "--profile", "npm").stdout.strip()
        self.addCleanup(msp_in, "destroy", box)
        msp_in("exec", box, "--", "sh", "-c", "cat >/workspace/app.ts", input=HONO)
        msp_in("exec", "-d", box, "--", "sh", "/etc/runtimes/worker", "--serve", "5000", "app.ts")
        await_server(lambda *words: msp_in("exec", box, "--", *words, code=None), 5000)
        bridge = Bridge("--socket=" + path, box, "5000", env=environment)
        self.addCleanup(bridge.end)
        request = (f"POST /sum HTTP/1.1\r\nHost: 127.0.0.1:{bridge.port}\r\nContent-Length: 7\r\n"
                   "Connection: close\r\n\r\n[20,22]").encode()
        answers = []
        self.assertTrue(support.wait_until(
            lambda: b'{"sum":42}' in (answers.append(bridge.ask(request)) or answers[-1]), 60, 0.2), answers)

    def test_a_module_of_wasi(self):
        self.need_node()
        self.start(needs_npm=False)
        text, _ = self.code("wasm", wasm_modules.COPYING, stdin="over\n", args=["A"])
        self.assertRegex(text, r"^over\n\[exit 65 ")
        text, _ = self.code("wasm", wasm_modules.TRAP)
        self.assertRegex(text, r"(?s)wasm: trap: unreachable\n.*\[exit 134 ")
        text, _ = self.code("wasi", wasm_modules.GROWING, timeout_ms=30000)
        self.assertIn("[exit 16 ", text, "1 GiB in parts of 64 MiB")
        for code, words in ((b"\x00asm\x0d\x00\x01\x00", "component of WASI 0.2; expected a core module"),
                            (b"print(1)", "no module of WebAssembly; expected its bytes"), (b"", "no module of Web"),
                            (b"\x00asm\x01\x00\x00\x00", "the module exports no _start"),
                            (b"\x00asm\x01\x00\x00\x00\x07", "WebAssembly.compile()")):
            text, about = self.code("wasm", code)
            self.assertIn(words, text)
            self.assertEqual(about["exit_code"], 126)
        self.expect_posture("wasm", wasm_modules.COPYING)
        self.expect_bounds("wasm")

    def test_a_module_sees_the_workspace_alone(self):
        """A link that leads out of it shows at most files of the sandbox."""
        self.need_node()
        self.start(needs_npm=False)
        canary = self.write("of the host\n", "canary", 0o644)
        self.server.call("create_sandbox", profile="npm", name="files")
        self.addCleanup(self.server.call, "destroy_sandbox", sandbox="files")
        self.server.call("run_command", sandbox="files", command=(
            "echo mine > /workspace/file; ln -s ../etc/passwd /workspace/link; "
            f"ln -s ..{canary} /workspace/canary"))
        text, _ = self.code("wasm", wasm_modules.opening("file"), sandbox="files", profile=None)
        self.assertRegex(text, r"^mine\n\[exit 0 ", "the control")
        inside = shown(self.server.call("run_command", sandbox="files", command="cat /etc/passwd"))
        for path in ("../etc/passwd", "link", "/etc/passwd", "canary", ".." + canary):
            text, about = self.code("wasm", wasm_modules.opening(path), sandbox="files", profile=None)
            self.assertTrue(about["exit_code"] != 0 or text.split("\n")[0] in inside, (path, text))
            self.assertNotIn("of the host", text)


if __name__ == "__main__":
    unittest.main()
