#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recorded edge cases that are one request each, over HTTP: the answer is the same, word for
word, as over stdio, with its id as it came; statuses are those of the protocol."""
import re
import unittest

import edge
import replay
import rules

import http_support  # in a folder that replay knows
import leftovers

# What these are about is the same over every transport.
FAMILIES = {"answer", "argument", "claim", "complete", "cursor", "duplicate", "id", "members",
            "method", "params", "prompts", "refused", "resources", "task", "tool name", "unicode"}
BODY_MAX = 100000
# Of the modern era: what is wrong with the envelope is a status, with the contents is not.
STATUSES = {-32600: {400}, -32601: {404}, -32602: {200, 400}, -32021: {400}, -32022: {400},
            -32002: set(), None: {200}}
ENVELOPE = {"protocolVersion", "clientCapabilities", "clientInfo"}
NAMES = ("name", "uri", "taskId")


def line_of(case):
    """The request of a case that is one; None: it is more, or none."""
    step = case["steps"][0]
    data = b"".join(map(replay.bytes_of, step["in"]))
    line = data.removesuffix(b"\n")
    if len(case["steps"]) != 1 or b"\n" in line or len(step["want"]) != 1 or \
            case["group"] != "2025-11-25" or len(line) > BODY_MAX or step.get("notes"):
        return None
    is_one = case["name"].split("/")[0] in FAMILIES and step["want"][0].get("id", "null") != "null"
    return line if is_one and b'"initialize"' not in line else None


def modern_headers(line):
    """What the headers of a request that names its revision repeat; None: it names none."""
    try:
        top = rules.Tree(line.decode("utf-8")).top
    except rules.Wrong:
        return None
    params, method = top.get("params"), top.get("method")
    meta = params and params.get("_meta")
    version = meta and meta.get(rules.PREFIX + "protocolVersion")
    if not version:
        return None
    values = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    values.update({"Mcp-Name": params.get(name) for name in NAMES if params.get(name)})
    return {name: node.text() for name, node in values.items() if node and node.kind == "string"}


def can_be_said(headers):
    return all(re.fullmatch(r"[!-~]([ -~]*[!-~])?", value) for value in headers.values())


class OverHttp(unittest.TestCase):
    def setUp(self):
        leftovers.become_reaper()
        self.server = http_support.HttpServer()
        self.addCleanup(self.server.stop)
        self.client = http_support.LegacyClient(self.server)
        self.addCleanup(self.client.close)

    def ask(self, line):
        """The answer's text and its status; None: HTTP cannot say it."""
        headers = modern_headers(line)
        if headers is None:
            answer = self.client.post(line)
        elif not can_be_said(headers):
            return None, 0
        else:
            answer = self.client.post(line, dict(headers, **{"Mcp-Session-Id": None}))
        text = answer.body.decode("utf-8")
        if answer.headers.get("Content-Type") == http_support.EVENTS:
            text = [event["data"] for event in answer.events() if event["data"]][-1]
        return text, answer.status

    def test_cases(self):
        count, failed = 0, []
        for case in replay.load():
            line = line_of(case)
            text, status = self.ask(line) if line else (None, 0)
            if text is None:
                continue
            count += 1
            step = case["steps"][0]
            problems, got = replay.judge_step([text.encode()], step)
            if not problems and got != step["got"]:
                problems = [edge.difference(step["got"], got)]
            want = step["want"][0]
            expected = STATUSES[want.get("code")]
            if want.get("says") in ENVELOPE:
                expected = {400}
            if status not in (expected if modern_headers(line) is not None else {200, 400}):
                problems.append(f"status {status}")
            if problems:
                failed.append("\n".join([case["name"], replay.show_input(case), *problems]))
        self.assertGreater(count, 1000)
        if failed:
            self.fail("\n\n".join([f"{len(failed)} of {count} cases", *failed[:10], edge.AGAIN]))


if __name__ == "__main__":
    unittest.main()
