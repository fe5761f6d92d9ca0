#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the test suites of real projects in a persistent sandbox and outside, and compare them.

    projects.py [--packages] [NAME...]

The projects are the rows of table.py; the names choose some. --packages prints the Debian packages
that they need. Exit code and the suite's own counts have to be equal, and the run in the sandbox must
leave the project as it was. The outputs are kept in build/results/projects.

A project that cannot be fetched is skipped, with the reason. Exits 0 when all others had the same
result, 1 when not, and 77 when none could be fetched."""
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for path in ("integration", "clients"):
    sys.path.insert(0, os.path.join(ROOT, "tests", path))

import packages  # noqa: E402
import support  # noqa: E402
from table import PROJECTS  # noqa: E402

LOGS = os.path.join(ROOT, "build", "results", "projects")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SKIPPED = 77
SUITE_SECONDS = 3000  # the profiles allow an hour
FETCH_SECONDS = 600
# Packages that are not needed if their program is here from elsewhere.
PROGRAMS = {"npm": "npm", "golang-go": "go", "default-jdk-headless": "javac"}
# The sandbox's: a suite asks the path and the language.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}


class Unreachable(Exception):
    """Raised if a project cannot be fetched."""


class Different(Exception):
    """Raised if a suite has another result inside than outside, or no result."""


def run(*words, timeout=FETCH_SECONDS, **keywords):
    return subprocess.run(words, stdin=subprocess.DEVNULL, text=True, errors="replace", check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, **keywords)


# --- fetching -------------------------------------------------------------------------------


class Debian:
    """The source packages of this machine's release, from the mirror that apt is configured with."""

    def __init__(self, place):
        self.place = place
        self.options = ["-o", f"Dir::Etc::SourceList={place}/sources.list",
                        "-o", "Dir::Etc::SourceParts=/dev/null",
                        "-o", f"Dir::State::Lists={place}/lists", "-o", f"Dir::Cache={place}/cache",
                        "-o", "APT::Sandbox::User="]
        self.has_lists = False

    def fetch_lists(self):
        """Fetch the list of source packages, once."""
        if self.has_lists:
            return
        suite = platform.freedesktop_os_release().get("VERSION_CODENAME")
        found = run("apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(COMPONENT) $(REPO_URI)",
                    "Created-By: Packages").stdout
        mirrors = re.findall(rf"^Debian {suite} main (\S+)$", found, re.M)
        if not mirrors:
            raise Unreachable(f"apt has no list of Debian {suite}: apt-get update")
        for folder in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.place, folder))
        with open(os.path.join(self.place, "sources.list"), "w", encoding="utf-8") as file:
            file.write(f"deb-src [signed-by={KEYRING}] {mirrors[0]} {suite} main\n")
        self.apt("update", "--error-on=any")
        self.has_lists = True

    def apt(self, *words, cwd=None):
        result = run("apt-get", *self.options, "-q", *words, cwd=cwd)
        if result.returncode != 0:
            reason = re.findall(r"^E: .*$", result.stdout, re.M) or result.stdout.splitlines()[-1:]
            raise Unreachable(reason[0])
        return result.stdout

    def fetch(self, source, target):
        """Unpack the source package into the folder, as its authors wrote it."""
        self.fetch_lists()
        place = tempfile.mkdtemp(dir=self.place)
        self.apt("source", "--download-only", source, cwd=place)
        description, = (name for name in os.listdir(place) if name.endswith(".dsc"))
        must("dpkg-source", "--skip-patches", "-x", description, target, cwd=place)


def must(*words, **keywords):
    result = run(*words, **keywords)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: exit {result.returncode}\n{result.stdout}")
    return result.stdout


def must_npm(*words, **keywords):
    """Run a command that asks npm's registry."""
    result = run(*words, **keywords)
    match = packages.UNREACHABLE.search(result.stdout)
    if result.returncode != 0 and match:
        raise Unreachable(f"the npm registry cannot be reached: {match[1]}")
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: exit {result.returncode}\n{result.stdout}")


def fetch_npm(package, target, environment):
    place = tempfile.mkdtemp(dir=os.path.dirname(target))
    must_npm("npm", "pack", "--loglevel=error", package, cwd=place, env=environment)
    archive, = os.listdir(place)
    os.makedirs(target)
    must("tar", "-x", "-f", os.path.join(place, archive), "-C", target, "--strip-components=1")


def fetch(project, workspace, debian, environment):
    """Fetch the project into the workspace, and what its suite needs."""
    kind, name = project.origin.split(":", 1)
    target = os.path.normpath(os.path.join(workspace, project.folder))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if kind == "debian":
        debian.fetch(name, target)
    else:
        fetch_npm(name, target, environment)
    if project.prepare:
        must_npm("bash", "-ec", project.prepare, cwd=target, env=environment)


# --- both runs ------------------------------------------------------------------------------


def count(project, output):
    """{word: number} of the suite's own words."""
    found = {}
    for word, pattern in project.counts.items():
        matches = re.findall(pattern, output, re.M)
        has_group = re.compile(pattern).groups
        found[word] = sum(int(match) for match in matches) if has_group else len(matches)
    return found


def run_outside(project, workspace, environment):
    return run("bash", "-c", project.command, timeout=SUITE_SECONDS, env=environment,
               cwd=os.path.join(workspace, project.folder))


def run_inside(project, workspace):
    """Run the suite in a persistent sandbox that shows the workspace."""
    name = "project-" + project.name.lower()
    must(support.MSP, "create", f"--name={name}", f"--profile={project.profile}",
         f"--workspace={workspace}")
    try:
        return run(support.MSP, "exec", *support.limits(), f"--timeout={SUITE_SECONDS}s",
                   f"--cwd=/workspace/{project.folder}", name, "--", "bash", "-c", project.command,
                   timeout=SUITE_SECONDS + 300)
    finally:
        must(support.MSP, "destroy", name)


def snapshot(folder):
    """A digest of all names, modes and contents below the folder."""
    digest = hashlib.sha256()
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names + folders):
            path = os.path.join(place, name)
            status = os.lstat(path)
            digest.update(f"{path}\0{status.st_mode:o}\0{status.st_mtime_ns}\0".encode())
            if os.path.islink(path):
                digest.update(os.readlink(path).encode())
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def timed(function, *arguments):
    begin = time.monotonic()
    result = function(*arguments)
    return result, time.monotonic() - begin


def keep_log(project, where, result):
    os.makedirs(LOGS, exist_ok=True)
    with open(os.path.join(LOGS, f"{project.name}-{where}.log"), "w", encoding="utf-8") as file:
        file.write(result.stdout)


def compare(project, workspace, environment):
    """Run the suite inside, then outside; a line with the common result."""
    before = snapshot(workspace)
    inside, inside_s = timed(run_inside, project, workspace)
    keep_log(project, "inside", inside)
    if snapshot(workspace) != before:
        raise Different("the run in the sandbox changed the project on the host")
    outside, outside_s = timed(run_outside, project, workspace, environment)
    keep_log(project, "outside", outside)
    results = [(result.returncode, count(project, result.stdout)) for result in (outside, inside)]
    words = [f"exit {code}, " + ", ".join(f"{number} {word}" for word, number in counts.items())
             for code, counts in results]
    if results[0] != results[1]:
        raise Different(f"outside {words[0]}; inside {words[1]}")
    if not results[0][1]["passed"]:
        raise Different(f"the suite has not run: {words[0]}")
    return f"{words[0]} ({outside_s:.1f} s outside, {inside_s:.1f} s inside)"


def try_project(project, place, debian):
    """Print how the project went, in a line; its word."""
    workspace = os.path.join(place, project.name)
    environment = {**ENVIRONMENT, "HOME": os.path.join(place, "home")}
    try:
        os.makedirs(environment["HOME"], exist_ok=True)
        fetch(project, workspace, debian, environment)
        word, text = "same", compare(project, workspace, environment)
    except Unreachable as error:
        word, text = "skipped", error
    except (Different, RuntimeError, subprocess.TimeoutExpired) as error:
        word, text = "FAILED", f"{error} (outputs: build/results/projects)"
    print(f"{project.name:14} {word:8} {text}", flush=True)
    shutil.rmtree(workspace, ignore_errors=True)
    return word


def choose(names):
    names = {name.lower() for name in names}
    unknown = names - {project.name.lower() for project in PROJECTS}
    if unknown:
        sys.exit(f"projects: there is no project {', '.join(sorted(unknown))}; there are "
                 + ", ".join(project.name for project in PROJECTS))
    return [project for project in PROJECTS if not names or project.name.lower() in names]


def main():
    names = sys.argv[1:]
    if names[:1] == ["--packages"]:
        needed = {name for project in choose(names[1:]) for name in project.packages
                  if name not in PROGRAMS or not shutil.which(PROGRAMS[name])}
        print(" ".join(sorted(needed | {"dpkg-dev", "debian-archive-keyring"})))
        return 0
    projects = choose(names)
    with tempfile.TemporaryDirectory(prefix="msp-test-", dir="/var/tmp") as place:
        debian = Debian(os.path.join(place, "apt"))
        words = {try_project(project, place, debian) for project in projects}
    return 1 if "FAILED" in words else 0 if "same" in words else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
