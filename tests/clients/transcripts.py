#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record what docs/clients.md shows of each client, with the real programs, and put it between the
page's markers (`<!-- transcript NAME -->` and `<!-- end -->`). What differs from run to run and from
machine to machine is written in one way. --check changes nothing and says what has become wrong."""
import argparse
import json
import os
import re
import subprocess
import sys
import textwrap
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import agents  # noqa: E402
import screens  # noqa: E402
import sdk  # noqa: E402
import support  # noqa: E402
from http_server import HttpServer  # noqa: E402

PAGE = os.path.join(support.ROOT, "docs", "clients.md")
BLOCK = re.compile(r"(<!-- transcript ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.S)
WIDTH = 100
LONG_TEXT, LONG_LIST = 260, 1  # beyond these a value is shown by its beginning

# (what differs, how it is written); in this order.
NORMAL = (
    (re.escape(support.MSP), "/usr/local/bin/msp"),
    (r" ?--limits=fallback|,\s*\"--limits=fallback\"", ""),
    (r"\bmsp_[A-Za-z0-9_-]{43}", "msp_..."),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:8765"),
    (r"\b[0-9a-hjkmnp-tv-z]{26}-(\d+)\b", r"0123456789abcdefghjkmnpqrs-\1"),
    (r"\b\d+\.\d\d s\b", "0.01 s"),
    (r"\bkilled in [\d.]+ s\b", "killed in 59.8 s"),
    (r"(\"(?:wall_ms|cpu_ms)\": ?)\d+", r"\g<1>10"),
    (r"(\"peak_bytes\": ?)\d+", r"\g<1>3000000"),
    (r"(\"limits\": ?)\"\w+\"", r'\1"cgroup"'),
    (r"(\"landlock_abi\": ?)\d+", r"\g<1>7"),
    (r",\s*\"posture\": ?\{[^{}]*\}", ""),  # docs/policy-posture.md shows it
    (r",\s*\"timings_us\": ?\{[^{}]*\}", ""),  # above the first of them
    (r"\b\d+ms\b", "39ms"),
    (r"Wrote \d+ bytes", "Wrote 5050 bytes"),
    (r"(Languages of run_code here: )[^.]*\.", r"\1python, bash, sh, c."),
    (r"(\blanguage: \"python\" \|)[^,]*", r'\1 "bash" | "sh" | "c"'),
)


def normal(text):
    for pattern, written in NORMAL:
        text = re.sub(pattern, written, text)
    return text


def brief(value):
    """A JSON value with its long texts and lists cut."""
    if isinstance(value, str):
        return value if len(value) <= LONG_TEXT else value[:LONG_TEXT].rstrip() + " ..."
    if isinstance(value, list):
        kept = [brief(one) for one in value[:LONG_LIST]]
        return kept + ["..."] if len(value) > LONG_LIST else kept
    if isinstance(value, dict):
        return {key: {"type": "object", "...": "..."} if key == "inputSchema" else brief(one)
                for key, one in value.items()}
    return value


def message(value):
    return json.dumps(brief(value), ensure_ascii=False)


def fence(text, language="text"):
    """A block of the page."""
    lines = []
    for line in normal(text).rstrip().splitlines():
        start = re.match(r"\s*(?:[<>*] )?", line).group()
        lines += [line] if line.startswith("$ ") else textwrap.wrap(
            line, WIDTH, subsequent_indent=" " * len(start), break_on_hyphens=False,
            break_long_words=False) or [""]
    return f"```{language}\n" + "\n".join(row.rstrip() for row in lines) + "\n```\n"


# --- configuration --------------------------------------------------------------------------


def configuration(client, *options):
    """What `msp client-config` prints."""
    def record(_):
        result = subprocess.run([support.MSP, "client-config", *options, client],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=20, check=True)
        command = " ".join(["$ msp client-config", *options, client])
        return fence(f"{command}\n{result.stdout}", "console")
    return record


# --- command line clients -------------------------------------------------------------------


def command_line(program, *command_lines):
    """What a client prints for each command line; words after `|` are what to keep of it."""
    def record(place):
        shown = []
        for line in command_lines:
            words = [support.MSP + " serve " + " ".join(support.limits())
                     if word == "SERVER" else word for word in line]
            if program == "mcp-inspector":
                words = [part for word in words
                         for part in (word.split() if word.startswith(support.MSP) else [word])]
            result = place.run(program, *words)
            said = result.stdout + result.stderr
            asked = " ".join(f"'{word}'" if re.search(r"[\s();{}\"$]", word) else word
                             for word in (("msp serve" if word == "SERVER" else word)
                                          for word in line))
            if program == "mcp-inspector":
                asked = asked.replace("'msp serve'", "msp serve")
            shown.append(f"$ {program} {asked}\n{said.rstrip()}"
                         + (f"\n# exit code {result.returncode}" if result.returncode else ""))
        return fence("\n".join(shown), "console")
    return record


# --- the SDKs -------------------------------------------------------------------------------


# A tool, and its arguments; HANDLE is the one that the step before said.
SDK_STEPS = (
    ("run_command", {"command": "echo hello; exit 3"}),
    ("run_command", {"command": "echo working; sleep 1; echo done", "yield_ms": 200}),
    ("read_output", {"handle": "HANDLE", "wait_ms": 5000}),
    ("run_command", {"comand": "true"}),
    ("no_such_tool", {}),
)


def sdk_session(number, mode):
    def record(place):
        shown = []
        with sdk.Session(place, sdk=number, mode=mode, command=support.MSP,
                         args=["serve", *support.limits()]) as session:
            told = session.connected
            shown.append(f"* connected to {told['server']['name']}"
                         + (f", protocol {told['version']}" if "version" in told else ""))
            names = [tool["name"] for tool in session.do("listTools")["tools"]]
            shown.append("> listTools()\n< " + ", ".join(names))
            handle = None
            for tool, given in SDK_STEPS:
                if "handle" in given:
                    given = {**given, "handle": handle}
                shown.append("> callTool(" + message({"name": tool, "arguments": given}) + ")")
                try:
                    result = session.call(tool, given)
                    handle = result.get("_meta", {}).get("msp/execution", {}).get("handle")
                    shown.append("< " + message(result))
                except sdk.ClientError as error:
                    shown.append(f"< throws {error}")
        return fence("\n".join(shown))
    return record


# --- agents ---------------------------------------------------------------------------------


def replay(kind):
    """A whole session's messages, and its end while a command runs."""
    def record(_):
        shown = []
        with kind() as agent:
            send, receive = agent.server.send_bytes, agent.server.receive_line

            def sent(data):
                shown.append("> " + message(json.loads(data)))
                send(data)

            def received(timeout=20):
                line = receive(timeout)
                shown.append("< " + message(json.loads(line)))
                return line

            agent.server.send_bytes, agent.server.receive_line = sent, received
            agent.greet()
            agent.tools()
            agent.call("run_code", language="python", code="print(6 * 7)")
            agent.start_call("run_command", command="sleep 600")
            agent.leave()
            ended = agent.server.process.wait(60)
            shown.append(f"* {agent.ending}")
            how = "killed" if ended == -9 else f"exit code {ended}" if ended >= 0 else \
                f"signal {-ended}"
            shown.append(f"* the server has ended ({how}), and so has the command")
        return fence("\n".join(shown))
    return record


def over_http(client):
    def record(place):
        with HttpServer(support.MSP, *support.limits()) as server:
            return client(place, server)
    return record


def inspector_http(place, server):
    arguments = ["--cli", "--transport", "http", "--server-url", server.url, "--header",
                 f"Authorization: Bearer {server.token}", "--protocol-era", "modern",
                 *CALL, "command=echo hello"]
    result = place.run("mcp-inspector", *arguments)
    asked = " ".join(f"'{word}'" if " " in word else word for word in arguments)
    return fence(f"$ mcp-inspector {asked}\n{result.stdout}{result.stderr}", "console")


# --- terminals ------------------------------------------------------------------------------


def terminal(session, name):
    """A screen of a session; the session is held once."""
    def record(_):
        if session not in SCREENS:
            SCREENS[session] = dict(session(unittest.TestCase()))
        return f"```text\n{SCREENS[session][name]}\n```\n"
    return record


SCREENS = {}
URL = "--http=http://127.0.0.1:8765/mcp"
CALL = ("--method", "tools/call", "--tool-name", "run_command", "--tool-arg")
TRANSCRIPTS = {
    "claude-stdio": configuration("claude"),
    "claude-http": configuration("claude", URL),
    "claude-replay": replay(agents.ClaudeCode),
    "codex-stdio": configuration("codex"),
    "codex-http": configuration("codex", URL),
    "codex-replay": replay(agents.Codex),
    "gemini-stdio": configuration("gemini"),
    "gemini-http": configuration("gemini", URL),
    "gemini-replay": replay(agents.GeminiCli),
    "cursor-stdio": configuration("cursor"),
    "cursor-http": configuration("cursor", URL),
    "vscode-stdio": configuration("vscode"),
    "vscode-http": configuration("vscode", URL),
    "qwen-stdio": configuration("qwen"),
    "qwen-http": configuration("qwen", URL),
    "opencode-stdio": configuration("opencode"),
    "opencode-http": configuration("opencode", URL),
    "copilot-stdio": configuration("copilot"),
    "copilot-http": configuration("copilot", URL),
    "inspector": command_line(
        "mcp-inspector",
        ("--cli", "SERVER", *CALL, "command=echo hello; exit 3"),
        ("--cli", "--protocol-era", "modern", "SERVER", *CALL, "comand=true"),
        ("--cli", "SERVER", "--method", "tools/list", "--strict", "--output", "tools.json")),
    "inspector-http": over_http(inspector_http),
    "mcporter": command_line(
        "mcporter",
        ("list", "--stdio", "SERVER", "--brief"),
        ("call", "--stdio", "SERVER", "run_code", "language=python", "code=print(6*7)"),
        ("call", "--stdio", "SERVER", "run_command", "comand=true")),
    "sdk1": sdk_session(1, "legacy"),
    "sdk2": sdk_session(2, "auto"),
    **{name: terminal(session, name) for session, names in screens.SESSIONS.items()
       for name in names},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    place = sdk.Place()
    wrong = []

    def recorded(match):
        head, name, old, end = match.groups()
        if arguments.names and name not in arguments.names:
            return match.group()
        new = TRANSCRIPTS[name](place)
        if new != old:
            wrong.append(name)
        return head + new + end

    try:
        new_page = BLOCK.sub(recorded, page)
    finally:
        place.remove()
    missing = set(TRANSCRIPTS) - {match.group(2) for match in BLOCK.finditer(page)}
    print(f"changed: {', '.join(wrong) or 'nothing'}"
          + (f"; not on the page: {', '.join(sorted(missing))}" if missing else ""))
    if arguments.check:
        return 1 if wrong or missing else 0
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(new_page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
