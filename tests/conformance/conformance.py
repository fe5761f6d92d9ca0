#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the protocol's conformance suite against the fixture build's HTTP server: every scenario that
a revision requires, and those that it reports without a score.

Exits 0 when all scored scenarios passed and none was missing, 1 when not, and 77 when Node or the
suite cannot be had (with --require: 1). --url tests another server instead."""
import argparse
import http.client
import json
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for folder in ("integration", "clients"):
    sys.path.insert(0, os.path.join(ROOT, "tests", folder))

import figures  # noqa: E402
import packages  # noqa: E402

SKIPPED = 77
# How many scenarios each revision scores: a suite that runs fewer of them has not shown the rest.
SCORED = {"2025-11-25": 30, "2026-07-28": 37}
MODERN = "2026-07-28"
SUITE_SECONDS = 900
START_SECONDS = 30

# The suite takes any text for the answer of this tool, so that a server without it would pass.
SIMPLE_TOOL, SIMPLE_TEXT = "test_simple_text", "This is a simple text response for testing."


class Failure(Exception):
    """The server is not what can be tested."""


# --- the server -----------------------------------------------------------------------------


class Fixture:
    """The fixture build's `msp serve --http`, with a token of its own."""

    def __init__(self, programs):
        self.msp = os.path.join(programs, "msp")
        self.folder = tempfile.TemporaryDirectory(prefix="msp-conformance.")
        self.tokens = os.path.join(self.folder.name, "tokens")
        self.process = None
        self.said = b""

    def __enter__(self):
        if not os.access(self.msp, os.X_OK):
            raise Failure(f"there is no fixture build: {self.msp}")
        import support  # finds its programs by MSP_BIN

        made = subprocess.run([self.msp, "token", "create", "conformance", "--token-file",
                               self.tokens], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=30, check=False)
        tokens = re.findall(r"\bmsp_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])", made.stdout)
        if made.returncode != 0 or len(tokens) != 1:
            raise Failure(f"msp token create: {made.returncode}: {made.stdout}{made.stderr}")
        self.token = tokens[0]
        self.process = subprocess.Popen(
            [self.msp, "serve", *support.limits(), "--http", "127.0.0.1:0", "--token-file",
             self.tokens], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, cwd=self.folder.name)
        try:
            self.url = self._address()
        except BaseException:
            self.__exit__()
            raise
        return self

    def read(self, seconds):
        """Take what the server says for so long, or until a line of it is complete."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if selector.select(max(0, seconds)):
                self.said += os.read(self.process.stdout.fileno(), 65536)

    def _address(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            self.read(0.2)
            match = re.search(rb"http://[\w.\[\]:]+:\d+(/\S*)?(?=\s)", self.said)
            if match:
                url = match.group().decode().rstrip(".,;")
                return url if match.group(1) else url + "/mcp"
        raise Failure("the server said no address:\n" + self.said.decode(errors="replace"))

    def is_running(self):
        return self.process.poll() is None

    def __exit__(self, *_):
        if self.process:
            if self.is_running():
                self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
        self.folder.cleanup()


class Elsewhere:
    """A server that somebody else started."""

    def __init__(self, url, token):
        self.url, self.token, self.said = url, token, b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def read(self, _):
        pass

    def is_running(self):
        return True


def post(server, method, params, with_token=True):
    """One request of the modern era; (HTTP status, the result or None)."""
    url = urllib.parse.urlsplit(server.url)
    params["_meta"] = {"io.modelcontextprotocol/protocolVersion": MODERN,
                       "io.modelcontextprotocol/clientCapabilities": {}}
    headers = {"Content-Type": "application/json", "Mcp-Method": method,
               "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    if with_token and server.token:
        headers["Authorization"] = "Bearer " + server.token
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
    try:
        connection.request("POST", url.path, json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    except OSError as error:
        raise Failure(f"{method}: {error}") from error
    finally:
        connection.close()
    if answer.getheader("Content-Type", "").startswith("text/event-stream"):
        lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
        text = lines[-1] if lines else ""
    try:
        return answer.status, json.loads(text).get("result")
    except ValueError:
        return answer.status, None


def check_server(server):
    """What makes the suite's result worth something: the token is needed, the fixtures are there."""
    if server.token:
        status, _ = post(server, "tools/list", {}, with_token=False)
        if status != 401:
            raise Failure(f"a request without a token is answered with {status}, not 401")
    status, result = post(server, "tools/call", {"name": SIMPLE_TOOL, "arguments": {}})
    content = (result or {}).get("content") or [{}]
    if status != 200 or content[0].get("text") != SIMPLE_TEXT:
        raise Failure(f"{SIMPLE_TOOL} answers {status} {result}")


# --- the suite ------------------------------------------------------------------------------


def requirements(revision):
    """({scored scenarios}, {others: why}) of servers, as the suite's own file lists them."""
    path = packages.module("@modelcontextprotocol", "conformance", "requirements",
                           revision + ".yaml")
    scored, others, section, name = [], {}, None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            if re.match(r"\w+:", line):
                section = line.split(":")[0]
            elif section == "server" and line.startswith("  - "):
                scored.append(line[4:].strip())
            elif section == "not_scored" and (match := re.match(r"\s+-? ?(\w+): (\S+)", line)):
                key, value = match.groups()
                if key == "scenario":
                    name, leg = value, None
                elif key == "leg":
                    leg = value
                elif key == "reason" and leg == "server":
                    others[name] = value
    if len(scored) != SCORED[revision]:
        raise Failure(f"{revision} scores {len(scored)} scenarios, not {SCORED[revision]}")
    return scored, others


def run_suite(server, arguments, out):
    """Run it; (exit code, its text)."""
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": out, "MSP_URL": server.url,
                   "MSP_TOKEN": server.token or ""}
    preload = ["--import", os.path.join(HERE, "token.mjs")] if server.token else []
    command = [packages.node(), *preload,
               packages.module("@modelcontextprotocol", "conformance", "dist", "index.js"),
               "server", "--url", server.url, "-o", out, *arguments]
    with open(os.path.join(out, "suite.log"), "w+b") as log:
        process = subprocess.Popen(command, env=environment, cwd=out, stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=subprocess.STDOUT)
        try:
            end = time.monotonic() + SUITE_SECONDS
            while process.poll() is None:
                if time.monotonic() > end:
                    raise Failure(f"the suite was not done after {SUITE_SECONDS} s")
                if server.is_running():
                    server.read(0.2)  # a server whose stderr is full would wait
                else:
                    time.sleep(0.2)
        finally:
            process.kill()
            process.wait()
        log.seek(0)
        return process.returncode, log.read().decode(errors="replace")


def read_checks(out):
    """{scenario: its checks} from what the suite wrote."""
    found = {}
    for name in os.listdir(out):
        match = re.match(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$", name)
        path = os.path.join(out, name, "checks.json")
        if match and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found[match.group(1)] = json.load(file)
    return found


class Run:
    """One scenario at one revision."""

    def __init__(self, revision, scenario, checks, reason=None):
        self.revision, self.scenario, self.reason = revision, scenario, reason
        self.checks = checks or []
        of = {status: [check for check in self.checks if check["status"] == status]
              for status in ("SUCCESS", "FAILURE", "WARNING")}
        self.good, self.bad, self.warnings = of["SUCCESS"], of["FAILURE"], of["WARNING"]
        self.is_missing = checks is None
        self.passed = bool(self.checks) and not self.bad

    def word(self):
        if self.is_missing:
            return "MISSING"
        word = "pass" if self.passed else "FAIL" if not self.reason else "fail"
        warned = f" {len(self.warnings)}w" if self.warnings else ""
        return f"{word} {len(self.good)}/{len(self.good) + len(self.bad)}{warned}"

    def problems(self):
        for check in self.bad + self.warnings:
            text = " ".join(str(check.get("errorMessage") or check["description"]).split())
            yield f"{check['status'].lower()} {check['id']}: {text[:600]}"


def run_revision(server, revision, only, verbose):
    scored, others = requirements(revision)
    if only:
        if only not in scored and only not in others:
            return []
        scored, others = ([only], {}) if only in scored else ([], {only: others[only]})
    arguments = (["--scenario", only, "--spec-version", revision, "--force"] if only
                 else ["--requirements", revision])
    with tempfile.TemporaryDirectory(prefix="msp-conformance-out.") as out:
        code, text = run_suite(server, arguments, out)
        found = read_checks(out)
    runs = [Run(revision, name, found.get(name)) for name in scored]
    runs += [Run(revision, name, found.get(name), reason) for name, reason in others.items()]
    is_good = all(run.passed for run in runs if not run.reason or only)
    if verbose or (code == 0) != is_good:
        print(text)
    if (code == 0) != is_good:
        raise Failure(f"{revision}: the suite's exit code is {code}, its results say otherwise")
    return runs


# --- the report -----------------------------------------------------------------------------


def report(runs, revisions):
    names = list(dict.fromkeys(run.scenario for run in runs))
    table = {(run.scenario, run.revision): run for run in runs}
    for is_scored in (True, False):
        print(f"\n{'scored' if is_scored else 'not scored':46}"
              + "".join(f"{revision:16}" for revision in revisions))
        for name in names:
            cells = [table.get((name, revision)) for revision in revisions]
            cells = [run if run and (not run.reason) == is_scored else None for run in cells]
            if any(cells):
                row = f"{name:46}" + "".join(f"{run.word() if run else '-':16}" for run in cells)
                print(row.rstrip())
    for run in runs:
        for problem in run.problems():
            print(f"\n{run.revision} {run.scenario}: {problem}")


def summarise(runs, seconds):
    """The last lines, in the form that tests/summary.py counts; the exit code."""
    scored = [run for run in runs if not run.reason]
    bad = [run for run in scored if not run.passed]
    open_ = [run for run in runs if run.reason and not run.passed]
    for run in runs:
        figures.record("conformance", revision=run.revision, scenario=run.scenario,
                       scored=not run.reason, passed=run.passed, checks=len(run.good),
                       failed=len(run.bad), warnings=len(run.warnings))
    print(f"\nscored: {len(scored) - len(bad)} of {len(scored)} pass; "
          f"not scored: {len(runs) - len(scored) - len(open_)} of {len(runs) - len(scored)} pass")
    print(f"\nRan {len(runs)} tests in {seconds:.1f}s\n")
    words = [f"{word}={len(some)}" for word, some in (("failures", bad), ("skipped", open_)) if some]
    print(("FAILED" if bad or not runs else "OK") + (f" ({', '.join(words)})" if words else ""))
    return 1 if bad or not runs else 0


def options():
    parser = argparse.ArgumentParser(prog="./dev conformance", description=__doc__)
    parser.add_argument("--requirements", action="append", metavar="REV", choices=sorted(SCORED),
                        help="only this revision: " + ", ".join(sorted(SCORED)))
    parser.add_argument("--scenario", metavar="NAME", help="only this scenario")
    parser.add_argument("--bin", metavar="DIR", help="the fixture build (build/dev/fixtures)",
                        default=os.environ.get("MSP_FIXTURES")
                        or os.path.join(os.environ.get("MSP_BUILD")
                                        or os.path.join(ROOT, "build", "dev"), "fixtures"))
    parser.add_argument("--url", help="test this server instead")
    parser.add_argument("--token", help="its bearer token")
    parser.add_argument("--require", action="store_true", help="fail where the suite cannot be had")
    parser.add_argument("--verbose", action="store_true", help="print what the suite prints")
    return parser.parse_args()


def main():
    arguments = options()
    revisions = arguments.requirements or sorted(SCORED)
    os.environ["MSP_BIN"] = arguments.bin
    start = time.monotonic()
    try:
        packages.folder()
    except packages.Unreachable as error:
        print(f"NOT TESTED: conformance: {error}")
        return 1 if arguments.require else SKIPPED
    import leftovers  # imports support, which finds its programs by MSP_BIN

    leftovers.become_reaper()
    runs = []
    try:
        with (Elsewhere(arguments.url, arguments.token) if arguments.url
              else Fixture(arguments.bin)) as server:
            check_server(server)
            for revision in revisions:
                runs += run_revision(server, revision, arguments.scenario, arguments.verbose)
            if not server.is_running():
                raise Failure("the server ended:\n" + server.said.decode(errors="replace"))
        leftovers.reap_orphans()
        if leftovers.wait_gone(time.monotonic()) is None:
            raise Failure(f"left over: {leftovers.describe(leftovers.living())}")
    except Failure as failure:
        report(runs, revisions)
        print(f"\nconformance: {failure}")
        return 1
    report(runs, revisions)
    return summarise(runs, time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
