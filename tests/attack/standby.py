#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile workload leaves files that an interpreter runs at its start. The interpreter that waits
in the sandbox must not run them: nothing happens between two executions. Control: in the next
execution the same files do what they do at the start of any python."""
import json
import os
import shutil
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import standby_support  # noqa: E402  (a folder of its own)
import probes  # noqa: E402
import support  # noqa: E402

LIMIT_MS = 10000 if os.environ.get("MSP_VM") else 1000  # of one that never ends; an emulator is slow
ENDS_MS = 60000  # of one that ends by itself, also on a busy machine
QUIET = 1.0  # seconds in which nothing may happen
CPU_MOST = 0.2  # of a processor, of all that the sandbox runs meanwhile
START_MOST = 2.0  # seconds of a processor for one start (child-init/gate.c)

# Each planted file says that it ran, and by whose start.
SAYS = ("import sys\nwith open('/workspace/ran', 'a') as f: f.write('{name} ' + sys.orig_argv[-1]"
        " + '\\n')\n")
# Code lines of a .pth file; what imports itself again would not end.
FILES = {
    "{site}/planted.pth": "import sys; open('/workspace/ran', 'a').write('pth ' + "
                          "sys.orig_argv[-1] + '\\n')\n",
    "{site}/sitecustomize.py": SAYS.format(name="sitecustomize"),
    "{site}/usercustomize.py": SAYS.format(name="usercustomize"),
    "{site}/encodings.py": SAYS.format(name="shadow in the user's site"),
    "/home/agent/.pythonrc.py": SAYS.format(name="pythonrc"),
    "/home/agent/.python_history": "open('/workspace/ran', 'a').write('history')\n",
    "/home/agent/pyvenv.cfg": "home = /workspace/bin\ninclude-system-site-packages = false\n",
    "/workspace/pyvenv.cfg": "home = /workspace/bin\ninclude-system-site-packages = false\n",
    "/tmp/msp-code/pyvenv.cfg": "home = /workspace/bin\ninclude-system-site-packages = false\n",
    "/workspace/python3._pth": "/workspace\nimport site\n",
}
for folder in ("/workspace", "/home/agent", "/tmp/msp-code", "/tmp"):
    for module in ("encodings", "os", "site", "codecs", "usercustomize", "sitecustomize"):
        FILES[f"{folder}/{module}.py"] = SAYS.format(name=f"{folder}/{module}")
for folder in ("/workspace", "/home/agent/.local/bin", "/home/agent/bin", "/workspace/.venv/bin"):
    FILES[f"{folder}/python3"] = f"#!/bin/sh\necho {folder}/python3 >> /workspace/ran\n"

PLANT = """
import json, os, site, sys
for path, text in json.loads({files!r}).items():
    path = path.replace("{{site}}", site.getusersitepackages())
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
"""
BURNS = "import sys; exec('while True: pass')\n"
WRITES = "import sys; open('/workspace/filled', 'wb').write(bytes(64 << 20))\n"
FORKS = "import os, time; os.fork() or time.sleep(300)\n"
COUNT = "import os; print(len([n for n in os.listdir('/proc') if n.isdigit()]), 'processes')\n"

STARTS = """
  - name: {name}
    description: a test
    extends: default
    languages:
      - name: odd
        program: /usr/bin/python3
        file: /tmp/msp-code/main.odd
        run: [{run}, "{{{{file}}}}"]
        ahead: true
"""
LED = """
  - name: led
    description: a test
    extends: default
    environment:
      - PYTHONPATH=/workspace/lib
      - PYTHONSTARTUP=/workspace/lib/usercustomize.py
"""
ODD = {
    "burning": "/usr/bin/python3, -I, -S, -c, 'while True: pass'",
    "forking": "/bin/sh, -c, '(sleep 300) & exec python3 \"$0\"'",
    "writing": "/bin/sh, -c, 'echo left >> /workspace/made; exec python3 \"$0\"'",
}


def setUpModule():
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("this build has no msp-layers, and no sandbox is persistent without it")


def cpu_seconds(process):
    """Of all that lives below a process."""
    ticks = 0
    for pid in standby_support.below(process):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                ticks += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


class Case(standby_support.Case):
    config = standby_support.CONFIG + LED + "".join(
        STARTS.format(name=name, run=run) for name, run in ODD.items())

    def kept(self):
        """{name: size} of what the tests' own acts write, as it lies on the host."""
        return {name: os.lstat(os.path.join(folder, name)).st_size
                for folder, _, names in os.walk(os.path.join(self.state, "layers"))
                for name in names if name in ("ran", "filled", "made")}

    def processes(self):
        """How many live below the supervisor."""
        return len(standby_support.below(self.server.process.pid))

    def open_box(self, **arguments):
        """Where a process waits that has executed nothing."""
        self.box = self.create(**arguments)
        self.run_in(self.box, "true")
        standby_support.wait_for(self.is_at_rest)
        self.usual = self.processes()

    def is_at_rest(self):
        """What began has come as far as it can: it has done nothing for a while."""
        before = self.processes(), cpu_seconds(self.server.process.pid)
        time.sleep(QUIET / 2)
        return before == (self.processes(), cpu_seconds(self.server.process.pid))

    def stays_quiet(self):
        """After an execution: nothing computes, forks or writes until there is a request."""
        standby_support.wait_for(self.is_at_rest)
        cpu = cpu_seconds(self.server.process.pid)
        time.sleep(QUIET)
        self.assertLess(cpu_seconds(self.server.process.pid) - cpu, CPU_MOST * QUIET)
        self.assertLessEqual(self.processes(), self.usual)
        self.assertEqual(self.kept(), {})


class Planted(Case):
    def setUp(self):
        super().setUp()
        self.open_box()

    def plant(self, files):
        told = self.run_code(self.box, PLANT.format(files=json.dumps(files)))
        self.assertFalse(told["isError"], told["content"])

    def ran(self):
        """[(name, whose start)], and they are forgotten."""
        text = self.run_in(self.box, "cat ran 2>/dev/null; rm -f ran")
        return [tuple(line.rsplit(" ", 1)) for line in text.splitlines()]

    def as_plain(self):
        """What runs where python is started by a command."""
        self.run_in(self.box, "echo pass > /tmp/plain.py; "
                              "/usr/bin/python3 -u /tmp/plain.py")
        return sorted(name for name, _ in self.ran())

    def in_the_next(self):
        """What runs in the next execution, all of it by that one's start."""
        told = support.text_of(self.run_code(self.box, "import sys; print(sys.orig_argv[-1])"))
        path, ran = told.splitlines()[0], self.ran()
        self.assertEqual([start for _, start in ran], [path] * len(ran))
        return sorted(name for name, _ in ran)

    def test_nothing_that_was_planted_runs_between_executions(self):
        self.plant(FILES)
        self.stays_quiet()
        found = self.in_the_next()
        self.assertIn("pth", found, "the control: that file is one which a start runs")
        self.assertIn("usercustomize", found)
        self.assertEqual(found, self.as_plain())

    def test_a_variable_does_not_lead_there(self):
        self.open_box(profile="led")
        self.plant({f"/workspace/lib/{name}.py": SAYS.format(name=name)
                    for name in ("sitecustomize", "usercustomize")})
        self.stays_quiet()
        found = self.in_the_next()
        self.assertIn("sitecustomize", found)
        self.assertEqual(found, self.as_plain())

    def test_a_link_does_not_lead_there(self):
        """Neither to files of the workload's, nor to files of the host's that it chose."""
        for target in ("/workspace/site", "/usr/lib/python3/dist-packages"):
            self.open_box()
            self.run_code(self.box, "import os, site\nos.makedirs('site', exist_ok=True)\n"
                          "open('site/planted.pth', 'w').write("
                          f"{FILES['{site}/planted.pth']!r})\nplace = site.getusersitepackages()\n"
                          "os.makedirs(os.path.dirname(place), exist_ok=True)\n"
                          "os.path.islink(place) and os.unlink(place)\n"
                          f"os.symlink({target!r}, place)\n")
            self.stays_quiet()
            told = support.text_of(self.run_code(
                self.box, "import site, sys; print(site.getusersitepackages() in sys.path)"))
            self.assertIn("True", told)
            self.assertEqual([name for name, _ in self.ran()],
                             ["pth"] if target.startswith("/workspace") else [])

    def check_start(self, code, limit_ms=ENDS_MS):
        """A .pth file with this in it: quiet, until the next execution, which gets all of it."""
        self.plant({"{site}/planted.pth": code})
        self.stays_quiet()
        result = self.run_code(self.box, COUNT, timeout_ms=limit_ms)
        return result["_meta"]["msp/execution"]["verdict"], support.text_of(result)

    def test_a_start_that_computes(self):
        self.assertEqual(self.check_start(BURNS, LIMIT_MS)[0], "timeout")

    def test_a_start_that_forks(self):
        self.assertIn("2 processes", self.check_start(FORKS)[1])

    def test_a_start_that_writes(self):
        self.assertIn("1 processes", self.check_start(WRITES)[1])
        self.assertEqual(list(self.kept().values()), [64 << 20])


class Ungated(Case):
    """The control: where the init lets every call pass, what was planted runs unasked."""

    def setUp(self):
        programs = os.path.join(probes.scratch(), "without-gate")
        shutil.copytree(support.BIN, programs, dirs_exist_ok=True)
        shutil.copy(os.path.join(probes.CONTROLS, "child-init-without-gate"),
                    os.path.join(programs, "msp-child-init"))
        self.program = os.path.join(programs, "msp")
        super().setUp()
        self.open_box()

    def test_without_the_gate_it_runs(self):
        self.run_code(self.box, PLANT.format(files=json.dumps(FILES)))
        standby_support.wait_for(lambda: "ran" in self.kept())


class Limits(Case):
    """Of a start that its own command line makes costly, which no file of the workload's is in."""

    box = None

    def run_odd(self, profile, limit_ms=ENDS_MS):
        if not self.box:
            self.open_box(profile=profile)
        return self.server.call("run_code", 60, sandbox=self.box, language="odd",
                                code="print('ran')", timeout_ms=limit_ms)

    def test_a_start_has_a_limit_of_its_own(self):
        self.assertEqual(self.run_odd("burning", LIMIT_MS)["_meta"]["msp/execution"]["verdict"], "timeout")
        standby_support.wait_for(self.ended, 240 if os.environ.get("MSP_VM") else 60)
        standby_support.wait_for(lambda: not self.burning())
        time.sleep(QUIET)
        self.assertFalse(self.burning(), "it was not begun again")
        ended = self.ended()
        self.assertEqual([record["sandbox"] for record in ended], [self.box])
        self.assertGreater(ended[0]["cpu_us"], START_MOST * 0.8e6)
        self.assertLess(ended[0]["cpu_us"], START_MOST * 1.8e6)

    def ended(self):
        """What the audit log says of starts that ended by themselves."""
        with open(os.path.join(self.state, "audit", "audit.jsonl"), encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        return [record for record in records if record["event"] == "standby_end"]

    def burning(self):
        found = []
        for pid in standby_support.below(self.server.process.pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    found += [pid] if b"while True" in file.read() else []
            except OSError:
                pass
        return found

    def test_a_start_cannot_fork(self):
        for _ in range(2):
            self.assertIn("ran", support.text_of(self.run_odd("forking")))
            self.stays_quiet()

    def test_a_start_cannot_write(self):
        """Each execution does, by the same command line."""
        for size in (5, 10):
            self.assertIn("ran", support.text_of(self.run_odd("writing")))
            time.sleep(QUIET)
            self.assertEqual(list(self.kept().values()), [size])


if __name__ == "__main__":
    unittest.main()
