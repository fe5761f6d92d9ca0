#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever asks for an execution, and however often: the confinement is the same; and nothing that
a request says becomes policy."""
import os
import re
import tempfile
import unittest

import evidence
import probes
import support

setUpModule = probes.needs_ordinary_user

TIMES = int(os.environ.get("MSP_EXECUTIONS", "12"))
STATUS = re.compile(
    r"^(NoNewPrivs|Seccomp|Seccomp_filters|Cap\w+|Uid|Gid|Groups|Umask):\s*(.*)$", re.M)
KINDS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
LOOK = ("cat /proc/self/status; for kind in user mnt pid net ipc uts cgroup; do "
        "readlink /proc/self/ns/$kind; done; exec 2>&1; echo acts; kill -0 1; ls /proc/1; "
        "echo > /usr/x; echo > /opt/x; unshare -U true; ulimit -a; cat /proc/mounts; "
        "/bin/ls -l /proc/self/fd | wc -l; pwd; echo end")
REFUSALS = ("(1) - Operation not permitted", "'/proc/1': No such file or directory",
            "/usr/x: Read-only file system", "unshare failed: Operation not permitted")


def look_at(text):
    """What must be the same in each execution, and its namespaces' numbers."""
    acts = text.partition("\nacts\n")[2].partition("\nend")[0]
    same = STATUS.findall(text), re.sub(r"^\S+: line \d+: ", "", acts, flags=re.M)
    return same, dict(re.findall(r"^(\w+):\[(\d+)\]$", text, re.M))


class EveryExecution(probes.Attack):
    """The first, the next and the hundredth start pass one path."""

    def assert_confined(self, same):
        status = dict(same[0])
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")
        self.assertEqual({status[name] for name in status if name.startswith("Cap")}, {"0" * 16})
        self.assertEqual(set(status["Uid"].split() + status["Gid"].split()), {"1000"})
        for refusal in REFUSALS:
            self.assertIn(refusal, same[1])

    @staticmethod
    def by_run(without=None):
        result, told = probes.msp_run("/bin/bash", "-c", LOOK, without=without)
        return look_at(told["stdout"]) if told else look_at(result.stderr)

    def by_server(self):
        """First and later ones, as a command, as arguments, as code, in another profile's turn."""
        with support.Server() as server:
            server.initialize()
            for turn in range(TIMES):
                if turn % 3 == 0:
                    result = server.call("run_command", command=LOOK)
                elif turn % 3 == 1:
                    result = server.call("run_command", argv=["/bin/bash", "-c", LOOK])
                else:
                    result = server.call("run_code", language="bash", code=LOOK)
                yield look_at(support.text_of(result))
                server.call("run_command", command="true", profile="strict")

    def compare(self, looks):
        """"succeeded": one of them is confined in another way than the first."""
        host = {kind: re.search(r"\d+", os.readlink("/proc/self/ns/" + kind)).group()
                for kind in KINDS}
        first = None
        for same, namespaces in looks:
            first = first or same
            shared = [kind for kind in KINDS if namespaces.get(kind) in (None, host[kind])]
            if same != first or shared:
                return probes.Outcome("succeeded", None, f"{shared} {same} {first}", None)
        self.assert_confined(first)
        return probes.Outcome("refused", "EPERM", "", None)

    @evidence.attack("T8", "an execution through msp run that differs from the first", "checks")
    def test_by_msp_run(self):
        def weaker():
            return self.compare([self.by_run(), self.by_run(without="seccomp")])

        self.prove_by(lambda _: self.compare(self.by_run() for _ in range(3)), ("EPERM",), weaker)
        for without in ("landlock", "network", "capabilities", "root", "rlimits"):
            with self.subTest(without=without):
                self.assert_succeeded(self.compare([self.by_run(), self.by_run(without)]))

    @evidence.attack("T8", "an execution through one server that differs from the first", "checks")
    def test_by_one_server(self):
        def weaker():
            return self.compare([*self.by_server(), self.by_run(without="landlock")])

        self.prove_by(lambda _: self.compare(self.by_server()), ("EPERM",), weaker)

    @evidence.attack("T8", "the rights of our own processes' profile, by its name", "checks")
    def test_internal_profile(self):
        def outcome(name):
            code = support.run("true", options=("--profile", name)).returncode
            return probes.Outcome("refused" if code == 64 else "succeeded", code, "", None)

        self.prove_by(lambda _: outcome("_helper"), (64,), host=lambda: outcome("strict"))
        with support.Server() as server:
            server.initialize()
            result = server.call("run_command", command="true", profile="_helper")
            self.assertTrue(result.get("isError"), result)


class Requests(probes.Attack):
    """A working directory is a place to start in and nothing else."""

    @evidence.attack("T19", "a requested working directory that becomes writable", "readonly",
                     "landlock")
    def test_a_working_directory_gives_no_right(self):
        folder = tempfile.mkdtemp(dir=probes.scratch())
        for cwd in ("/", "/usr", "/etc", "/opt", "/workspace/../usr", "/proc/self/root", "/dev"):
            with self.subTest(cwd=cwd):
                self.assert_refused(probes.in_sandbox("create", "made", options=("--cwd", cwd)),
                                    "EROFS", "EACCES")

        def create(without):
            outcome = probes.in_sandbox("create", "made", without=without, options=(
                "--ro", folder + ":/shown", "--cwd", "/shown"))
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
            return outcome

        self.prove_by(create, ("EROFS", "EACCES"))
        with support.Server() as server:
            server.initialize()
            for cwd in ("/usr", "/etc", "/"):
                text = support.text_of(server.call("run_command", command="touch made", cwd=cwd))
                self.assertIn("cannot touch", text)


if __name__ == "__main__":
    unittest.main()
