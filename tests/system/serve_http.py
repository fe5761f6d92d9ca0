#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-http.service under the user's own systemd: it starts when somebody has a token, goes through
the service, comes back, and leaves nothing."""
import os
import shutil
import unittest

import units
from units import support

UNIT = "msp-http.service"
PORT = 8765
TOKENS = os.path.expanduser("~/.config/msp/tokens")


def is_open():
    """Does anybody listen there? Nobody is disturbed by the question."""
    rows = [row.split() for row in units.read("/proc/net/tcp").splitlines()[1:]]
    return any(row[1].endswith(f":{PORT:04X}") and row[3] == "0A" for row in rows)


@unittest.skipIf(os.path.exists(os.path.dirname(TOKENS)), "this user has tokens already")
class Http(units.ServiceCase):
    def setUp(self):
        super().setUp()
        text = units.read(units.PACKAGING + "/" + UNIT + ".in")
        with open(f"{units.FOLDER}/{UNIT}", "w", encoding="utf-8") as file:
            file.write(text.replace("@CMAKE_INSTALL_FULL_BINDIR@", support.BIN) + "\n")
        units.systemctl("daemon-reload")
        self.assertFalse(is_open())

    def remove(self):
        units.systemctl("stop", UNIT, check=False)
        os.unlink(f"{units.FOLDER}/{UNIT}")
        shutil.rmtree(os.path.dirname(TOKENS), ignore_errors=True)
        super().remove()
        units.systemctl("reset-failed", UNIT, check=False)

    def state(self, *names):
        found = units.properties(*names, unit=UNIT)
        return tuple(found[name] for name in names)

    def create_token(self):
        result = units.msp("token", "create", "test")
        self.assertEqual(result.returncode, 0, result.stderr)

    def wait_for(self, condition):
        self.assertTrue(support.wait_until(condition, units.SECONDS, 0.1))

    def serves(self):
        """It listens, and a broker of the service's does it."""
        found = units.status()
        return is_open() and found["state"] == "running" and found["clients"] == 1

    def test_without_a_token(self):
        """It is not started again: a token does not come by itself."""
        units.systemctl("start", UNIT)
        self.wait_for(lambda: self.state("ActiveState") == ("failed",))
        self.assertEqual(self.state("ExecMainStatus", "NRestarts"), ("78", "0"))
        self.assertFalse(is_open())

    def test_it_comes_back_until_it_is_stopped(self):
        self.create_token()
        units.systemctl("start", UNIT)
        self.wait_for(lambda: self.serves() and len(units.processes("msp-broker")) == 1)
        units.systemctl("kill", "--signal=KILL", UNIT)
        self.wait_for(lambda: self.state("NRestarts") == ("1",) and self.serves())
        units.systemctl("kill", "--signal=KILL", "msp.service")
        self.wait_for(lambda: self.state("NRestarts") == ("2",) and self.serves())
        units.systemctl("stop", UNIT)
        self.assertEqual(self.state("ActiveState", "Result"), ("inactive", "success"))
        self.wait_for(lambda: not is_open() and units.status()["clients"] == 0)
        self.assertEqual(units.processes("msp-broker"), [])

    def test_without_the_service(self):
        """Its own supervisor has all that it needs in this unit."""
        self.create_token()
        drop_in = f"{units.FOLDER}/{UNIT}.d"
        os.makedirs(drop_in)
        self.addCleanup(shutil.rmtree, drop_in)
        with open(drop_in + "/test.conf", "w", encoding="utf-8") as file:
            file.write("[Service]\nExecStart=\n"
                       f"ExecStart={support.BIN}/msp serve --standalone --http=127.0.0.1:{PORT}\n")
        units.systemctl("daemon-reload")
        units.systemctl("start", UNIT)
        self.wait_for(lambda: is_open() and units.processes("msp-broker"))
        units.systemctl("stop", UNIT, "msp.socket")
        self.assertEqual(self.state("ActiveState", "Result"), ("inactive", "success"))
        self.assertFalse(is_open())
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
