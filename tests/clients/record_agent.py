#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record the README's first example with the real Claude Code and a scripted model: its screen in the
sandbox as a picture (docs/agent.svg), and the review behind it as the text between the README's
markers. --check changes neither, and says whether the review would be another one."""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import inside_agents  # noqa: E402
import leftovers  # noqa: E402
import packages  # noqa: E402
import support  # noqa: E402
from picture import picture  # noqa: E402
from terminal import Terminal  # noqa: E402

PAGE = os.path.join(support.ROOT, "README.md")
PICTURE = os.path.join(support.ROOT, "docs", "agent.svg")
BLOCK = re.compile(r"(<!-- session of an agent -->\n).*?(<!-- end -->)", re.S)
TITLE = "Claude Code in a sandbox of msp: it has changed greet.py and run it, without a question"
ATTACHED = re.compile("(attached to )[0-9a-z]{6}")
HOME = "/home/user"  # as long as the path of a home here

PROGRAM = """\
import sys

print("Hello, world!")
"""
CHANGED = PROGRAM.replace('print("Hello, world!")',
                          'print(f"Hello, {sys.argv[1] if len(sys.argv) > 1 else \'world\'}!")')
PROMPT = "Let greet.py greet the person that it is given"
CLOSING = "greet.py now greets the name in its first argument, and the world without one."


class Recorded(inside_agents.Claude):
    def script(self):
        edit = f"cat > greet.py <<'END'\n{CHANGED}END"
        return [(self.tool, {"command": edit, "description": "Write greet.py"}),
                (self.tool, {"command": "python3 greet.py Ada", "description": "Try it"})]


class Session(inside_agents.Inside):
    def __init__(self):
        super().__init__(Recorded(), "limits: fallback\n")
        self.model.closing = lambda results: CLOSING
        os.unlink(os.path.join(self.project, "README"))
        self.put("greeter/greet.py", PROGRAM)

    def environment(self):
        own = super().environment()
        return {**own, "PATH": f"{support.BIN}:{own['PATH']}", "PS1": "$ ", "PAGER": "cat"}

    def open_shell(self):
        self.terminal = Terminal(self.home, ["bash", "--norc", "--noprofile"], self.environment(),
                                 self.project)
        self.see("$")
        self.send("msp agent claude")

    def replaced(self, text):
        return text.replace(self.home, HOME).replace(self.model.url.rpartition(":")[2], "11434")


def record():
    """The picture's screen and the text of the review."""
    with Session() as session:
        session.open_shell()
        session.see(*session.agent.ready)
        session.send(PROMPT)
        session.wait_results(2)
        session.see(CLOSING[:40])
        shown = session.replaced(session.terminal.coloured())
        session.leave()
        session.send("apply")
        session.see("1 applied")
        return shown, cut_text(session.replaced(session.terminal.history()))


def cut_text(text):
    """What msp says at the start, and from the changes on: the agent's own lines are the picture's."""
    lines = [line.rstrip() for line in text.split("\n")]
    start = lines.index("$ msp agent claude")
    said = [ATTACHED.sub(r"\1k3v9qd", line) for line in lines[start:] if line.startswith("msp: ")]
    review = next(i for i, line in enumerate(lines) if line.startswith("diff --git"))
    return "\n".join([lines[start], *said, "...", *lines[review:]]).rstrip("$ \n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    packages.folder(packages.AGENTS)
    leftovers.become_reaper()
    shown, text = record()
    block = f"```console\n{text}\n```\n"
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    if not BLOCK.search(page):
        return f"{PAGE} has no place for the session:\n{block}"
    after = BLOCK.sub(lambda match: match.group(1) + block + match.group(2), page)
    if options.check:
        return 0 if after == page else "the session in README.md is another one:\n" + block
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(after)
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(picture(shown, TITLE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
