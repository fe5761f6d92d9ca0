#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a made-up /etc tells about its machine, of all kinds: no file of it is in a sandbox, although
packages' configuration is."""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import evidence
import probes
import support

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import etc_support  # noqa: E402

setUpModule = probes.needs_ordinary_user

SECRET = "sesame-of-this-machine"
SHOWN = "shown/control.conf"
# Written by an administrator, an installer or a script of a package: no package recorded them.
UNRECORDED = (
    "NetworkManager/system-connections/wifi.nmconnection", "X11/xorg.conf", "adjtime", "aliases", "apt/auth.conf",
    "apt/sources.list.d/private.list", "chromium.d/proxy", "company.conf", "cron.d/backup", "crypttab",
    "cups/printers.conf", "default/backup", "docker/daemon.json", "environment", "exim4/passwd.client", "exports",
    "fonts/local.conf", "fstab", "hostname.bak", "hosts.allow", "issue", "java/agency.properties",
    "krb5.keytab", "ldap/ldap.secret", "letsencrypt/live/site/privkey.pem", "machine-id", "mailname",
    "maven/settings-security.xml", "motd", "mysql/debian.cnf", "network/interfaces", "nginx/sites-available/customer",
    "odbc.ini", "openvpn/client.ovpn", "php/8.2/cli/conf.d/99-licence.ini", "postfix/sasl_passwd",
    "postgresql/15/main/pg_hba.conf", "ppp/chap-secrets", "profile.d/proxy.sh", "resolv.conf.bak", "samba/smb.conf",
    "shadow", "shown/local.conf", "ssh/ssh_host_ed25519_key", "ssl/private/key.pem", "subuid", "sudoers.d/admin",
    "systemd/system/backup.service", "texmf/texmf.d/99local.cnf", "udev/rules.d/99-disk.rules", "wgetrc.local",
    "wireguard/wg0.conf", "wpa_supplicant/wpa_supplicant.conf", "xml/private/catalog")
# A package's files that the administrator changed.
CHANGED = ("ImageMagick-6/policy.xml", "R.conf", "emacs/site-start.d/50company.el", "gnucobol/default.conf",
           "groff/man.local", "manpath.config", "maven/settings.xml", "nginx/nginx.conf", "php/8.2/cli/php.ini",
           "shown/changed.conf", "wgetrc", "xdg/user-dirs.conf")
# A package's files, unchanged: not for a sandbox by their names.
REFUSED = ("apparmor.d/usr.bin.man", "cron.d/php", "debconf.conf", "default/useradd", "hosts", "init.d/ssh",
           "ldap/ldap.conf", "login.defs", "logrotate.d/apt", "pam.d/login", "profile", "security/limits.conf",
           "ssh/ssh_config", "sudoers", "sysctl.conf", "systemd/system.conf")


class Secrets(probes.Attack):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.state = tempfile.mkdtemp()
        cls.addClassCleanup(support.remove_folder, cls.state)
        etc = cls.etc = etc_support.MadeUp(cls.folder)
        etc.install(SHOWN, "of the package\n")
        for name in UNRECORDED:
            etc.write(name, SECRET)
        for name in CHANGED:
            etc.write(name, SECRET)
            etc.record(name, "as the package brought it")
        for name in REFUSED:
            etc.install(name, SECRET)
        etc.write("shown/closed.conf", SECRET, mode=0o600)
        etc.record("shown/closed.conf", SECRET)
        etc.link("shown/secret.conf", "local.conf")
        etc.link("shown/away.conf", cls.folder + "/etc/shadow")
        etc.record("shown/away.conf", SECRET)
        etc.finish()

    def inside(self, script):
        result = subprocess.run(
            [*self.etc.prefix, support.MSP, "run", *support.limits(), "--", "/bin/sh", "-c", script],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, "MSP_STATE_DIR": self.state})
        self.assertNotIn("msp:", result.stderr)
        return result

    def outside(self, script):
        return subprocess.run([*self.etc.prefix, "/bin/sh", "-c", script], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)

    @evidence.attack("F11", "files of /etc that tell about the machine: an administrator's, changed, of its "
                     "services", "checks")
    def test_none_is_read_by_its_name(self):
        names = [*UNRECORDED, *CHANGED, *REFUSED, "shown/secret.conf", "shown/closed.conf", "shown/away.conf"]
        script = "cd /etc && for f in " + shlex.join(names) + "; do grep -l " + SECRET + " $f && echo got $f; done"

        def outcome(result):
            read = result.stdout.split("got ")[1:]
            return probes.Outcome("succeeded" if read else "refused", None if read else "ENOENT", result.stdout, None)

        self.assertEqual(self.inside("cat /etc/" + SHOWN).stdout, "of the package\n")
        found = self.outside(script).stdout
        self.assertEqual(found.count("got "), len(names), found)
        self.prove_by(lambda _: outcome(self.inside(script)), ("ENOENT",),
                      host=lambda: outcome(self.outside(script)))

    @evidence.attack("F11", "such files, by a walk through all of /etc and its links", "checks")
    def test_none_is_found_by_a_walk(self):
        script = f"grep -Rls {SECRET} /etc | wc -l"

        def outcome(result):
            count = int(result.stdout)
            return probes.Outcome("succeeded" if count else "refused", None if count else "ENOENT", result.stdout,
                                  None)

        self.prove_by(lambda _: outcome(self.inside(script)), ("ENOENT",),
                      host=lambda: outcome(self.outside(script)))

    def test_where_the_copies_are_tells_no_user(self):
        """The table of mounts has the path of what is shown."""
        lines = self.inside("cat /proc/self/mountinfo").stdout.splitlines()
        shown = [line for line in lines if " /etc/.packages " in line]
        self.assertEqual(len(shown), 1, "the control: it is listed")
        for line in lines:
            self.assertNotIn("/home/", line.replace(" /home/agent ", " "))
            self.assertNotIn(os.environ["HOME"] + "/", line)

    def test_no_name_of_it_is_listed(self):
        """Neither does a directory's listing tell."""
        listed = self.inside("find -L /etc -printf '%f\\n'").stdout.split("\n")
        self.assertIn("control.conf", listed)
        for word in ("99-licence.ini", "customer", "company.conf", "local.conf", "secret.conf", "away.conf", "backup"):
            self.assertNotIn(word, listed)


if __name__ == "__main__":
    unittest.main()
