#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the test machine, as its root: the package where a user's systemd and AppArmor run.

first.deb is installed. next.deb, whose programs speak another version of the protocol, is its upgrade
while the user's service runs, and last.deb is that of next.deb. packages.py starts the machine with
these files in /job."""
import json
import os
import re
import subprocess
import sys
import time

import life
from life import check

USER_ID = 1000
RUNTIME = f"/run/user/{USER_ID}"
LABEL = "msp (unconfined)"
PROFILE = "/etc/apparmor.d/msp"
# Debian's kernel restricts no program without a profile, and no unconfined one.
CONFINED = "abi <abi/4.0>,\nprofile msp /usr/bin/msp {{\n  allow all,\n  {rule}\n}}\n"
# Each step has ten times of what it needs on the emulator.
SECONDS = 300
UNAVAILABLE = 75


def as_user(*words):
    """The words that run a command as the user, with what a log-in gives."""
    return ("setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--init-groups", "env", "-i",
            "-C", "/home/user", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/user",
            f"XDG_RUNTIME_DIR={RUNTIME}", f"DBUS_SESSION_BUS_ADDRESS=unix:path={RUNTIME}/bus", *words)


def user(*words, status=0):
    return life.run(*as_user(*words), status=status)


def systemctl(*words):
    return user("systemctl", "--user", *words)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip("\n\0")


def service():
    """The process of the user's service; 0: there is none."""
    return int(systemctl("show", "--property=MainPID", "--value", "msp.service"))


def processes():
    """{pid: name} of msp's processes; each has the name of its image."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = read(f"/proc/{pid}/cmdline").split("\0")
        except OSError:
            continue
        if re.fullmatch("msp(-[a-z-]+)?", os.path.basename(words[0])):
            found[int(pid)] = os.path.basename(words[0])
    return found


def wait_for(is_true, what):
    end = time.monotonic() + SECONDS
    while not is_true():
        check(time.monotonic() < end, what)
        time.sleep(0.2)


def install():
    life.run("dpkg", "-i", "/job/first.deb")
    check("/nonexistent" in life.run("getent", "passwd", "msp"), "the account")
    check(user("systemctl", "--user", "is-enabled", "msp.socket", status=None) == "disabled\n",
          "the installation enables the socket")
    systemctl("enable", "--now", "msp.socket")
    check(service() == 0, "the service runs before somebody asks")


def load_profile(action, path=PROFILE):
    life.run("apparmor_parser", action, "--skip-cache", path)


def use_apparmor():
    """Each process of msp has the label of the package's profile, workloads too, and none without it.
    A profile of this place decides about user namespaces."""
    for rule, status in (("deny userns,", "missing"), ("", "ok")):
        life.write("/tmp/confined", CONFINED.format(rule=rule))
        load_profile("--replace", "/tmp/confined")
        said = user("msp", "doctor", "--json", status=None)
        probes, _ = json.JSONDecoder().raw_decode(said)
        found, = (probe for probe in probes["probes"] if probe["name"] == "user-namespace")
        check(found["status"] == status, f"with '{rule}': {found}")
    for action, label in (("--remove", "unconfined"), ("--add", LABEL)):
        load_profile(action)
        for options in (("--standalone",), ()):
            done = user("msp", "run", *options, "--", "sh", "-c",
                        "cat /proc/self/attr/current; unshare --user true || echo refused")
            check(done.startswith(label + "\n") and "refused\n" in done, f"a workload: {done}")
        labels = {name: read(f"/proc/{pid}/attr/current") for pid, name in processes().items()}
        check({"msp-supervisor", "msp-child-init"} <= set(labels), f"the processes: {labels}")
        check(set(labels.values()) == {label}, f"the labels: {labels}")
        systemctl("stop", "msp.service")


def use_service():
    """What is under way when the upgrade comes: a client, a sandbox, a command in the background."""
    systemctl("start", "msp.service")
    session = life.Session(as_user("msp", "serve"))
    session.echo("before")
    user("mkdir", "project")
    user("msp", "create", "--name=kept", "--workspace=project")
    user("msp", "exec", "kept", "--", "sh", "-c", "echo a note > /workspace/note")
    user("msp", "exec", "-d", "kept", "--", "sleep", "4321")
    check("sleep 4321" in user("msp", "ps"), "the command in the background")
    return session


def upgrade(session):
    """The running service stays with its clients; the new programs name it and do without it."""
    before = service()
    check(before > 0, "the service does not run")
    life.run("dpkg", "-i", "/job/next.deb")
    check(service() == before, "the upgrade restarted the service")
    session.echo("after")
    status = user("msp", "status", status=UNAVAILABLE)
    check("of this version" in status and "systemctl --user restart msp.service" in status,
          f"the older service's name: {status}")
    done = user("msp", "run", "--", "echo", "new")
    check("new\n" in done and "of this version" in done, f"a new command: {done}")
    check("another msp" in user("msp", "exec", "kept", "--", "true", status=UNAVAILABLE),
          "the older service's sandbox")
    systemctl("restart", "msp.service")
    check(session.process.wait(SECONDS) == UNAVAILABLE, "the end of the older service's client")
    check(service() not in (0, before), "the new service")
    check(json.loads(user("msp", "status", "--json"))["pid"] == service(), "its status")
    check("a note\n" in user("msp", "exec", "kept", "--", "cat", "/workspace/note"), "the sandbox")
    check("+a note\n" in user("msp", "diff", "kept"), "the sandbox's changes")
    session = life.Session(as_user("msp", "serve"))
    session.echo("again")
    return session


def upgrade_again(session):
    """Where the protocol stays as it is, the running service serves the new programs."""
    before = service()
    life.run("dpkg", "-i", "/job/last.deb")
    session.echo("still")
    check(service() == before, "the upgrade restarted the service")
    done = user("msp", "run", "--verbose", "--", "echo", "served")
    check("served\n" in done and "of this version" not in done, f"a new command: {done}")
    check(json.loads(user("msp", "status", "--json"))["pid"] == before, "the service's status")


def leave(session):
    life.run("dpkg", "-r", "msp")
    check(not os.path.exists("/usr/bin/msp"), "the program after the removal")
    check(LABEL not in read("/sys/kernel/security/apparmor/profiles").splitlines(),
          "the AppArmor profile after the removal")
    session.echo("removed")
    systemctl("stop", "msp.socket", "msp.service")
    check(session.process.wait(SECONDS) == UNAVAILABLE, "the end of the client")
    wait_for(lambda: not processes(), f"processes after the end of the service: {processes()}")
    life.run("dpkg", "-P", "msp")
    check(os.path.isdir("/home/user/.local/state/msp"), "the user's state")


def main():
    wait_for(lambda: os.path.exists(f"{RUNTIME}/systemd/private"), "the user's systemd")
    install()
    use_apparmor()
    session = use_service()
    session = upgrade(session)
    upgrade_again(session)
    leave(session)
    print("machine: installed, confined by AppArmor, upgraded under a service, removed, purged")


if __name__ == "__main__":
    sys.exit(main())
