#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fixtures by themselves, over stdio and HTTP: each does what its scenario takes for granted, where
the suite itself cannot be had too; and what the suite does not look at, such as two clients."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
os.environ["MSP_BIN"] = os.path.join(
    os.environ.get("MSP_BUILD") or os.path.join(ROOT, "build", "dev"), "fixtures")

import support  # noqa: E402
from http_support import HttpServer, LegacyClient, ModernClient  # noqa: E402

META = "io.modelcontextprotocol/"
CAPABILITIES = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}
TASKS = {**CAPABILITIES, "extensions": {META + "tasks": {}}}

ARGUMENTS = {"test_sampling": {"prompt": "hello"}, "test_elicitation": {"message": "Who?"},
             "greet": {"name": "Bob"}, "slow_compute": {"seconds": 0.2},
             "confirm_delete": {"filename": "x"}, "test_custom_header": {"region": "r"}}
# What the answer's text says, when every question is answered as below.
TEXTS = {
    "test_simple_text": "This is a simple text response for testing.",
    "test_error_handling": "This tool intentionally returns an error for testing",
    "test_missing_capability": "The client can sample.",
    "test_custom_header": "The region is known.",
    "test_tool_with_progress": "All three steps are done.",
    "test_tool_with_logging": "Three messages were logged.",
    "test_logging_tool": "A message was logged",
    "test_streaming_elicitation": "Hello, Alice!",
    "test_reconnection": "The answer came late.",
    "test_sampling": "LLM response: a model's text",
    "test_elicitation": "User response: action=accept, content={",
    "test_elicitation_sep1034_defaults": "Elicitation completed: action=accept",
    "test_elicitation_sep1330_enums": "Elicitation completed: action=accept",
    "test_input_required_result_elicitation": "Hello, Alice!",
    "test_input_required_result_sampling": "The model says: a model's text",
    "test_input_required_result_list_roots": "The roots are: test://root",
    "test_input_required_result_request_state": "state-ok",
    "test_input_required_result_tampered_state": "state-ok",
    "test_input_required_result_multiple_inputs": "All three answers are there, also yours, Alice.",
    "test_input_required_result_multi_round": "Alice likes red.",
    "test_input_required_result_capabilities": "Everything that could be asked was answered.",
    "greet": "Hello, Bob!",
    "slow_compute": "The computation is done.",
    "confirm_delete": "Deleted.",
    "multi_input": "Both answers are there, Alice.",
    "test_tool_with_task": "Hello, Alice!",
}
AS_TASKS = {"slow_compute": "The computation is done.",
            "failing_job": "The job has failed, as it always does.",
            "confirm_delete": "Deleted.", "multi_input": "Both answers are there, Alice.",
            "test_tool_with_task": "Hello, Alice!"}


def reply(method):
    """The client's answer to a question."""
    if method == "roots/list":
        return {"roots": [{"uri": "test://root", "name": "root"}]}
    if method == "sampling/createMessage":
        return {"role": "assistant", "model": "m", "stopReason": "endTurn",
                "content": {"type": "text", "text": "a model's text"}}
    return {"action": "accept", "content": {"name": "Alice", "color": "red", "ok": True,
                                            "confirm": True, "context": "some"}}


def meta(capabilities):
    return {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": capabilities}


class Stdio(unittest.TestCase):
    def setUp(self):
        self.server = support.Server()
        self.addCleanup(self.server.close)

    def call_legacy(self, name):
        """The result of a tool whose questions are answered, and what came before it."""
        number = self.server.post("tools/call", {"name": name,
                                                 "arguments": ARGUMENTS.get(name, {}),
                                                 "_meta": {"progressToken": name}})
        before = []
        while True:
            message = self.server.receive()
            if message.get("id") == number and "method" not in message:
                return message.get("result") or message, before
            before.append(message)
            if "id" in message:
                self.server.send({"jsonrpc": "2.0", "id": message["id"],
                                  "result": reply(message["method"])})

    def ask_modern(self, method, params, capabilities=None):
        """The result, when every round's questions are answered, and how many rounds it took."""
        rounds = 0
        params = {**params, "_meta": meta(CAPABILITIES if capabilities is None else capabilities)}
        while True:
            result = self.server.request(method, params)
            if result["resultType"] != "input_required":
                return result, rounds
            rounds += 1
            questions = result["inputRequests"]
            self.assertTrue(all(set(one) <= {"method", "params"} for one in questions.values()))
            params["inputResponses"] = {key: reply(one["method"])
                                        for key, one in questions.items()}
            params["requestState"] = result["requestState"]

    def call_modern(self, name, capabilities=None):
        return self.ask_modern("tools/call", {"name": name, "arguments": ARGUMENTS.get(name, {})},
                               capabilities)

    def initialize(self):
        return self.server.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": CAPABILITIES,
            "clientInfo": {"name": "tests", "version": "1"}})

    def test_every_tool_answers_in_both_eras(self):
        self.initialize()
        for name, text in TEXTS.items():
            with self.subTest(tool=name):
                self.assertIn(text, support.text_of(self.call_legacy(name)[0]))
                self.assertIn(text, support.text_of(self.call_modern(name)[0]))

    def test_the_product_is_there_too_behind_the_first_fixture(self):
        names = [tool["name"] for tool in self.server.request("tools/list")["tools"]]
        self.assertEqual(names[0], "test_simple_text")
        self.assertLessEqual(set(TEXTS) | {"run_command", "run_code"}, set(names))

    def test_questions_come_in_rounds(self):
        for name, rounds in (("test_input_required_result_elicitation", 1),
                             ("test_input_required_result_multiple_inputs", 1),
                             ("test_input_required_result_multi_round", 2), ("greet", 0)):
            with self.subTest(tool=name):
                self.assertEqual(self.call_modern(name)[1], rounds)
        result, rounds = self.ask_modern("prompts/get",
                                         {"name": "test_input_required_result_prompt"})
        self.assertEqual(rounds, 1)
        self.assertEqual(result["messages"][0]["content"]["text"], "Use this context: some")

    def test_progress_is_said_three_times(self):
        self.initialize()
        before = self.call_legacy("test_tool_with_progress")[1]
        self.assertEqual([(message["params"]["progress"], message["params"]["total"])
                          for message in before], [(0, 100), (50, 100), (100, 100)])

    def test_messages_are_logged_at_their_level(self):
        self.initialize()
        self.server.request("logging/setLevel", {"level": "debug"})
        before = self.call_legacy("test_tool_with_logging")[1]
        self.assertEqual([message["params"]["data"] for message in before],
                         ["Tool execution started", "Tool processing data",
                          "Tool execution completed"])
        self.server.request("logging/setLevel", {"level": "error"})
        self.assertEqual(self.call_legacy("test_tool_with_logging")[1], [])

    def test_lists_change_and_change_back(self):
        self.initialize()
        for tool, method, key in (("test_trigger_tool_change", "tools/list", "tools"),
                                  ("test_trigger_prompt_change", "prompts/list", "prompts")):
            first = self.server.request(method)[key]
            before = self.call_legacy(tool)[1]
            self.assertEqual([message["method"] for message in before],
                             [f"notifications/{key}/list_changed"])
            self.assertEqual(self.server.request(method)[key][:-1], first)
            self.call_legacy(tool)
            self.assertEqual(self.server.request(method)[key], first)

    def test_clients_without_an_ability_are_refused(self):
        for name, missing in (("test_missing_capability", {"sampling": {}}),
                              ("failing_job", {"extensions": {META + "tasks": {}}}),
                              ("test_streaming_elicitation", {"elicitation": {}})):
            with self.subTest(tool=name), self.assertRaises(support.RpcError) as caught:
                self.call_modern(name, {})
            self.assertEqual(caught.exception.code, -32021)
            self.assertEqual(caught.exception.data, {"requiredCapabilities": missing})

    def test_tasks_end_with_what_the_tool_said(self):
        for name, text in AS_TASKS.items():
            with self.subTest(tool=name):
                made = self.call_modern(name, TASKS)[0]
                self.assertEqual(made["resultType"], "task")
                task = self.wait_for(made["taskId"])
                self.assertEqual(task["status"], "completed")
                self.assertIn(text, support.text_of(task["result"]))
                self.assertEqual(task["result"]["isError"], name == "failing_job")
        task = self.wait_for(self.call_modern("protocol_error_job", TASKS)[0]["taskId"])
        self.assertEqual((task["status"], task["error"]["code"]), ("failed", -32600))
        self.assertNotIn("result", task)

    def wait_for(self, task_id):
        """The task when it is over; its questions are answered one at a time."""
        task = {}

        def is_over():
            params = {"taskId": task_id, "_meta": meta(TASKS)}
            task.clear()
            task.update(self.server.request("tasks/get", params))
            if task["status"] == "input_required":
                key, question = next(iter(task["inputRequests"].items()))
                self.server.request("tasks/update", {
                    **params, "inputResponses": {key: reply(question["method"])}})
            return task["status"] not in ("working", "input_required")

        self.assertTrue(support.wait_until(is_over, 20, 0.05), task)
        return task


class Http(unittest.TestCase):
    def setUp(self):
        self.server = HttpServer(tokens=("alice", "bob"))
        self.addCleanup(self.server.stop)

    def client(self, kind, name):
        client = kind(self.server, name)
        self.addCleanup(client.close)
        return client

    def test_a_state_is_of_one_client(self):
        alice, bob = (self.client(ModernClient, name) for name in ("alice", "bob"))
        params = {"name": "test_input_required_result_request_state", "arguments": {},
                  "_meta": meta(CAPABILITIES)}
        asked = alice.say(alice.message("tools/call", params)).messages()[-1]["result"]
        params.update(inputResponses={"confirm": reply("elicitation/create")},
                      requestState=asked["requestState"])
        error = bob.say(bob.message("tools/call", params)).messages()[-1]["error"]
        self.assertEqual(error["code"], -32602)
        self.assertIn("another client", error["message"])
        result = alice.say(alice.message("tools/call", params)).messages()[-1]["result"]
        self.assertEqual(result["content"][0]["text"], "state-ok")

    def test_a_task_is_of_one_client_and_outlives_its_request(self):
        alice, bob = (self.client(ModernClient, name) for name in ("alice", "bob"))
        made = alice.say(alice.message("tools/call", {
            "name": "slow_compute", "arguments": {"seconds": 60}, "_meta": meta(TASKS)}))
        params = {"taskId": made.messages()[-1]["result"]["taskId"], "_meta": meta(TASKS)}
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            self.assertEqual(bob.say(bob.message(method, params)).code(), -32602)
        again = self.client(ModernClient, "alice")
        self.assertEqual(again.say(again.message("tasks/get", params)).json()["result"]["status"],
                         "working")
        self.assertEqual(again.say(again.message("tasks/cancel", params)).status, 200)
        self.assertEqual(again.say(again.message("tasks/get", params)).json()["result"]["status"],
                         "cancelled")

    def test_a_missing_ability_is_a_bad_request(self):
        alice = self.client(ModernClient, "alice")
        answer = alice.say(alice.message("tools/call", {"name": "test_missing_capability"}))
        self.assertEqual((answer.status, answer.code()), (400, -32021))

    def legacy(self, name):
        """A legacy client that can be asked."""
        client = self.client(LegacyClient, name)
        answer = client.post(client.message("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": CAPABILITIES,
            "clientInfo": {"name": "tests", "version": "1"}}), {"Mcp-Session-Id": None})
        client.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        return client

    def ask(self, client):
        """A call that asks: its stream, and the question."""
        stream = client.stream("POST", client.call("test_elicitation", message="Who?"))
        self.addCleanup(stream.close)
        return stream, stream.message()

    def test_legacy_questions_are_answered_by_another_post_of_the_session(self):
        alice, bob = self.legacy("alice"), self.legacy("bob")
        stream, question = self.ask(alice)
        self.assertEqual(question["method"], "elicitation/create")
        response = {"jsonrpc": "2.0", "id": question["id"],
                    "result": reply("elicitation/create")}
        self.assertEqual(bob.post(response).status, 202)  # nothing that was asked of bob
        other = self.legacy("alice")
        self.assertEqual(other.post(response).status, 202)  # nor of this session
        answer = alice.post(response)
        self.assertEqual((answer.status, answer.body), (202, b""))
        self.assertIn("action=accept", stream.message()["result"]["content"][0]["text"])

    def test_sessions_end_with_open_questions(self):
        alice = self.legacy("alice")
        streams = [self.ask(alice)[0] for _ in range(3)]
        self.assertIn(alice.request("DELETE").status, (200, 204))
        for stream in streams:
            while stream.message():
                pass
        again = self.legacy("alice")
        self.assertEqual(again.post(again.message("ping")).status, 200)


if __name__ == "__main__":
    unittest.main()
