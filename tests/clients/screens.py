#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Claude Code, Codex and Gemini CLI in a terminal of 80 columns and 24 lines, as a person sees them:
the question before an apply, its answers, the question for a host, and a machine on which nothing can
run. docs/clients.md has the screens."""
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import support  # noqa: E402
import terminal_agents  # noqa: E402
from agent_terminals import setUpModule, tearDownModule  # noqa: E402, F401  (unittest calls them)

HELD = ".envrc"
RISK = f"1 can run by itself: {HELD}"
QUESTION = ("Apply 2 changes (+2 -1) to ", RISK, "Choose 1 of 3", "Held: runs or leads out. Review:")
ANSWERS = ("apply nothing", "apply all but held", "apply everything")
NOTHING, BUT_HELD, EVERYTHING = ("old\n", False), ("new\n", False), ("new\n", True)

PAGE = os.path.join(support.ROOT, "docs", "clients.md")

# What differs from run to run, and how docs/clients.md writes it; the columns stay.
ID = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b")
ID_SHOWN = "19ynxcdf1my0md5ysdj0299ngt"
SECONDS, SECONDS_SHOWN = re.compile(r"\b\d\.\d\d s\b"), "0.01 s"


def cut(screen, home, start, end=None):
    """The part of a screen from the first line that matches to before the next that matches `end`,
    as docs/clients.md shows it."""
    lines = screen.split("\n")
    first = next(i for i, line in enumerate(lines) if re.search(start, line))
    last = next((i for i, line in enumerate(lines) if i > first and end and re.search(end, line)),
                len(lines))
    text = "\n".join(lines[first:last]).rstrip()
    return SECONDS.sub(SECONDS_SHOWN, ID.sub(ID_SHOWN, text.replace(home, "/home/user")))



def page_screen(name):
    """The screen of this name in docs/clients.md."""
    with open(PAGE, encoding="utf-8") as file:
        return re.search(rf"<!-- transcript {name} -->\n```text\n(.*?)\n```\n<!-- end -->",
                         file.read(), re.S).group(1)


# --- the question before an apply -----------------------------------------------------------


def apply_script(workspace):
    """The calls of a model that changes a file and adds one that the host executes."""
    return [("create_sandbox", {"name": "build", "workspace": workspace}),
            ("run_command", {"sandbox": "build",
                             "command": f"echo new > README; echo x > {HELD}"}),
            *[("apply_changes", {"sandbox": "build"})] * 4]


def tell_failure(results):
    """The text of a model that tells its user why nothing was applied."""
    return re.search(r"Nothing was applied\..*?`msp apply \w+`", results[-1], re.S).group()


def see_question(case, agent, default):
    """The screen with the whole question, no line of it cut, and the harmless answer chosen."""
    screen = agent.see(*QUESTION)
    lines = [line.strip() for line in screen.split("\n")]
    for line in (f"Apply 2 changes (+2 -1) to {agent.project}?", RISK):
        case.assertIn(line, lines)
    case.assertRegex(screen, r"Review: msp diff [0-9a-hjkmnp-tv-z]{26}$|"
                             r"Review: msp diff [0-9a-hjkmnp-tv-z]{26}\n")
    case.assertIn(default, screen)
    return screen


def assert_answered(case, agent, count, reason, expected):
    """What the model got, and what is on the host."""
    text = agent.wait_results(count)
    case.assertIn(reason, text)
    case.assertEqual("Nothing was applied" in text, expected == NOTHING, text)
    case.assertEqual((agent.read("README"), agent.has(HELD)), expected)


HOST_CALL = ("request_host", {"host": "api.example.org",
                              "reason": "the API's schema, for tests/api_test.py: see README.md, line 12"})


def claude_apply(case):
    """It has a root, the project. At last it asks for a host."""
    with terminal_agents.ClaudeCode(lambda _: [*apply_script("."), HOST_CALL]) as agent:
        screen = see_question(case, agent, "▸ apply nothing")
        yield "claude-question", cut(screen, agent.home, "^──")
        agent.press("Escape")
        assert_answered(case, agent, 3, 'Nobody answered ("cancel")', NOTHING)

        see_question(case, agent, "▸ apply nothing")
        agent.press("Enter")
        agent.see("❯ Accept")
        agent.press("Enter")
        assert_answered(case, agent, 4, 'The user chose "apply nothing"', NOTHING)

        see_question(case, agent, "▸ apply nothing")
        agent.press("Right")
        agent.see(*ANSWERS)
        agent.press("Down")
        yield "claude-answers", cut(agent.see("❯ ◯ apply all but held"), agent.home, "^──")
        agent.press("Enter")
        agent.see("apply all but held", "❯ Accept")
        agent.press("Enter")
        assert_answered(case, agent, 5, "1 host-executed, left out", BUT_HELD)

        agent.see("Apply 1 change (+1 -0) to ", RISK, "Choose 1 of 2: ▸ apply nothing")
        agent.press("Right")
        agent.see("apply everything")
        agent.press("Down", "Enter")
        agent.see("apply everything", "❯ Accept")
        agent.press("Enter")
        assert_answered(case, agent, 6, "1 change was applied", EVERYTHING)

        screen = agent.see("Let sandboxes reach api.example.org:443?", "▸ no", "all they know.")
        yield "claude-host", cut(screen, agent.home, "^──")
        agent.press("Escape")
        case.assertIn('Nobody answered ("cancel")', agent.wait_results(7))
        agent.see("Done.")


def codex_apply(case):
    with terminal_agents.Codex(apply_script) as agent:
        screen = agent.see('Allow the msp MCP server to run tool "apply_changes"?')
        yield "codex-approval", cut(screen, agent.home, "Field 1/1")
        agent.press("Down")
        agent.see("› 2. Allow for this session")
        agent.press("Enter")
        screen = see_question(case, agent, "› 1. apply nothing")
        for answer in ANSWERS:
            case.assertIn(answer, screen)
        yield "codex-question", cut(screen, agent.home, "Field 1/1")
        agent.press("Escape")
        assert_answered(case, agent, 3, 'Nobody answered ("cancel")', NOTHING)

        screen = see_question(case, agent, "› 1. apply nothing")
        yield "codex-cancelled", cut(screen, agent.home, "Failed msp.apply", "Field 1/1")
        agent.press("Enter")
        assert_answered(case, agent, 4, 'The user chose "apply nothing"', NOTHING)

        see_question(case, agent, "› 1. apply nothing")
        agent.press("Down")
        agent.see("› 2. apply all but held")
        agent.press("Enter")
        assert_answered(case, agent, 5, "1 host-executed, left out", BUT_HELD)

        agent.see("Apply 1 change (+1 -0) to ", RISK, "Choose 1 of 2", "› 1. apply nothing")
        agent.press("Down")
        agent.see("› 2. apply everything")
        agent.press("Enter")
        assert_answered(case, agent, 6, "1 change was applied", EVERYTHING)
        agent.see("• Done.")


def gemini_apply(case):
    """It has no question of a server's: it asks before each call, and the user runs `msp apply`. A
    failed call is not shown, so that the user depends on the model. It has a root, the project."""
    with terminal_agents.GeminiCli(lambda _: apply_script(".")[:3],
                                   closing=tell_failure) as agent:
        agent.see('Allow execution of MCP tool "create_sandbox"', "● 1. Allow once")
        agent.press("Enter")
        agent.see('Allow execution of MCP tool "run_command"', "● 1. Allow once")
        agent.press("Enter")
        screen = agent.see('Allow execution of MCP tool "apply_changes"', "● 1. Allow once")
        yield "gemini-approval", cut(screen, agent.home, "^╭", "^$")
        agent.press("Enter")
        assert_answered(case, agent, 3, "this client cannot ask", NOTHING)
        case.assertIn("`msp apply ", agent.model.results[2])
        yield "gemini-answered", cut(agent.see("✦ Nothing was applied"), agent.home, "^✦",
                                     "for shortcuts")


# --- a machine on which nothing can run -----------------------------------------------------


# msp in a user namespace that allows no further one.
CRIPPLE = """#!/bin/sh
exec unshare --user --map-current-user --keep-caps sh -c '
echo 0 >/proc/sys/user/max_user_namespaces &&
exec setpriv --ambient-caps=-all --inh-caps=-all "$0" "$@"' PROGRAM "$@"
"""
SAID = "msp refuses to run anything on this machine."
FIX = "sysctl -w user.max_user_namespaces="


def tell_reason(results):
    """The text of a model that tells its user what the tool said."""
    return re.search(rf"{re.escape(SAID)}.*restart this MCP server\.", results[-1], re.S).group()


def first_run(case, kind, approve=None):
    """The screen after a model was told why nothing can run."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as script:
        script.write(CRIPPLE.replace("PROGRAM", support.MSP))
    try:
        os.chmod(script.name, 0o755)
        with kind(lambda _: [("msp_status", {})], program=script.name,
                  closing=tell_reason) as agent:
            if approve:
                approve(agent)
            text = agent.wait_results(1)
            for part in (SAID, "Missing: user-namespace", FIX):
                case.assertIn(part, text)
            case.assertIn(SAID, agent.model.asked)
            case.assertNotIn("run_code runs", agent.model.asked)
            return agent.see("Fix: " + FIX, "After the fix, restart this"), agent.home
    finally:
        os.unlink(script.name)


def claude_first_run(case):
    yield "claude-first-run", cut(*first_run(case, terminal_agents.ClaudeCode), "^● ", "^✻")


def codex_first_run(case):
    yield "codex-first-run", cut(*first_run(case, terminal_agents.Codex), "^• Called", "Worked for")


def gemini_first_run(case):
    def approve(agent):
        agent.see('Allow execution of MCP tool "msp_status"')
        agent.press("Enter")

    yield "gemini-first-run", cut(*first_run(case, terminal_agents.GeminiCli, approve), "^✦",
                                  "for shortcuts")


# The screens of each session, by their names on the page.
SESSIONS = {
    claude_apply: ("claude-question", "claude-answers", "claude-host"),
    codex_apply: ("codex-approval", "codex-question", "codex-cancelled"),
    gemini_apply: ("gemini-approval", "gemini-answered"),
    claude_first_run: ("claude-first-run",),
    codex_first_run: ("codex-first-run",),
    gemini_first_run: ("gemini-first-run",),
}


class Screens(unittest.TestCase):
    maxDiff = None

    def see(self, session):
        names = []
        for name, screen in session(self):
            names.append(name)
            with self.subTest(screen=name):
                self.assertEqual(screen, page_screen(name))
        self.assertEqual(tuple(names), SESSIONS[session])

    def test_claude_code_asks(self):
        self.see(claude_apply)

    def test_codex_asks(self):
        self.see(codex_apply)

    def test_gemini_cli_cannot_ask(self):
        self.see(gemini_apply)

    def test_claude_code_where_nothing_runs(self):
        self.see(claude_first_run)

    def test_codex_where_nothing_runs(self):
        self.see(codex_first_run)

    @unittest.skipUnless(os.environ.get("MSP_CLIENTS") == "all", "MSP_CLIENTS=all: as with the two others")
    def test_gemini_cli_where_nothing_runs(self):
        self.see(gemini_first_run)


if __name__ == "__main__":
    unittest.main()
