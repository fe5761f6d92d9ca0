#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Resources, prompts and completion through the real server, in both eras, and who is told that a
log grew."""
import base64
import os
import subprocess
import time
import unittest

import support

PREFIX = "io.modelcontextprotocol/"
MODERN = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}
UPDATED = "notifications/resources/updated"


def log_uri(result):
    """The URI of the log of a call's execution."""
    sandbox, _, number = result["_meta"]["msp/execution"]["handle"].rpartition("-")
    return f"sandbox://{sandbox}/log/{number}"


class WithServer(unittest.TestCase):
    def setUp(self):
        self.server = support.Server()
        self.addCleanup(self.server.close)
        self.server.initialize()

    def read(self, uri, **more):
        contents = self.server.request("resources/read", {"uri": uri, **more})["contents"]
        self.assertEqual([part["uri"] for part in contents], [uri])
        return contents[0]

    def expect_error(self, code, method, params):
        with self.assertRaises(support.RpcError) as caught:
            self.server.request(method, params)
        self.assertEqual(caught.exception.code, code, caught.exception.message)
        return caught.exception

    def updates(self, count, timeout=20):
        """The next notifications that a resource changed; everything else is a fault."""
        found = [message for message in self.server.other if message["method"] == UPDATED]
        self.server.other.clear()
        end = time.monotonic() + timeout
        while len(found) < count:
            message = self.server.receive(max(0.001, end - time.monotonic()))
            self.assertEqual(message["method"], UPDATED)
            found.append(message)
        return [message["params"] for message in found]


class Policies(WithServer):
    def test_the_text_is_what_msp_policy_shows(self):
        for name in support.PROFILES:
            shown = subprocess.run([os.path.join(support.BIN, "msp-policy"), "show", name],
                                   capture_output=True, check=True, timeout=20)
            for more in ({}, {"_meta": MODERN}):
                content = self.read(f"policy://{name}", **more)
                self.assertEqual(content["text"].encode(), shown.stdout)
                self.assertEqual(content["mimeType"], "text/plain")

    def test_list_and_completion_show_those_that_one_may_ask_for(self):
        entries = self.server.request("resources/list")["resources"]
        self.assertEqual([entry["uri"] for entry in entries],
                         [f"policy://{name}" for name in support.PROFILES])
        for entry in entries:
            self.assertEqual(entry["size"], len(self.read(entry["uri"])["text"].encode()))
            self.assertTrue(entry["description"])
        self.assertEqual(self.complete("policy://{profile}", "profile", ""),
                         list(support.PROFILES))
        for era, code in (({}, -32002), ({"_meta": MODERN}, -32602)):
            error = self.expect_error(code, "resources/read", {"uri": "policy://_helper", **era})
            self.assertEqual(error.data, {"uri": "policy://_helper"})

    def complete(self, template, variable, value, **known):
        return self.server.request("completion/complete", {
            "ref": {"type": "ref/resource", "uri": template},
            "argument": {"name": variable, "value": value},
            "context": {"arguments": known}})["completion"]["values"]


class Logs(WithServer):
    def run_in_background(self, command):
        """The log's URI, when the command is over; one that was shown at once is not kept."""
        uri = log_uri(self.server.call("run_command", command=command, yield_ms=0))
        end = time.monotonic() + 20
        while "[still running]" in self.read(uri)["text"]:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return uri

    def test_of_an_execution_that_is_over(self):
        uri = self.run_in_background("seq 1 5; printf 'a\\377' >&2; exit 4")
        self.assertRegex(self.read(uri)["text"],
                         r"^1\n2\n3\n4\n5\n\[stderr\]\na\\xff\n\[exit 4 · \d+\.\d\d s\]\n$")
        self.assertEqual(self.read(uri + "/stdout")["text"], "1\n2\n3\n4\n5\n")
        self.assertEqual(base64.b64decode(self.read(uri + "/stderr")["blob"]), b"a\xff")
        entry = self.server.request("resources/list")["resources"][0]
        self.assertEqual((entry["uri"], entry["size"]), (uri, 12))
        stamp = time.strptime(entry["annotations"]["lastModified"][:19], "%Y-%m-%dT%H:%M:%S")
        self.assertLess(abs(time.mktime(time.gmtime()) - time.mktime(stamp)), 60)
        self.expect_error(-32002, "resources/read", {"uri": uri + "0"})
        self.expect_error(-32002, "resources/read", {"uri": uri + "/stdout/11"})

    def test_a_long_one_in_pieces(self):
        count = 400000
        uri = log_uri(self.server.call("run_command", command=f"seq 1 {count}"))
        text, at, pieces = "", uri + "/stdout", 0
        while at:
            content = self.read(at, _meta=MODERN)
            text += content["text"]
            at = content["_meta"]["msp/log"].get("next")
            pieces += 1
        self.assertEqual(text, "".join(f"{i}\n" for i in range(1, count + 1)))
        self.assertGreater(pieces, 2)
        whole = self.read(uri)["text"]
        self.assertIn(f"[stdout has {len(text)} bytes; this is as far as byte ", whole)
        rest = whole.split("read on at ")[1].split("]")[0]
        shown = whole.split("\n[stdout has")[0]
        self.assertTrue(text.startswith(shown))
        self.assertTrue(text.startswith(self.read(rest)["text"], int(rest.rpartition("/")[2])))

    def test_two_clients_do_not_see_each_other(self):
        uri = self.run_in_background("echo mine")
        with support.Server() as other:
            other.initialize()
            self.assertNotIn(uri, [entry["uri"] for entry in
                                   other.request("resources/list")["resources"]])
            with self.assertRaises(support.RpcError):
                other.request("resources/read", {"uri": uri})
            with self.assertRaises(support.RpcError):
                other.request("resources/subscribe", {"uri": uri})

    def start(self):
        """A program that prints a line for each one it is given."""
        result = self.server.call("run_command", command="cat", interactive=True, yield_ms=0)
        return result["_meta"]["msp/execution"]["handle"], log_uri(result)

    def test_a_subscriber_is_told_when_it_prints_and_ends(self):
        handle, uri = self.start()
        self.assertEqual(self.server.request("resources/subscribe", {"uri": uri}), {})
        self.server.call("send_input", handle=handle, data="hello\n", wait_ms=0)
        self.assertEqual(self.updates(1), [{"uri": uri}])
        self.assertIn("hello\n[still running]\n", self.read(uri)["text"])
        self.server.call("send_input", handle=handle, data="", eof=True)
        self.assertEqual(self.updates(1), [{"uri": uri}])
        self.assertRegex(self.read(uri)["text"], r"^hello\n\[exit 0 · ")
        self.assertEqual(self.server.request("resources/unsubscribe", {"uri": uri}), {})

    def test_a_listen_is_told_under_its_id(self):
        handle, uri = self.start()
        number = self.server.post("subscriptions/listen", {
            "_meta": MODERN, "notifications": {
                "resourceSubscriptions": [uri, uri + "0"], "toolsListChanged": True}})
        tag = {PREFIX + "subscriptionId": number}
        self.assertEqual(self.server.receive(), {
            "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": tag, "notifications": {
                "toolsListChanged": True, "resourceSubscriptions": [uri]}}})
        self.server.call("send_input", handle=handle, data="hello\n", wait_ms=0)
        self.assertEqual(self.updates(1), [{"_meta": tag, "uri": uri}])
        self.server.notify("notifications/cancelled", {"requestId": number})
        self.server.call("kill_execution", handle=handle)
        time.sleep(0.7)  # what was on its way before it was cancelled, none after
        self.server.request("ping")
        self.assertEqual(self.server.other, [])


class Prompts(WithServer):
    def test_each_can_be_used(self):
        prompts = self.server.request("prompts/list")["prompts"]
        self.assertEqual([prompt["name"] for prompt in prompts],
                         ["try_code", "compare_commands", "explore_sandbox"])
        for prompt in prompts:
            values = {argument["name"]: f"<{argument['name']}>"
                      for argument in prompt["arguments"]}
            result = self.server.request("prompts/get",
                                         {"name": prompt["name"], "arguments": values})
            self.assertEqual([message["role"] for message in result["messages"]], ["user"])
            text = result["messages"][0]["content"]["text"]
            for value in values.values():
                self.assertIn(value, text)
            self.assertRegex(text, "`run_(command|code)`")

    def test_completion_knows_what_is_installed(self):
        values = self.server.request("completion/complete", {
            "ref": {"type": "ref/prompt", "name": "try_code"},
            "argument": {"name": "language", "value": "py"}})["completion"]["values"]
        self.assertEqual(values, ["python"])


if __name__ == "__main__":
    unittest.main()
