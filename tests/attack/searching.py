# SPDX-License-Identifier: Apache-2.0
"""A search for a text in files, variables and memory, to run as a script. Nothing here is a test."""

# A search that does not hold what it looks for in one piece, so that it does not find itself: the text
# comes as two halves. Prints the places, without numbers of processes.
SEARCH = r"""
import json, os, re, sys
first, second = (half.encode() for half in sys.argv[1:3])
places = set()

def look(data, place):
    at = data.find(first)
    while at >= 0:
        if data[at + len(first):at + len(first) + len(second)] == second:
            places.add(re.sub(r"[0-9]+", "N", place))
        at = data.find(first, at + 1)

def look_at_memory(pid):
    with open(f"/proc/{pid}/maps", encoding="latin-1") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            spans = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
            if spans is None or "[v" in line:
                continue
            try:
                memory.seek(int(spans[1], 16))
                look(memory.read(min(int(spans[2], 16) - int(spans[1], 16), 1 << 26)), f"memory of {pid}")
            except (OSError, ValueError, OverflowError):
                pass

def search(tops, pids):
    for pid in pids:
        for name in ("environ", "cmdline", "comm"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    look(file.read(), f"/proc/{pid}/{name}")
            except OSError:
                pass
        try:
            look_at_memory(pid)
        except OSError:
            pass
    for top in tops:
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    if os.path.isfile(path) and not os.path.islink(path):
                        with open(path, "rb") as file:
                            look(file.read(1 << 24), f"file below {top}")
                except OSError:
                    pass
"""


def halves(text):
    return text[:len(text) // 2], text[len(text) // 2:]
