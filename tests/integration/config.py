#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operator's configuration: found where it may be, in force in what runs, and refused whole when
anything about it is wrong."""
import json
import os
import shutil
import subprocess
import unittest

import support
from cli_support import LIMITS, SECONDS, msp
from config_support import OWN, WithFolder

# What is wrong, the text, and the rest of the message's line behind the file's name.
MISTAKES = (
    ("unknown key", "defualt_profile: x\n", r":1: .*defualt_profile"),
    ("unknown key of a profile", "profiles:\n  - name: a\n    extend: default\n", r":3: .*extend"),
    ("type", "profiles:\n  - name: a\n    extends: default\n    limits: 5\n", r":4: .*limits"),
    ("path", "profiles:\n  - name: a\n    extends: default\n    files:\n"
             "      - {at: data, kind: bind, from: /srv}\n", r":5: .*"),
    ("unit", "profiles:\n  - name: a\n    extends: default\n    limits:\n      memory: 4X\n",
     r":5: .*memory.*4X"),
    ("cycle", "profiles:\n  - name: a\n    extends: b\n  - name: b\n    extends: a\n",
     r":\d: .*extends"),
    ("unknown parent", "profiles:\n  - name: a\n    extends: nobody\n", r":3: .*nobody"),
    ("duplicate", "profiles:\n  - name: a\n    extends: default\n"
                  "  - name: a\n    extends: default\n", r":4: .*a"),
    ("duplicate of a built-in", "profiles:\n  - name: strict\n    extends: default\n",
     r":2: .*strict"),
    ("default that is not there", "default_profile: nobody\n", r":1: .*nobody"),
    ("limits", "limits: none\n", r":1: .*limits"),
    ("network", "profiles:\n  - name: a\n    extends: default\n    network: {allow: [x:443]}\n",
     r":4: .*network"),
    ("syntax", "profiles: [\n", r":\d: .*"),
    ("lasting without a place", "profiles:\n  - name: a\n    extends: strict\n    lasting:\n"
                                "      ttl: 1d\n", r":4: .*lasting: this profile keeps no files"),
    ("span", "profiles:\n  - name: a\n    extends: default\n    lasting:\n      ttl: 40d\n",
     r":5: .*lasting.ttl: greater than"),
    ("place", "profiles:\n  - name: a\n    extends: default\n    files:\n"
              "      - {at: /a, kind: tmpfs, size: 1M, inodes: 64, mode: 0700, place: home}\n",
     r":4: .*there is a place .home. already"),
    ("sandboxes", "sandboxes:\n  most: 5000\n", r":2: .*sandboxes.most: 5000 is out of range"),
    ("no text", "\x01\x02\n", r":\d: .*"),
)


def leftovers_of(word):
    """Processes that sleep for so long."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if entry.isdigit() and file.read() == f"/usr/bin/sleep\0{word}\0".encode():
                    found.append(entry)
        except OSError:
            pass
    return found


class InForce(WithFolder):
    def test_a_profile_of_ones_own(self):
        path = self.write()
        shell = "echo $WAREHOUSE $SHELL $(ulimit -n)"
        for name, expected in (("analysis", "north /bin/bash 100\n"),
                               ("tight", "north /bin/bash 90\n")):
            with self.subTest(profile=name):
                options = ("--config", path, "--profile", name)
                self.assertEqual(self.output("sh", "-c", shell, options=options), expected)

    def test_its_network(self):
        """Nobody listens there; without a network it may not even be asked."""
        code = ("import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9))\n"
                "except OSError as error:\n    print(type(error).__name__)")
        options = ("--config", self.write(), "--profile")
        for name, expected in (("analysis", "ConnectionRefusedError\n"),
                               ("tight", "PermissionError\n")):
            with self.subTest(profile=name):
                self.assertEqual(self.output("python3", "-c", code, options=(*options, name)),
                                 expected)

    def test_the_default_profile(self):
        options = ("--config", self.write())
        self.assertEqual(self.output("sh", "-c", "echo $WAREHOUSE", options=options), "north\n")
        value = json.loads(self.output("true", options=(*options, "--json")))
        self.assertEqual(value["profile"], "analysis")
        result = self.run_msp("true", options=(*options, "--verbose"))
        self.assertIn("run: profile analysis,", result.stderr)
        built_in = json.loads(self.output("true", options=(*options, "--json", "--profile",
                                                           "default")))
        self.assertEqual(built_in["profile"], "default")

    def test_the_variable_names_the_default_profile(self):
        options = ("--config", self.write(), "--json")
        value = json.loads(self.output("true", options=options, MSP_DEFAULT_PROFILE="tight"))
        self.assertEqual(value["profile"], "tight")
        value = json.loads(self.output("true", options=options, MSP_DEFAULT_PROFILE=""))
        self.assertEqual(value["profile"], "analysis")
        value = json.loads(self.output("true", options=(*options, "--profile", "strict"),
                                       MSP_DEFAULT_PROFILE="tight"))
        self.assertEqual(value["profile"], "strict", "what was asked for comes first")
        for name, said in (("loose", "there is no profile 'loose', which MSP_DEFAULT_PROFILE names;"
                                     " use --profile with one of: default, strict"),
                           ("_helper", "there is no profile '_helper'"),
                           ("a b", "MSP_DEFAULT_PROFILE=a b is refused: it must be")):
            with self.subTest(name=name):
                result = self.run_msp("true", options=options, MSP_DEFAULT_PROFILE=name)
                self.assertEqual(result.returncode, 64, result.stderr)
                self.assertIn(said, result.stderr)

    def test_limits_that_it_accepts(self):
        """As if --limits=fallback were given, which needs no cgroup anywhere."""
        path = self.write("limits: fallback\n")
        result = msp("run", "--standalone", "--config", path, "--", "echo", "hi",
                     env=self.environment())
        self.assertEqual((result.returncode, result.stdout), (0, "hi\n"), result.stderr)
        path = self.write("limits: required\n")
        here = msp("run", "--standalone", "--config", path, "--", "true", env=self.environment())
        self.assertEqual(here.returncode, 78 if support.limits() else 0, here.stderr)
        path = self.write("limits: fallback\n")
        said = msp("run", "--standalone", "--limits=required", "--config", path, "--", "true",
                   env=self.environment())
        self.assertEqual(said.returncode, here.returncode, "the command line comes first")


class Search(WithFolder):
    def profile_of(self, options=(), **variables):
        return json.loads(self.output("true", options=("--json", *options),
                                      **variables))["profile"]

    def named(self, name):
        """A configuration whose default says which one it is."""
        text = (f"default_profile: {name}\nprofiles:\n  - name: {name}\n    extends: default\n"
                "    description: test\n")
        return text

    def test_the_order(self):
        given = self.write(self.named("given"), "given.yaml")
        variable = self.write(self.named("variable"), "variable.yaml")
        self.assertIn(self.profile_of(), ("default",) if not os.path.exists(
            "/etc/msp/config.yaml") else (self.profile_of(),))
        self.write(self.named("home"), "home/.config/msp/config.yaml")
        self.assertEqual(self.profile_of(), "home")
        self.assertEqual(self.profile_of(MSP_CONFIG=""), "home")
        self.assertEqual(self.profile_of(MSP_CONFIG=variable), "variable")
        self.assertEqual(self.profile_of(options=("--config", given), MSP_CONFIG=variable),
                         "given")

    def test_a_relative_file_is_for_people(self):
        self.write(self.named("given"), "given.yaml")
        result = msp("run", "--standalone", *LIMITS, "--json", "--config", "given.yaml", "--",
                     "true", cwd=self.folder, env=self.environment())
        self.assertEqual(json.loads(result.stdout)["profile"], "given", result.stderr)
        result = msp("run", "--standalone", *LIMITS, "--", "true", cwd=self.folder,
                     env=self.environment(MSP_CONFIG="given.yaml"))
        self.assertEqual(result.returncode, 78)
        self.assertEqual(result.stderr, "msp: run: MSP_CONFIG=given.yaml is refused: it must be an "
                                        "absolute path\n")

    def test_without_home_the_account_has_one(self):
        environment = self.environment()
        del environment["HOME"]
        result = msp("profile", "list", env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, "^msp: configuration: ")

    def test_what_was_named_must_be_there(self):
        nowhere = os.path.join(self.folder, "nowhere.yaml")
        for options, variables in ((("--config", nowhere), {}), ((), {"MSP_CONFIG": nowhere})):
            result = self.run_msp("true", options=options, **variables)
            self.assertEqual((result.returncode, result.stdout), (78, ""))
            self.assertRegex(result.stderr, rf"^msp: run: the configuration {nowhere}.*"
                                            r"cannot be read: No such file or directory \(ENOENT\)\n$")

    def test_what_is_there_is_never_passed_over(self):
        path = self.write(OWN, "home/.config/msp/config.yaml")
        cases = [("directory", lambda: (os.unlink(path), os.mkdir(path)), "Is a directory"),
                 ("fifo", lambda: (os.rmdir(path), os.mkfifo(path)), "no regular file"),
                 ("circle", lambda: (os.unlink(path), os.symlink(path, path)), "ymbolic link"),
                 ("device", lambda: (os.unlink(path), os.symlink("/dev/zero", path)),
                  "no regular file")]
        if os.geteuid() != 0:
            cases.append(("unreadable", lambda: (os.unlink(path), self.write(
                OWN, "home/.config/msp/config.yaml", 0)), "Permission denied"))
        for name, make, said in cases:
            with self.subTest(name):
                make()
                result = self.run_msp("true")
                self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
                self.assertRegex(result.stderr, rf"^msp: run: .*{said}.*\n$")
                self.assertIn(said, self.refused_serve())
                listed = msp("profile", "list", env=self.environment())
                self.assertEqual((listed.returncode, listed.stdout), (78, ""))


class Trust(WithFolder):
    """Who could change what sandboxes may do."""

    def refused(self, path):
        result = self.run_msp("true", options=("--config", path))
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(path, result.stderr)
        shown = msp("profile", "show", "--config", path, "default", env=self.environment())
        self.assertEqual((shown.returncode, shown.stdout), (78, ""))
        return result.stderr

    def test_a_file_that_others_can_write(self):
        for mode in (0o666, 0o664, 0o646):
            with self.subTest(mode=oct(mode)):
                self.assertIn("chmod go-w", self.refused(self.write(mode=mode)))
        self.output("true", options=("--config", self.write(mode=0o444)))

    def test_a_link_is_as_good_as_its_target(self):
        target = self.write(name="target.yaml")
        link = os.path.join(self.folder, "link.yaml")
        os.symlink(target, link)
        self.output("true", options=("--config", link, "--profile", "analysis"))
        os.chmod(target, 0o666)
        self.assertIn("chmod go-w", self.refused(link))

    @unittest.skipUnless(os.geteuid() == 0, "needs root, or somebody else's file")
    def test_a_file_of_another_user(self):
        path = self.write()
        os.chown(path, 65534, 65534)
        self.assertIn("another user", self.refused(path))


class Mistakes(WithFolder):
    def test_each_is_one_message_and_nothing_starts(self):
        for name, text, rest in MISTAKES:
            with self.subTest(name):
                path = self.write(text)
                result = self.run_msp("echo", "started", options=("--config", path))
                self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
                self.assertRegex(result.stderr, rf"\Amsp: run: {path}{rest}.*\n\Z")
                said = self.refused_serve("--config", path)
                self.assertEqual(said, result.stderr.replace("msp: run:", "msp: serve:"))
                checked = msp("profile", "check", path, env=self.environment())
                self.assertEqual((checked.returncode, checked.stdout), (78, ""))
                self.assertEqual(checked.stderr, result.stderr.replace("msp: run:", "msp-policy:"))

    def test_a_sandboxed_message_cannot_forge_lines(self):
        """Names come from the file, and may hold anything."""
        path = self.write('profiles:\n  - name: "a\\nmsp: all is well\\e[2J"\n')
        result = self.run_msp("true", options=("--config", path))
        self.assertEqual(result.returncode, 78)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertNotIn("\x1b", result.stderr)


class OtherCompilers(WithFolder):
    """What msp does when msp-policy does not do what it should."""

    def setUp(self):
        super().setUp()
        self.programs = os.path.join(self.folder, "bin")
        shutil.copytree(support.BIN, self.programs)
        os.unlink(os.path.join(self.programs, "msp-policy"))

    def said(self, program=None, text=""):
        """A shell reads the first word of its command line, which is a file of this folder."""
        if program:
            shutil.copy(program, os.path.join(self.programs, "msp-policy"))
        self.write(text, "compile")
        result = subprocess.run([os.path.join(self.programs, "msp"), "run", "--standalone", *LIMITS,
                                 "--config", self.write(), "--", "true"], capture_output=True,
                                text=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
                                cwd=self.folder, env=self.environment())
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    def test_it_is_missing(self):
        self.assertIn("msp-policy cannot be opened: No such file", self.said())

    def test_it_writes_nothing(self):
        self.assertIn("msp-policy is not of this version", self.said("/usr/bin/true"))

    def test_it_writes_no_plan(self):
        self.assertIn("msp-policy is not of this version",
                      self.said("/bin/bash", "printf '%99999s' x >&3"))

    def test_it_fails_without_a_word(self):
        self.assertIn("ended with code 1 and said nothing", self.said("/usr/bin/false"))

    def test_it_is_killed(self):
        self.assertIn("was killed by signal 9", self.said("/bin/bash", "kill -9 $$"))

    def test_it_says_more_than_anybody_reads(self):
        said = self.said("/bin/bash", "for i in {1..9999}; do echo msp-policy: $i wrong >&2; done\n"
                                      "exit 78")
        self.assertRegex(said, r"^msp: run: 1 wrong; 2 wrong; 3 wrong; ")

    def test_it_gets_nothing_of_ours(self):
        """No environment, and no descriptor but those that it needs."""
        said = self.said("/bin/bash", "echo ${HOME-unset} >&2\n"
                                      "for n in {0..20}; do\n"
                                      "  [ -e /proc/$$/fd/$n ] && echo $n >&2\ndone\nexit 78")
        self.assertEqual(said, "msp: run: unset; 0; 1; 2; 3\n")

    def test_it_does_not_end(self):
        said = self.said("/bin/bash", "exec /usr/bin/sleep 307")
        self.assertIn("did not end within 10 s", said)
        self.assertEqual(leftovers_of("307"), [])


if __name__ == "__main__":
    unittest.main()
