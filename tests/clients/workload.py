# SPDX-License-Identifier: Apache-2.0
"""A command in a sandbox that the host's process table can tell from every other. Nothing here is a
test."""
import itertools
import os

import support

_numbers = itertools.count(1)


def is_running(word):
    """Is there a process with this word among its arguments, in whatever sandbox?"""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    if word.encode() in file.read().split(b"\0"):
                        return True
            except OSError:
                pass
    return False


class Workload:
    """It sleeps for a time that nobody else sleeps. `before`: shell text to run first."""

    def __init__(self, before="echo started"):
        self.word = f"64.{os.getpid()}{next(_numbers):03}"
        self.command = f"{before}; exec sleep {self.word}"

    def is_seen(self):
        return support.wait_until(lambda: is_running(self.word), 10)

    def is_gone(self):
        return support.wait_until(lambda: not is_running(self.word), 10)
