#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The doctor in a chroot, where the kernel makes no user namespace. Its root is a directory of the
test's own, with the machine's folders mounted in a mount namespace of the test's own."""
import json
import os
import pwd
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import support  # noqa: E402  (its folder is known from here on)

# $1 is the new root, the rest a command.
ENTER = """
root=$1; shift
for name in bin lib lib64 usr etc dev proc var tmp; do
    [ -L "/$name" ] && ln -s "$(readlink "/$name")" "$root/$name" && continue
    [ -d "/$name" ] && mkdir "$root/$name" && mount --rbind "/$name" "$root/$name"
done
mkdir -p "$root/$MSP"
mount --bind "$MSP" "$root/$MSP"
[ "$WHERE" = chroot ] || root=/
exec chroot "$root" "$@"
"""
CONSEQUENCES = {"overlay", "persistent", "posture"}


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Chroot(unittest.TestCase):
    def doctor(self, where):
        """The probes that miss something, by name."""
        place = tempfile.mkdtemp(prefix="msp-chroot-", dir="/var/tmp")
        self.addCleanup(subprocess.run, ["rm", "-rf", "--one-file-system", place], check=True)
        state = os.path.join(place, "state")
        root = os.path.join(place, "root")
        account = pwd.getpwnam("msp")
        for path in (state, root):
            os.mkdir(path)
        os.chmod(place, 0o755)
        os.chmod(state, 0o700)
        os.chown(state, account.pw_uid, account.pw_gid)
        result = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-euc", ENTER, "sh", root,
             "setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups",
             "env", "-i", "PATH=/usr/bin:/bin", f"HOME={place}", f"MSP_STATE_DIR={state}",
             support.MSP, "doctor", "--json"],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
            env={**os.environ, "MSP": os.path.dirname(support.MSP), "WHERE": where})
        self.assertTrue(result.stdout, result.stderr)
        return {probe["name"]: probe for probe in json.loads(result.stdout)["probes"]
                if probe["status"] == "missing"}

    def test_it_is_named_once(self):
        found = self.doctor("chroot")
        self.assertLessEqual({"user-namespace", *CONSEQUENCES}, set(found))
        self.assertIn("this is a chroot", found["user-namespace"]["fix"])
        for name in CONSEQUENCES:
            self.assertEqual(found[name]["fix"], "mend what is missing above first", name)

    def test_outside_nothing_is_said_of_it(self):
        self.assertNotIn("user-namespace", self.doctor("outside"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
