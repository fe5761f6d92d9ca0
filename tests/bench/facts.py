# SPDX-License-Identifier: Apache-2.0
"""What machine it was, for the head of a report."""
import os
import platform
import re
import shutil
import subprocess
import time

import peers

VERSIONS = (("bwrap", ("bwrap", "--version")), ("python3", ("/usr/bin/python3", "--version")),
            ("node", ("node", "--version")), ("crun", ("crun", "--version")),
            ("runc", ("runc", "--version")), ("podman", ("podman", "--version")),
            ("firejail", ("firejail", "--version")), ("isolate", ("isolate", "--version")),
            ("srt", ("srt", "--version")))


def first_line(argv):
    path = shutil.which(argv[0], path=peers.SEARCH)
    if not path:
        return None
    try:
        result = subprocess.run([path, *argv[1:]], capture_output=True, text=True, timeout=10,
                                stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return (result.stdout or result.stderr).split("\n")[0].strip() or None


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    found = re.search(r"^model name\s*: (.+)$", text, re.M)
    return (found.group(1) if found else "unknown") + (
        ", a virtual machine" if re.search(r"^flags.*\bhypervisor\b", text, re.M) else "")


def git(root, *words):
    """The command line of git in a checkout, whoever owns that."""
    return ["git", "-c", "safe.directory=*", "-C", root, *words]


def commit(root):
    try:
        name = subprocess.run(git(root, "rev-parse", "--short=12", "HEAD"), capture_output=True,
                              text=True, check=True).stdout.strip()
        changed = subprocess.run(git(root, "diff", "--quiet", "HEAD"), capture_output=True,
                                 check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + (", with changes" if changed else "")


def gather(build):
    with open("/proc/meminfo", encoding="ascii") as file:
        total = int(re.search(r"MemTotal: +(\d+)", file.read()).group(1))
    versions = {"msp": first_line((os.path.join(os.path.abspath(build.programs), "msp"), "version"))}
    versions |= {name: first_line(argv) for name, argv in VERSIONS}
    return {"date": time.strftime("%Y-%m-%d", time.gmtime()), "kernel": platform.release(),
            "processor": processor(), "cpus": len(os.sched_getaffinity(0)),
            "memory_mib": total // 1024, "load_before": round(os.getloadavg()[0], 2),
            "commit": commit(build.source),
            "versions": {name: text for name, text in versions.items() if text}}
