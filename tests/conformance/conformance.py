#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the protocol's conformance suite against the fixture build's HTTP server: every scenario that
a revision requires, and those that it reports without a score.

Exits 0 when all scored scenarios (--all: all) passed and none was missing, 1 when not, and 77 when
Node or the suite cannot be had (with --require: 1). --url tests another server instead."""
import argparse
import http.client
import json
import os
import re
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
from http_server import Failure, HttpServer  # noqa: E402

SKIPPED = 77
# How many scenarios each revision scores: a suite that runs fewer of them has not shown the rest.
SCORED = {"2025-11-25": 30, "2026-07-28": 37}
MODERN = "2026-07-28"
SUITE_SECONDS = 900

# The suite takes any text for the answer of this tool, so that a server without it would pass.
SIMPLE_TOOL, SIMPLE_TEXT = "test_simple_text", "This is a simple text response for testing."


# --- the server -----------------------------------------------------------------------------


class Elsewhere:
    """A server that somebody else started."""

    def __init__(self, url, token):
        self.url, self.token = url, token

    def __enter__(self):
        return self

    def __exit__(self, *_):
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
    except (OSError, http.client.HTTPException) as error:
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
        if any((not run.reason) == is_scored for run in runs):
            print((f"\n{'scored' if is_scored else 'not scored':46}"
                   + "".join(f"{revision:16}" for revision in revisions)).rstrip())
        for name in names:
            cells = [table.get((name, revision)) for revision in revisions]
            cells = [run if run and (not run.reason) == is_scored else None for run in cells]
            if any(cells):
                row = f"{name:46}" + "".join(f"{run.word() if run else '-':16}" for run in cells)
                print(row.rstrip())
    for run in runs:
        for problem in run.problems():
            print(f"\n{run.revision} {run.scenario}: {problem}")


def summarise(runs, seconds, all_count=False):
    """The last lines, in the form that tests/summary.py counts; the exit code. `all_count`: what is
    not scored has to pass too."""
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
    if all_count:
        bad, open_ = bad + open_, []
    words = [f"{word}={len(some)}" for word, some in (("failures", bad), ("skipped", open_)) if some]
    print(("FAILED" if bad or not runs else "OK") + (f" ({', '.join(words)})" if words else ""))
    return 1 if bad or not runs else 0


def options():
    parser = argparse.ArgumentParser(prog="./dev conformance", description=__doc__)
    parser.add_argument("--requirements", action="append", metavar="REV", choices=sorted(SCORED),
                        help="only this revision: " + ", ".join(sorted(SCORED)))
    parser.add_argument("--scenario", metavar="NAME", help="only this scenario")
    parser.add_argument("--all", action="store_true", help="what is not scored has to pass too")
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
    import leftovers  # these find their programs by MSP_BIN
    import support

    leftovers.become_reaper()
    runs = []
    try:
        if not arguments.url and not os.access(support.MSP, os.X_OK):
            raise Failure(f"there is no fixture build: {support.MSP}")
        with (Elsewhere(arguments.url, arguments.token) if arguments.url
              else HttpServer(support.MSP, *support.limits())) as server:
            check_server(server)
            for revision in revisions:
                runs += run_revision(server, revision, arguments.scenario, arguments.verbose)
            if not server.is_running():
                raise Failure("the server ended in between")
        leftovers.reap_orphans()
        if leftovers.wait_gone(time.monotonic()) is None:
            raise Failure(f"left over: {leftovers.describe(leftovers.living())}")
    except Failure as failure:
        report(runs, revisions)
        print(f"\nconformance: {failure}")
        return 1
    report(runs, revisions)
    return summarise(runs, time.monotonic() - start, arguments.all)


if __name__ == "__main__":
    sys.exit(main())
