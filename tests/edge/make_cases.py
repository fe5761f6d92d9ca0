#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the edge cases that edge.py plays: builds them for what this server has, plays them, checks
each answer by the rules and, with --record, writes them with their answers to cases.jsonl.

    make_cases.py [--record] [--out FILE] [--only PART]   --only: those with this in their names"""
import argparse
import collections
import json
import sys

import families
import features
import methods
import replay
import rules

BOTH = ("legacy", "modern")
# Methods by the capability that brings them; the first are there in any case.
BROUGHT = {
    "": {"initialize": ("legacy",), "ping": ("legacy",), "server/discover": ("modern",)},
    "tools": {"tools/list": BOTH, "tools/call": BOTH},
    "resources": {"resources/list": BOTH, "resources/templates/list": BOTH, "resources/read": BOTH,
                  "resources/subscribe": ("legacy",), "resources/unsubscribe": ("legacy",),
                  "subscriptions/listen": ("modern",)},
    "prompts": {"prompts/list": BOTH, "prompts/get": BOTH},
    "completions": {"completion/complete": BOTH},
    "logging": {"logging/setLevel": ("legacy",)},
    rules.TASKS: {"tasks/get": ("modern",), "tasks/update": ("modern",), "tasks/cancel": ("modern",
                                                                                          )},
}


class Surface:
    """What a server has: methods -> eras, tools -> schema, prompts -> arguments -> required,
    profiles with a policy, templates -> variables."""

    def __init__(self, ask):
        have = ask("initialize", {"protocolVersion": families.CURRENT})["capabilities"]
        have |= ask("server/discover", {"_meta": families.META})["capabilities"].get("extensions",
                                                                                     {})
        self.methods = {method: eras for name, brought in BROUGHT.items() if not name or name
                        in have
                        for method, eras in brought.items()}
        self.tools = {tool["name"]: tool["inputSchema"] for tool in ask("tools/list", {})["tools"]}
        self.prompts, self.profiles, self.templates = {}, set(), {}
        if "prompts" in have:
            self.prompts = {prompt["name"]: {entry["name"]: entry.get("required", False)
                                             for entry in prompt.get("arguments", [])}
                            for prompt in ask("prompts/list", {})["prompts"]}
        if "resources" in have:
            self.profiles = {entry["name"] for entry in ask("resources/list", {})["resources"]
                             if entry["uri"].startswith("policy:")}
            self.templates = features.templates_of(
                ask("resources/templates/list", {})["resourceTemplates"])
        self.has_logs = features.has_logs(self.templates)


def look(session):
    """What the server of this session says about itself."""
    def ask(method, params):
        session.write(families.dump({"jsonrpc": "2.0", "id": "look", "method": method,
                                     "params": params}).encode() + b"\n")
        return json.loads(session.line())["result"]
    return Surface(ask)


def build():
    """All cases for the server that is installed here."""
    session = replay.Session()
    book = families.Book(look(session))
    session.close()
    for add in (*families.FAMILIES, *methods.FAMILIES, *features.FAMILIES):
        add(book)
    return book.cases


def record(cases):
    """Play them all; what is wrong by the rules."""
    problems = []
    for case, results in replay.play_all(cases):
        for step, (wrong, got) in zip(case["steps"], results):
            step["got"] = got
            problems += [(case, text) for text in wrong]
    return problems


def main():
    parser = argparse.ArgumentParser(description="Makes the edge cases.")
    parser.add_argument("--record", action="store_true", help="write cases.jsonl")
    parser.add_argument("--out", default=replay.CASES, help="write there instead")
    parser.add_argument("--only", default="", help="cases with this in their names")
    arguments = parser.parse_args()
    cases = [case for case in build() if arguments.only in case["name"]]
    problems = record(cases)
    counts = collections.Counter(case["name"].split("/")[0] for case in cases)
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    if arguments.only:
        for case in cases:
            print(replay.show(case))
    for case, text in problems:
        print(f"WRONG {case['name']}: {text}\n  {replay.show_input(case)}")
    print(f"{len(cases)} cases, {len(problems)} wrong")
    if problems:
        return 1
    if arguments.record:
        replay.save(cases, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
