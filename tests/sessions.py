# SPDX-License-Identifier: Apache-2.0
"""The commands of a page and their outputs, as docs/cookbook.md has them. tests/packages takes this file
into a root without the project. Nothing here is a test."""
import re
import subprocess

FENCE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
MARK = "--- end of command"

# (difference between two runs or machines, how it is written); in this order.
NORMAL = (
    (r"\b[0-9a-hjkmnp-tv-z]{26}\b", "ID"),
    (r"^[0-9a-hjkmnp-tv-z]{6}$", "EXECUTION"),
    (r"(, opened ).*$", r"\1MOMENT"),
    (r"\b[0-9a-f]{7}(?:[0-9a-f]{5})?\b", "HASH"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z +\d+", "TIME NUMBER"),
    (r"(\bexit 0 after )[^;]*", r"\1FIGURES"),
    (r"\b\d+\.\d{3}s\b", "SECONDS"),
    (r"(\bmsp |\bover )\([^)]*\)", r"\1(VERSION)"),
    (r"[ \t]+$", ""),
)


def sections(text):
    """{title: [(command, output)]} of a page; the title before the first heading is empty."""
    found = {}
    title = ""
    for part in re.split(r"^(## .*)$", text, flags=re.M):
        if part.startswith("## "):
            title = part[3:]
            continue
        found[title] = [command for block in FENCE.findall(part) for command in commands(block)]
    return found


def commands(block):
    """(command, output) of each line that begins with a prompt; with its here-document."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        document = re.match(r"[^\n]*<<'(\w+)'\n.*?^\1$", part, re.M | re.S)
        command = document[0] if document else part.partition("\n")[0]
        yield command, part[len(command) + 1:]


def run(session, cwd, environment, timeout=600):
    """Run the commands in one shell; [(command, its output, its exit code)], fewer if one ends the
    shell."""
    script = "".join(f"{{ {command}\n}} 2>&1\nprintf '\\n%s %s\\n' '{MARK}' $?\n" for command, _ in session)
    result = subprocess.run(["bash", "-c", script], cwd=cwd, env=environment, timeout=timeout, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    parts = re.split(rf"\n{MARK} (\d+)\n", result.stdout)
    return [(command, parts[2 * number], int(parts[2 * number + 1]))
            for number, (command, _) in enumerate(session[:len(parts) // 2])]


def normal(text):
    for pattern, written in NORMAL:
        text = re.sub(pattern, written, text, flags=re.M)
    return text


def fits(shown, output):
    """Is the output the shown one? A line of three dots stands for any lines."""
    pattern = "".join("(?:.*\n)*?" if line == "...\n" else re.escape(line)
                      for line in normal(shown).splitlines(keepends=True))
    return re.fullmatch(pattern, normal(output)) is not None


def faults(session, cwd, environment):
    """Run the commands; a text for each that fails or has another output."""
    ran = run(session, cwd, environment)
    found = [f"not run: {command}" for command, _ in session[len(ran):]]
    for (command, shown), (_, output, code) in zip(session, ran):
        if code != 0 or not fits(shown, output):
            found.append(f"$ {command}\n{output}exit {code}; the page has:\n{shown}")
    return found
