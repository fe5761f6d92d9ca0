#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The keys of real agents in a sandbox: each agent asks its own host over TLS, which msp-http ends. The
host gets the key, and the agent has none."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import inside_agents  # noqa: E402
import network_support  # noqa: E402
import packages  # noqa: E402
import scripted_model  # noqa: E402
from inside_agents import KEY, Inside  # noqa: E402
from network_support import asked, note  # noqa: E402

KINDS = {"api.anthropic.com": [inside_agents.Claude],
         "api.openai.com": [inside_agents.Codex, inside_agents.OpenCode],
         "generativelanguage.googleapis.com": [inside_agents.Gemini],
         "dashscope.aliyuncs.com": [inside_agents.Qwen]}


def answer(request):
    """One answer of the host's model, for the agent that has its tool."""
    host = request.headers["Host"].partition(":")[0]
    body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
    kinds = [kind for kind in KINDS[host] if f'"{kind.tool}"' in body.decode()] or KINDS[host]
    model = scripted_model.Model(kinds[0]().script(), server=None)
    found = scripted_model.answer_post(model, request.path, request.headers, body)
    model.server.server_close()
    for key in model.keys:
        note("key " + kinds[0].name, key or "")
    for result in model.results:
        note("result " + kinds[0].name, result)
    if KEY in body.decode():
        note("body " + kinds[0].name, "the key")
    request.answer(found[0], found[2], found[1])


network_support.HOSTS.update(dict.fromkeys(KINDS, answer))


def setUpModule():
    try:
        packages.folder()
        packages.folder(packages.AGENTS)
    except packages.Unreachable as error:
        raise unittest.SkipTest(str(error)) from error


class Keys(unittest.TestCase):
    def check(self, agent):
        agent.model = tuple(word for word in agent.model if word != "--oss")
        with Inside(agent, has_model=False) as inside:
            result = inside.prompt_once()
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertEqual(set(asked("key " + agent.name)) - {KEY, "Bearer " + KEY}, set())
            self.assertNotEqual(asked("key " + agent.name), [])
            self.assertIn("key=" + agent.placeholder(), asked("result " + agent.name)[-1])
            self.assertEqual(asked("body " + agent.name), [])
            self.assertEqual(inside.msp("diff", "--name-only", agent.name + "-greeter").stdout, "NEW\n")

    def test_claude(self):
        self.check(inside_agents.Claude())

    def test_codex(self):
        self.check(inside_agents.Codex())

    def test_gemini(self):
        self.check(inside_agents.Gemini())

    def test_qwen(self):
        self.check(inside_agents.Qwen())

    def test_opencode(self):
        self.check(inside_agents.OpenCode())


if __name__ == "__main__":
    network_support.main()
