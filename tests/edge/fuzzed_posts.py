#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The spoiled lines of fuzzed_lines.py as bodies of POST requests, with headers that fit and that
do not, to a real HTTP server: it lives, answers only with statuses that the protocol knows, each
answer is JSON-RPC to an id that was in the body, and nothing is left or grows.

MSP_SEED repeats a run, MSP_FUZZ_POSTS makes it longer."""
import json
import os
import random
import re
import sys
import time
import unittest

import fuzzed_lines
import mutate
import replay
import rules

import http_support  # in a folder that replay knows
import leftovers

SEED = fuzzed_lines.SEED
POSTS = int(os.environ.get("MSP_FUZZ_POSTS", "3000"))
BLOCK = 100
STATUSES = {200, 202, 400, 401, 403, 404, 405, 406, 413, 415}
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
WRONG_HEADERS = (
    {"MCP-Protocol-Version": "2025-06-18"}, {"MCP-Protocol-Version": "2026-07-28"},
    {"MCP-Protocol-Version": "x"}, {"MCP-Protocol-Version": ""}, {"Mcp-Method": "tools/call"},
    {"Mcp-Method": "=?base64?cGluZw==?="}, {"Mcp-Name": "run_command"},
    {"Mcp-Name": "=?base64?!?="},
    {"Mcp-Param-Command": "x"}, {"Mcp-Session-Id": "x"}, {"Mcp-Session-Id": None},
    {"Mcp-Session-Id": "\x7f" * 300}, {"Accept": None}, {"Accept": "application/json"},
    {"Accept": "*/*;q=0"}, {"Accept": ",;q=,"}, {"Content-Type": "text/plain"},
    {"Content-Type": None},
    {"Content-Type": "application/json; charset=latin-1"}, {"Host": "example.org"}, {"Host": None},
    {"Origin": "https://example.org"}, {"Origin": "http://localhost"},
    {"Authorization": "Bearer x"},
    {"Authorization": None}, {"Last-Event-ID": "1"}, {"X": "y" * 5000})


def ids_of(body):
    """The ids that an answer to this body may have, as raw text."""
    try:
        top = rules.Tree(body.removeprefix(b"\xef\xbb\xbf").decode("utf-8")).top
    except (UnicodeDecodeError, rules.Wrong):
        return {"null"}
    nodes = [top, *(node for _, node in top.members)] if top.kind == "array" else [top]
    return {"null", *filter(None, (rules.raw_id(node.get("id")) for node in nodes))}


class Posts(unittest.TestCase):
    def setUp(self):
        leftovers.become_reaper()
        self.snapshot = leftovers.Snapshot()
        self.numbers = random.Random(SEED)
        self.server = http_support.HttpServer()
        self.addCleanup(lambda: self.server.process.poll() is None and self.server.stop())
        self.client = http_support.LegacyClient(self.server)
        tools = {tool["name"]: tool for tool in self.client.post(
            self.client.message("tools/list")).json()["result"]["tools"]}
        calls = mutate.client_lines({name: fuzzed_lines.CALLS.get(name, {}) for name in tools})
        # over HTTP the client that goes is waited for, so nothing that takes long
        recorded = [line for line in fuzzed_lines.replayed_lines()
                    if not re.search(rb"sleep|cat\b|yes|head", line)]
        self.seeds = self.numbers.sample(recorded, 300) + 10 * calls
        self.statuses = dict.fromkeys(STATUSES, 0)

    def fitting(self, body):
        """Headers as the body asks for, as far as it can be read."""
        try:
            message = json.loads(body)
            meta = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
            headers = http_support.ModernClient.fitting(None, message)
            headers["MCP-Protocol-Version"] = meta
            headers = {key: value for key, value in headers.items()
                       if isinstance(value, str) and value.isascii() and value.isprintable()}
            return dict(headers, **{"Mcp-Session-Id": None})
        except (ValueError, KeyError, TypeError, RecursionError):
            return {}

    def check_message(self, text, ids):
        answer = json.loads(text, object_pairs_hook=replay.unique)
        entries = answer if isinstance(answer, list) else [answer]
        for entry in entries:
            if "method" in entry:
                self.assertNotIn("id", entry)
                continue
            self.assertEqual(len({"result", "error"} & set(entry)), 1)
        if isinstance(answer, dict) and "method" not in answer:
            found = fuzzed_lines.RAW_ID.match(text)
            self.assertTrue(found and found.group(1) in ids, f"the id is none of {ids}")
        return any("method" not in entry or entry["method"] == ACKNOWLEDGED for entry in entries)

    def check_events(self, stream, ids):
        """Up to the answer; a listen's is its acknowledgement, and it is hung up."""
        while event := stream.event():
            if event["data"] and self.check_message(event["data"], ids):
                return
        self.fail("a stream ended without an answer")

    def post(self, body):
        headers = self.fitting(body)
        for _ in range(self.numbers.choice((0, 0, 0, 1, 2))):
            headers.update(self.numbers.choice(WRONG_HEADERS))
        stream = self.client.stream("POST", body, headers)
        self.statuses[stream.status] += 1  # another than these is an error
        ids = ids_of(body)
        try:
            if stream.headers.get("Content-Type") == http_support.EVENTS:
                self.assertEqual(stream.status, 200)
                self.check_events(stream, ids)
            else:
                text = stream.response.read().decode("utf-8")
                self.assertEqual(text == "", stream.status == 202, text)
                if text:
                    self.check_message(text, ids)
        finally:
            stream.close()

    def test_posts(self):
        print(f"MSP_SEED={SEED}", file=sys.stderr)
        broker, sizes = self.server.broker(), []
        for number in range(POSTS):
            body = mutate.spoil(self.numbers, self.seeds)
            try:
                self.post(body)
            except Exception as problem:
                raise AssertionError(
                    f"MSP_SEED={SEED}, post {number}: {body[:2000]!r}") from problem
            if number % BLOCK == 0:
                self.assertEqual(self.client.post(self.client.message("ping")).status, 200)
                sizes.append(leftovers.resident_kib(broker))
        for status in (200, 202, 400, 403, 404, 406, 415):
            self.assertGreater(self.statuses[status], 0, self.statuses)
        warm = max(sizes[:len(sizes) // 2])
        self.assertLessEqual(max(sizes[len(sizes) // 2:]), warm + 2 * fuzzed_lines.GROWTH_KIB,
                             sizes)
        self.client.close()
        self.server.stop()
        for line in self.server.stderr.splitlines():
            self.assertRegex(line,
                             rb"^msp-broker: (refused \d+ requests? |the supervisor is gone$)")
        self.assertIsNotNone(leftovers.wait_gone(time.monotonic()),
                             leftovers.describe(leftovers.living()))
        self.assertEqual(self.snapshot.left(), {})


if __name__ == "__main__":
    unittest.main()
