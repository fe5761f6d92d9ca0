# SPDX-License-Identifier: Apache-2.0
"""A terminal of 80 columns and 24 lines for an agent: a tmux server of its own, with keys to send
and a screen to read. Nothing here is a test."""
import os
import subprocess
import time

COLUMNS, LINES = 80, 24  # the least that people have


def is_alive(pid):
    """Whether a process runs: one that has ended and waits for its parent does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Terminal:
    """One program in a terminal. Use as a context manager."""

    def __init__(self, folder, command, environment, directory):
        self.socket = os.path.join(folder, "tmux")
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES),
                   "-c", directory, *command, env={**environment, "TERM": "xterm-256color"})
        self.pids = [int(pid) for pid in
                     self._tmux("display-message", "-p", "#{pid} #{pane_pid}").split()]
        self._tmux("set-option", "-g", "escape-time", "0")
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def _tmux(self, *arguments, **keywords):
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=20, check=False, **keywords)
        if done.returncode != 0:
            raise RuntimeError(f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def screen(self):
        """The lines of the screen, as a person sees them, without empty ones at the end."""
        text = self._tmux("capture-pane", "-p")
        return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))

    def coloured(self):
        """The screen with the sequences of its colours."""
        return self._tmux("capture-pane", "-p", "-e")

    def history(self):
        """All lines that were shown and not drawn over, as they were written."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-1000")

    def keys(self, *keys):
        """Press keys, by tmux's names: Enter, Escape, Down."""
        self._tmux("send-keys", *keys)

    def type(self, text):
        self._tmux("send-keys", "-l", text)

    def resize(self, columns, lines):
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def paste(self, text):
        """Paste as a terminal does, which says so to a program that wants to know."""
        self._tmux("set-buffer", "-b", "pasted", text)
        self._tmux("paste-buffer", "-p", "-b", "pasted")

    def modes(self):
        """Whether the alternate screen is shown, and the mouse and the keypad's keys are sent."""
        return self._tmux("display-message", "-p",
                          "#{alternate_on} #{mouse_any_flag} #{keypad_flag}").strip()

    def wait_for(self, *texts, seconds=90):
        """Wait until the screen shows all texts and stands still; returns it."""
        end = time.monotonic() + seconds
        before = None
        while time.monotonic() < end:
            screen = self.screen()
            if all(text in screen for text in texts) and screen == before:
                return screen
            before = screen
            time.sleep(0.25)
        raise AssertionError(f"the screen does not show {texts}:\n{self.screen()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tmux("kill-server")
        end = time.monotonic() + 10
        while time.monotonic() < end and any(is_alive(pid) for pid in self.pids):
            time.sleep(0.02)
