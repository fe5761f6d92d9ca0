#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In a fresh Debian, as its root: the package's life, from its installation to its purge.

/tmp/first.deb is installed, /tmp/next.deb is its upgrade, both with the commands of /tmp/cookbook.md,
whose outputs are compared. tests/packages/roots.py makes the root and its mark, without which nothing
is done."""
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time

import sessions

LIMITS = "--limits=fallback"
PROJECT = "/srv/project"
PAGE = "/tmp/cookbook.md"
CHECKOUT = "/tmp/checkout"
# The root has no sudo, and nobody answers apt's question.
AS_ROOT = """#!/bin/sh
exec env APT_CONFIG=/tmp/apt.conf "$@"
"""
APT = 'APT::Get::Assume-Yes "true"; APT::Install-Recommends "false";\n'
MARK = os.environ.get("MARK", "")
# Not the package's: the kernel's, temporary files, and the books of dpkg and apt.
OTHERS = ("/proc", "/dev", "/sys", "/run", "/tmp", "/var/log", "/var/cache", "/var/lib/dpkg",
          "/var/lib/apt")
# An account stays after a purge, as Debian has it: files of its id may exist somewhere.
ACCOUNTS = {f"/etc/{name}{end}" for name in ("passwd", "group", "shadow", "gshadow")
            for end in ("", "-")} | {"/etc/.pwd.lock"}


def run(*words, status=0):
    result = subprocess.run(words, capture_output=True, text=True, check=False,
                            stdin=subprocess.DEVNULL,
                            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if status is not None and result.returncode != status:
        sys.exit(f"{' '.join(words)}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def check(is_true, what):
    if not is_true:
        sys.exit(f"life: {what}")


class Session:
    """A client that stays while its msp is upgraded."""

    def __init__(self, words=("msp", "serve", LIMITS)):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.count = 0
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={},
                 clientInfo={"name": "life", "version": "1"})

    def ask(self, method, **params):
        self.count += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method,
                                             "params": params}) + "\n")
        self.process.stdin.flush()
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.count:
                return message["result"]

    def echo(self, word):
        result = self.ask("tools/call", name="run_command", arguments={"command": f"echo {word}"})
        check(word in result["content"][0]["text"], f"the session answers {result}")

    def close(self):
        self.process.stdin.close()
        check(self.process.wait(20) == 0, "the session's end")


def tree():
    """Each file, directory and link of the root, and what it holds."""
    found = {}
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in OTHERS]
        for path in (os.path.join(folder, name) for name in folders + names):
            status = os.lstat(path)
            found[path] = f"{status.st_mode:o} {status.st_uid}:{status.st_gid}"
            if stat.S_ISLNK(status.st_mode):
                found[path] += " " + os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    found[path] += " " + hashlib.sha256(file.read()).hexdigest()
    return {path: what for path, what in found.items() if path not in ACCOUNTS}


def differences(before, after):
    return sorted(path for path in before.keys() | after.keys()
                  if before.get(path) != after.get(path))


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def follow_page(title, deb=None):
    """Run the commands of a section of the cookbook, in a checkout whose ./dev package built `deb`."""
    package = os.path.join(CHECKOUT, "build", "package", "msp_0_amd64.deb")
    write("/tmp/bin/sudo", AS_ROOT, 0o755)
    write("/tmp/apt.conf", APT)
    os.makedirs(os.path.dirname(package), exist_ok=True)
    if deb:
        shutil.copy(deb, package)
    with open(PAGE, encoding="utf-8") as file:
        session = sessions.sections(file.read())[title]
    faults = sessions.faults(session, CHECKOUT, {
        **os.environ, "PATH": "/tmp/bin:" + os.environ["PATH"], "DEBIAN_FRONTEND": "noninteractive"})
    check(session and not faults, "\n".join([f"the cookbook's {title}:", *faults]))


def install_dependencies():
    """Install what the package depends on, so that the tree has the package alone to gain."""
    planned = run("apt-get", "-s", "install", "--no-install-recommends", "/tmp/first.deb")
    names = [name for name in re.findall(r"^Inst (\S+)", planned, re.M) if name != "msp"]
    run("apt-get", "install", "-qy", "--no-install-recommends", *names)


def note_in_sandbox(*command):
    return run("msp", "exec", LIMITS, "kept", "--", *command)


def use():
    check("/nonexistent" in run("getent", "passwd", "msp"), "the account")
    check("hello\n" in run("msp", "run", LIMITS, "--", "echo", "hello"), "a command")
    check_apparmor()
    check("ok, 1 profile" in check_config(), "a configuration")
    os.makedirs(PROJECT)
    run("chown", "msp:", PROJECT)
    run("msp", "create", "--name=kept", f"--workspace={PROJECT}")
    note_in_sandbox("sh", "-c", "echo a note > /workspace/note")
    check(os.path.isdir("/var/lib/msp"), "the state directory")
    run("systemctl", "--global", "enable", "msp.socket")
    check(os.path.islink("/etc/systemd/user/sockets.target.wants/msp.socket"), "the unit's link")


def upgrade():
    first = run("dpkg-query", "-W", "-f", "${Version}", "msp")
    session = Session()
    session.echo("before")
    follow_page("Upgrade", "/tmp/next.deb")
    session.echo("after")
    session.close()
    check(run("dpkg-query", "-W", "-f", "${Version}", "msp") == first + "+next", "the version")
    check("again\n" in run("msp", "run", LIMITS, "--", "echo", "again"), "the new version")
    check("kept" in run("msp", "list"), "the sandbox's name after the upgrade")
    check("a note\n" in note_in_sandbox("cat", "/workspace/note"), "the sandbox's file")
    check("+a note\n" in run("msp", "diff", "kept"), "the sandbox's changes")
    check(os.path.islink("/etc/systemd/user/sockets.target.wants/msp.socket"), "the unit's link")


def leave(before):
    installed = [path for path in run("dpkg", "-L", "msp").splitlines() if os.path.isfile(path)]
    check(len(installed) > 30, "its files")
    follow_page("Remove")
    check(not [path for path in installed if os.path.exists(path)], "files after the removal")
    check(os.path.isdir("/var/lib/msp"), "the state after the removal")
    check(not os.path.exists("/etc/apparmor.d/msp"), "the AppArmor profile")
    run("apt-get", "purge", "-qy", "msp")
    left = differences(before, tree())
    check(left == ["/etc/msp", "/etc/msp/config.yaml", PROJECT], f"after the purge: {left}")


def main():
    if not MARK or not os.path.exists(MARK):
        sys.exit(f"life: this is no root that is made for it: it has no {MARK or 'mark'}")
    run("apt-get", "update", "-q")
    install_dependencies()
    before = tree()
    begin = time.monotonic()
    follow_page("Install", "/tmp/first.deb")
    seconds = time.monotonic() - begin
    check("/usr/bin/msp" in differences(before, tree()), "the comparison finds no file")
    use()
    upgrade()
    leave(before)
    print(f"life: installed in {seconds:.1f} s, used, upgraded, removed, purged")


def check_config():
    os.makedirs("/etc/msp", exist_ok=True)
    with open("/etc/msp/config.yaml", "w", encoding="utf-8") as file:
        file.write("profiles:\n  - {name: own, extends: default}\n")
    return run("msp", "profile", "check")


def check_apparmor():
    """The profile is there if this AppArmor understands it."""
    is_new = os.path.exists("/etc/apparmor.d/abi/4.0")
    check(os.path.exists("/etc/apparmor.d/msp") == is_new, "the AppArmor profile's place")
    if is_new:
        run("apparmor_parser", "--skip-kernel-load", "--skip-cache", "/etc/apparmor.d/msp")


if __name__ == "__main__":
    main()
