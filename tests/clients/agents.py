# SPDX-License-Identifier: Apache-2.0
"""Agents as they were measured to speak, without their own programs: which version they offer
first, what they ask, and how they end their server. docs/clients.md says what was measured. Nothing
here is a test."""
import os
import signal
import time

import support

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


class Agent:
    """One session of an agent with `msp serve`. Use as a context manager."""

    name = release = offers = ending = None
    process_group = None  # None: the server is in the agent's own

    def __init__(self):
        self.server = support.Server(process_group=self.process_group)
        self.left = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.left is None:
            self.leave()
        self.server.close()

    def request(self, method, params=None, timeout=30):
        return self.server.request(method, params, timeout)

    def post(self, method, params=None):
        return self.server.post(method, params)

    def greet(self):
        """The first messages; what the server says of itself."""
        result = self.request("initialize", {
            "protocolVersion": self.offers, "capabilities": {},
            "clientInfo": {"name": self.name, "version": self.release}})
        self.server.notify("notifications/initialized")
        return {"instructions": result.get("instructions", ""),
                "version": result["protocolVersion"], "server": result["serverInfo"]}

    def tools(self):
        return self.request("tools/list")["tools"]

    def call(self, tool, **arguments):
        return self.request("tools/call", self.call_params(tool, arguments))

    def start_call(self, tool, **arguments):
        """Call a tool and do not wait."""
        return self.post("tools/call", self.call_params(tool, arguments))

    def call_params(self, tool, arguments):
        return {"name": tool, "arguments": arguments}

    def cancel(self, number):
        self.server.notify("notifications/cancelled", {"requestId": number, "reason": "cancelled"})

    def leave(self):
        """End the server as this agent does; the moment of the first step is `left`."""
        self.left = time.monotonic()
        self.end()

    def close_input(self):
        try:
            self.server.process.stdin.close()
        except BrokenPipeError:
            pass

    def is_ended(self, seconds):
        """Wait as the agent does between two steps; has the server ended?"""
        return support.wait_until(lambda: self.server.process.poll() is not None, seconds, 0.002)


class Codex(Agent):
    name, release, offers = "codex-mcp-client", "0.169.0", "2025-06-18"
    ending = "SIGTERM to the server's process group, and the end of input"
    process_group = 0  # one of its own

    def end(self):
        os.killpg(self.server.process.pid, signal.SIGTERM)
        self.close_input()


class GeminiCli(Agent):
    name, release, offers = "gemini-cli-mcp-client", "0.61.0", "2025-06-18"
    ending = "SIGTERM and the end of input, and never SIGKILL"

    def end(self):
        self.server.process.terminate()
        self.close_input()


class ClaudeCode(Agent):
    name, release, offers = "claude-code", "2.1.329", MODERN
    ending = "SIGINT, after 100 ms SIGTERM, after 450 ms SIGKILL; input stays open"

    def __init__(self):
        super().__init__()
        self.was_killed = False
        self.tokens = 0

    def with_meta(self, params=None, **more):
        meta = {META + "protocolVersion": self.offers, META + "clientCapabilities": {},
                META + "clientInfo": {"name": self.name, "version": self.release}, **more}
        return {**(params or {}), "_meta": meta}

    def request(self, method, params=None, timeout=30):
        return super().request(method, params if params and "_meta" in params
                               else self.with_meta(params), timeout)

    def greet(self):
        result = self.request("server/discover")
        return {"instructions": result.get("instructions", ""),
                "version": next(version for version in result["supportedVersions"]
                                if version == self.offers),
                "server": result["_meta"][META + "serverInfo"]}

    def call_params(self, tool, arguments):
        self.tokens += 1
        return self.with_meta({"name": tool, "arguments": arguments}, progressToken=self.tokens)

    def end(self):
        self.server.process.send_signal(signal.SIGINT)
        if self.is_ended(0.1):
            return
        self.server.process.terminate()
        if self.is_ended(0.35):
            return
        self.was_killed = True
        self.server.process.kill()


AGENTS = (ClaudeCode, Codex, GeminiCli)
