# SPDX-License-Identifier: Apache-2.0
"""Begin and end of the tests that have agents from npm in a terminal. Nothing here is a test."""
import shutil
import time
import unittest

import leftovers
import packages


def setUpModule():
    if not shutil.which("tmux"):
        raise unittest.SkipTest("there is no tmux here (./dev setup installs it)")
    try:
        packages.folder()
        packages.folder(packages.AGENTS)
    except packages.Unreachable as error:
        raise unittest.SkipTest(str(error)) from error
    leftovers.become_reaper()


def tearDownModule():
    end = time.monotonic() + 10
    while leftovers.living() and time.monotonic() < end:
        leftovers.reap_orphans()
        time.sleep(0.05)
    leftovers.reap_orphans()
    if leftovers.living():
        raise AssertionError(f"left over: {leftovers.describe(leftovers.living())}")
