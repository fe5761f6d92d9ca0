# SPDX-License-Identifier: Apache-2.0
"""Runtimes: how long each takes to start and end in a sandbox, beside the same without msp, how much
memory that takes, and what `npm ci --offline` takes inside and outside. Images have a file of their
own, and so have virtual machines."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys

import context as bench_context
import floors
import groups
import programs

sys.path.insert(0, os.path.join(bench_context.ROOT, "tests", "clients"))
import packages  # noqa: E402

HERE = bench_context.HERE
RUNTIMES, PROJECT = os.path.join(HERE, "npm-runtimes"), os.path.join(HERE, "npm-project")
# Where a sandbox has the packages and the programs of this file, as binds of its profile.
SEEN_PACKAGES, SEEN_CODE, SEEN_CACHE = "/packages", "/code", "/cache/npm"
DENO, WORKERD = "@deno/linux-x64-glibc/deno", "@cloudflare/workerd-linux-64/bin/workerd"
IN_MSP, OUTSIDE, FLOOR = ", in msp", ", bare", ", processes that only relay"
TRUE, PYTHON, NODE, TYPESCRIPT = "/bin/true", "python", "JavaScript (node)", "TypeScript (deno)"
WORKER, WASM = "worker (workerd, Hono)", "WebAssembly (node)"
NPM_INSIDE, NPM_OUTSIDE = "npm ci --offline in msp", "npm ci --offline, outside"
NPM_FLOOR = "npm ci --offline, outside in memory"

CODE = {
    "main.ts": "interface Answer { text: string }\nconst it: Answer = { text: 'hello' };\n"
               "console.log(it.text);\n",
    "app.js": "import { Hono } from 'hono/index.js';\nconst app = new Hono();\n"
              "app.get('/', (c) => c.text('hello'));\nexport default app;\n",
    "harness.js": "import app from 'app.js';\nexport default { async test() {\n"
                  "  const answer = await app.fetch(new Request('http://localhost/'));\n"
                  "  if (await answer.text() !== 'hello') throw new Error('no hello');\n} };\n",
    "wasm.mjs": "import { WASI } from 'node:wasi';\nimport { readFileSync } from 'node:fs';\n"
                "const wasi = new WASI({ version: 'preview1' });\n"
                "const module = new WebAssembly.Module(readFileSync(new URL('main.wasm', "
                "import.meta.url)));\n"
                "process.exit(wasi.start(new WebAssembly.Instance(module, wasi.getImportObject())));\n",
}
# (module (memory (export "memory") 1) (func (export "_start")))
WASM_BYTES = bytes.fromhex("0061736d01000000010401600000030201000503010001071302066d656d6f7279020006"
                           "5f737461727400000a040102000b")

PROFILE = """profiles:
  - name: runtimes
    extends: default
    files:
      - {at: %s, from: %s, kind: bind}
%s    landlock:
      - {path: %s, rights: [read, execute]}
      - {path: /packages, rights: [read, execute]}
      - {path: /cache, rights: [read]}
default_profile: runtimes
unprotect: [%s]
"""


def modules_of_hono(folder):
    """{name: path} of index.js and all that it imports."""
    found, left = {}, ["index.js"]
    while left:
        name = left.pop()
        if name in found:
            continue
        path = os.path.join(folder, "hono", "dist", name)
        found[name] = path
        with open(path, encoding="utf-8") as file:
            text = file.read()
        left += [os.path.normpath(os.path.join(os.path.dirname(name), other))
                 for other in re.findall(r"""(?:from|import) *["'](\.[^"']+)["']""", text)]
    return found


def write_worker(code, folder):
    """The worker's configuration, whose paths are beside it."""
    lines = ['(name = "harness.js", esModule = embed "harness.js")',
             '(name = "app.js", esModule = embed "app.js")']
    for name, path in sorted(modules_of_hono(folder).items()):
        target = os.path.join(code, "hono", name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(path, target)
        lines.append(f'(name = "hono/{name}", esModule = embed "hono/{name}")')
    with open(os.path.join(code, "worker.capnp"), "w", encoding="ascii") as file:
        file.write('using Workerd = import "/workerd/workerd.capnp";\n'
                   "const config :Workerd.Config = (services = [\n"
                   '  (name = "main", worker = .worker),\n'
                   '  (name = "internet", network = (allow = []))]);\n'
                   "const worker :Workerd.Worker = (compatibilityDate = \"2025-01-01\", modules = [\n  "
                   + ",\n  ".join(lines) + "]);\n")


class Place:
    """The programs of this file, a profile that has them, and a server with it."""

    def __init__(self, context, stack):
        self.context, self.support, self.left_out = context, context.support, {}
        self.folder = os.path.join(context.place, "runtimes")
        self.code = os.path.join(self.folder, "code")
        self.home = os.path.join(context.memory, "home")  # in memory, as in a sandbox
        os.makedirs(self.code)
        stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        for name, text in CODE.items():
            with open(os.path.join(self.code, name), "w", encoding="ascii") as file:
                file.write(text)
        with open(os.path.join(self.code, "main.wasm"), "wb") as file:
            file.write(WASM_BYTES)
        shutil.copy(context.tool("peak"), self.code)
        self.packages = self.find((TYPESCRIPT, WORKER), lambda: os.path.join(
            packages.folder(RUNTIMES), "node_modules"))
        self.cache = self.find((NPM_INSIDE,), lambda: packages.npm_cache(PROJECT))
        if self.packages:
            write_worker(self.code, self.packages)
        shown = [source for source in (self.packages, self.cache) if source] or [self.code]
        binds = "".join(f"      - {{at: {at}, from: {source}, kind: bind}}\n" for at, source in
                        ((SEEN_PACKAGES, self.packages), (SEEN_CACHE, self.cache)) if source)
        self.store = stack.enter_context(contextlib.closing(programs.Store(
            self.support, self.folder,
            PROFILE % (SEEN_CODE, self.code, binds, SEEN_CODE, ", ".join(shown)))))

    def find(self, names, make):
        try:
            return make()
        except packages.Unreachable as problem:
            self.left_out |= dict.fromkeys(names, str(problem))
            return None

    def commands(self, is_inside):
        """{runtime: argv} of those that are here."""
        code = SEEN_CODE if is_inside else self.code
        found = {TRUE: ["/bin/true"], PYTHON: ["/usr/bin/python3", "-c", "print('hello')"]}
        node = shutil.which("node", path="/usr/bin:/usr/local/bin")
        if node:
            found |= {NODE: [node, "-e", "console.log('hello')"],
                      WASM: [node, "--no-warnings", os.path.join(code, "wasm.mjs")]}
        else:
            self.left_out |= dict.fromkeys((NODE, WASM), "there is no node")
        if self.packages:
            below = SEEN_PACKAGES if is_inside else self.packages
            found |= {TYPESCRIPT: [os.path.join(below, DENO), "run", "--no-remote",
                                   os.path.join(code, "main.ts")],
                      WORKER: [os.path.join(below, WORKERD), "test", "--no-verbose",
                               "--import-path=/", os.path.join(code, "worker.capnp")]}
        return found

    def environment(self):
        return {**programs.ENVIRONMENT, "HOME": self.home}

    def fresh(self, way):
        """The way with an empty home, as each sandbox has one: deno keeps what it compiled there."""
        def timed():
            shutil.rmtree(self.home, ignore_errors=True)
            os.mkdir(self.home)
            return way()
        return timed

    def starts(self, stack):
        outside, inside = self.commands(False), self.commands(True)
        ways, bases = {}, {}
        for name, command in outside.items():
            ways[name + OUTSIDE] = self.fresh(
                lambda command=command: programs.spawn(command, self.environment()))
            ways[name + IN_MSP] = lambda argv=inside[name]: self.store.server.run(argv=argv)
            relay = floors.Relay(self.context, command, self.environment())
            ways[name + FLOOR] = self.fresh(stack.enter_context(contextlib.closing(relay)).way)
            bases |= {name + IN_MSP: name + OUTSIDE, name + FLOOR: name + OUTSIDE}
        series = groups.take_turns(ways, self.context.rounds(100, 16), pause=0.004)
        return groups.Group("runtimes", "Start, hello and end of a runtime, by `run_command`", "us",
                            series, base=TRUE + OUTSIDE, bases=bases,
                            ours=[name + IN_MSP for name in outside], left_out=dict(self.left_out))

    def memory(self):
        """kB of its largest process, as it is inside."""
        found = {}
        for name, command in self.commands(True).items():
            values = []
            for _ in range(5):
                answer, _ = self.store.server.tool("run_command", argv=[SEEN_CODE + "/peak", *command])
                text = json.loads(answer)["result"]["content"][0]["text"]
                value = re.search(r"^(\d+)$", text, re.M)
                if not value:
                    raise programs.Failed(f"{name}: no peak in {text[:200]!r}")
                values.append(int(value.group(1)))
            found[name] = values
        return groups.Group("runtimes-memory", "Most memory of a runtime's largest process", "kB", found)

    def install(self):
        """`npm ci --offline` of 74 packages: inside into memory, with the cache as a read-only bind;
        outside onto the disk."""
        npm = shutil.which("npm", path="/usr/bin:/usr/local/bin")
        if not self.cache or not npm:
            return []
        words = ["ci", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"]
        project = os.path.join(self.code, "project")
        shutil.copytree(PROJECT, project)

        def inside():
            return self.store.server.run(
                command=f"cp {SEEN_CODE}/project/* . && npm_config_cache={SEEN_CACHE} exec {npm} "
                + " ".join(words), timeout_ms=60000)

        def bare(folder):
            outside = os.path.join(folder, "project")
            shutil.copytree(PROJECT, outside)
            try:
                return programs.spawn(["/usr/bin/env", "-C", outside, npm, *words],
                                      {**self.environment(), "npm_config_cache": self.cache})
            finally:
                shutil.rmtree(outside)

        series = groups.take_turns({NPM_INSIDE: inside, NPM_OUTSIDE: lambda: bare(self.folder),
                                    NPM_FLOOR: lambda: bare(self.context.memory)},
                                   self.context.rounds(20, 4), warm=1)
        return [groups.Group("runtimes-npm", "`npm ci --offline` of 74 packages", "us", series,
                             base=NPM_OUTSIDE, ours=[NPM_INSIDE])]


def runtimes(context):
    with contextlib.ExitStack() as stack:
        place = Place(context, stack)
        return [place.starts(stack), place.memory(), *place.install()]
