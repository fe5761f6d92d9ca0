#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operator's configuration: found where it may be, in force in what runs, and refused whole when
anything about it is wrong."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import leftovers
import support
from cli_support import LIMITS, MSP, SECONDS, msp
from service import Service

FALLBACK = "--limits=fallback"

OWN = """\
default_profile: analysis
profiles:
  - name: tight
    extends: analysis
    network: none
    limits: {open_files: 90}
  - name: analysis
    description: tables of the warehouse
    extends: default
    limits:
      open_files: 100
      wall_default: 50s
    environment:
      - WAREHOUSE=north
"""

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
    ("no text", "\x01\x02\n", r":\d: .*"),
)


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msp-config-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)

    def write(self, text=OWN, name="config.yaml", mode=0o644):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def environment(self, **more):
        """Nothing of this machine's own configuration, but for /etc."""
        home = os.path.join(self.folder, "home")
        os.makedirs(home, exist_ok=True)
        rest = {name: value for name, value in os.environ.items()
                if not name.startswith("MSP_") and name != "HOME"}
        return {**rest, "HOME": home, **more}

    def run_msp(self, *words, options=(), **variables):
        return msp("run", "--standalone", *LIMITS, *options, "--", *words,
                   env=self.environment(**variables))

    def output(self, *words, **keywords):
        result = self.run_msp(*words, **keywords)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def serve(self, *options, **variables):
        server = support.Server("--standalone", *LIMITS, *options, with_limits=False,
                                env=self.environment(**variables))
        self.addCleanup(server.close)
        server.initialize()
        return server

    def refused_serve(self, *options, **variables):
        """What it says; nothing of the client is answered."""
        result = msp("serve", "--standalone", *LIMITS, *options, input='{"jsonrpc":"2.0",',
                     env=self.environment(**variables))
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        return result.stderr


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
                                            r"cannot be read: No such file or directory\n$")

    def test_what_is_there_is_never_passed_over(self):
        path = self.write(OWN, "home/.config/msp/config.yaml")
        cases = [("directory", lambda: (os.unlink(path), os.mkdir(path)), "Is a directory"),
                 ("fifo", lambda: (os.rmdir(path), os.mkfifo(path)), "no regular file"),
                 ("circle", lambda: (os.unlink(path), os.symlink(path, path)), "symbolic links"),
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

    def said(self, program=None):
        if program:
            shutil.copy(program, os.path.join(self.programs, "msp-policy"))
        result = subprocess.run([os.path.join(self.programs, "msp"), "run", "--standalone", *LIMITS,
                                 "--config", self.write(), "--", "true"], capture_output=True,
                                text=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
                                env=self.environment())
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    def test_it_is_missing(self):
        self.assertIn("msp-policy cannot be opened: No such file", self.said())

    def test_it_writes_nothing(self):
        self.assertIn("msp-policy is not of this version", self.said("/usr/bin/true"))

    def test_it_fails_without_a_word(self):
        self.assertIn("ended with code 1 and said nothing", self.said("/usr/bin/false"))

    def test_it_does_not_end(self):
        self.assertIn("did not end within 10 s", self.said("/usr/bin/yes"))
        self.assertEqual([pid for pid in support.descendants(os.getpid())
                          if support.is_alive(pid)], [])


class Clients(WithFolder):
    def facts(self, server, **arguments):
        result = server.call("run_command", command="echo $WAREHOUSE", **arguments)
        return result["structuredContent"]["profile"], support.text_of(result).splitlines()[0]

    def test_a_client_gets_the_default_profile(self):
        path = self.write()
        for options, variables, expected in (
                (("--config", path), {}, ("analysis", "north")),
                ((), {"MSP_CONFIG": path}, ("analysis", "north")),
                (("--config", path), {"MSP_DEFAULT_PROFILE": "tight"}, ("tight", "north")),
                (("--config", path, "--default-profile", "analysis"),
                 {"MSP_DEFAULT_PROFILE": "tight"}, ("analysis", "north")),
                ((), {"MSP_DEFAULT_PROFILE": "strict"}, ("strict", ""))):
            with self.subTest(options=options, **variables):
                server = self.serve(*options, **variables)
                self.assertEqual(self.facts(server), expected)

    def test_a_client_may_name_another(self):
        server = self.serve("--config", self.write())
        self.assertEqual(self.facts(server, profile="strict")[0], "strict")
        self.assertEqual(self.facts(server, profile="tight"), ("tight", "north"))

    def test_the_policy_that_it_reads(self):
        path = self.write()
        server = self.serve("--config", path, MSP_DEFAULT_PROFILE="tight")
        uris = [entry["uri"] for entry in server.request("resources/list")["resources"]]
        self.assertLessEqual({"policy://default", "policy://strict", "policy://analysis",
                              "policy://tight"}, set(uris))
        text = server.request("resources/read", {"uri": "policy://tight"})["contents"][0]["text"]
        shown = msp("profile", "show", "tight", "--config", path, env=self.environment())
        self.assertEqual(text, shown.stdout)
        self.assertIn("WAREHOUSE=north", text)

    def test_a_default_profile_that_is_not_there(self):
        path = self.write()
        for options, variables in ((("--default-profile", "loose"), {}),
                                   ((), {"MSP_DEFAULT_PROFILE": "loose"})):
            said = self.refused_serve("--config", path, *options, **variables)
            self.assertIn("there is no profile 'loose' to be the default one; there are: ", said)
            self.assertIn("tight", said)
            self.assertNotIn("_helper", said)


class TheService(WithFolder):
    def setUp(self):
        super().setUp()
        leftovers.become_reaper()
        self.socket = os.path.join(self.folder, "s.sock")

    def service(self, *options, **variables):
        service = Service(self.socket, *options, env=self.environment(**variables))
        self.addCleanup(service.end)
        return service

    def facts(self, *options, **variables):
        result = msp("run", f"--socket={self.socket}", *options, "--json", "--", "sh", "-c",
                     "echo $WAREHOUSE", env=self.environment(**variables))
        self.assertEqual(result.returncode, 0, result.stderr)
        value = json.loads(result.stdout)
        return value["profile"], value["stdout"], result.stderr

    def test_its_configuration_is_its_clients(self):
        self.service("--config", self.write())
        self.assertEqual(self.facts(FALLBACK), ("analysis", "north\n", ""))
        self.assertEqual(self.facts(FALLBACK, "--profile", "strict")[0], "strict")
        self.assertEqual(self.facts(FALLBACK, MSP_DEFAULT_PROFILE="tight")[0], "tight")
        server = support.Server(f"--socket={self.socket}", FALLBACK, with_limits=False,
                                env=self.environment())
        self.addCleanup(server.close)
        server.initialize()
        result = server.call("run_command", command="true")
        self.assertEqual(result["structuredContent"]["profile"], "analysis")
        self.assertEqual(support.descendants(server.process.pid), [])

    def test_who_names_a_configuration_gets_a_supervisor(self):
        service = self.service("--config", self.write())
        started = service.status()["executions"]["started"]
        other = self.write("default_profile: strict\n", "other.yaml")
        self.assertEqual(self.facts(FALLBACK, "--config", other)[0], "strict")
        self.assertEqual(self.facts(FALLBACK, MSP_CONFIG=other)[0], "strict")
        for options, variables in ((("--config", other), {}), ((), {"MSP_CONFIG": other}),
                                   ((), {"MSP_DEFAULT_PROFILE": "strict"})):
            server = support.Server(f"--socket={self.socket}", FALLBACK, *options,
                                    with_limits=False, env=self.environment(**variables))
            self.addCleanup(server.close)
            server.initialize()
            result = server.call("run_command", command="true")
            self.assertEqual(result["structuredContent"]["profile"], "strict")
        self.assertEqual(service.status()["executions"]["started"], started)

    def test_limits_that_the_configuration_accepts_are_accepted_of_the_service(self):
        self.write("limits: fallback\n", "home/.config/msp/config.yaml")
        service = self.service()
        self.assertEqual(self.facts(), ("default", "\n", ""), "and nobody said --limits")
        self.assertEqual(service.status()["executions"]["started"], 1)
        server = support.Server(f"--socket={self.socket}", with_limits=False,
                                env=self.environment())
        self.addCleanup(server.close)
        server.initialize()
        server.call("run_command", command="true")
        self.assertEqual(service.status()["executions"]["started"], 2)

    def test_a_wrong_configuration_does_not_touch_one_that_runs(self):
        service = self.service("--config", self.write())
        self.write("nonsense: 1\n", "home/.config/msp/config.yaml")
        if service.status()["limits"] == "cgroup":
            self.assertEqual(self.facts(FALLBACK)[0], "analysis")
        result = msp("serve", "--service", f"--socket={self.socket}2", FALLBACK,
                     env=self.environment())
        self.assertEqual(result.returncode, 78)
        self.assertRegex(result.stderr, r"^msp: serve: .*config\.yaml:1: .*nonsense.*\n$")
        self.assertFalse(os.path.exists(self.socket + "2"))


class Commands(WithFolder):
    def command(self, *words, **variables):
        return msp(*words, env=self.environment(**variables))

    def policy(self, *words):
        return subprocess.run([os.path.join(support.BIN, "msp-policy"), *words], text=True,
                              capture_output=True, check=False, timeout=SECONDS)

    def test_the_answers_are_those_of_msp_policy(self):
        path = self.write()
        for words in (("profile", "list"), ("profile", "show", "analysis"),
                      ("profile", "diff", "default", "tight"), ("policy", "seccomp", "tight")):
            with self.subTest(words=words):
                expected = self.policy(words[1], "--config", path, *words[2:])
                self.assertEqual(expected.returncode, 0, expected.stderr)
                self.assertTrue(expected.stdout)
                for given in (self.command(*words, "--config", path),
                              self.command(words[0], "--config", path, *words[1:]),
                              self.command(*words, MSP_CONFIG=path)):
                    self.assertEqual((given.returncode, given.stdout), (0, expected.stdout))
        self.assertEqual(self.command("policy", "groups").stdout, self.policy("groups").stdout)
        built_in = self.command("profile", "show", "strict")
        self.assertEqual(built_in.stdout, self.policy("show", "strict").stdout)

    def test_explain(self):
        path = self.write()
        for name in ("default", "analysis"):
            given = self.command("policy", "explain", name, "write /usr/bin/x", "--config", path)
            self.assertEqual(given.returncode, 0, given.stderr)
            self.assertRegex(given.stdout, r"\Arefused: write /usr/bin/x: ")
            apart = self.command("policy", "explain", "--config", path, name, "write",
                                 "/usr/bin/x")
            self.assertEqual(apart.stdout, given.stdout)

    def test_the_list_says_which_file_is_in_force(self):
        path = self.write()
        self.assertEqual(self.command("profile", "list", "--config", path).stderr,
                         f"msp: configuration: {path}\n")
        if not os.path.exists("/etc/msp/config.yaml"):
            listed = self.command("profile", "list")
            self.assertEqual(listed.stderr, "msp: configuration: built-in\n")
            self.assertRegex(listed.stdout, r"(?m)^default +\S")

    def test_check(self):
        path = self.write()
        for words in (("profile", "check", path), ("profile", "check", "--config", path)):
            checked = self.command(*words)
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertIn(path, checked.stdout)
        checked = self.command("profile", "check", MSP_CONFIG=path)
        self.assertIn(path, checked.stdout)
        if not os.path.exists("/etc/msp/config.yaml"):
            checked = self.command("profile", "check")
            self.assertEqual((checked.returncode, checked.stderr),
                             (0, "msp: configuration: built-in\n"))

    def test_an_answer_that_nobody_reads(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = msp("profile", "show", "default", stdout=full, env=self.environment())
        self.assertEqual(result.returncode, 70, result.stderr)

    def test_wrong_uses(self):
        path = self.write()
        for words, said in (
                (("profile",), "it must be said what to do: list | show NAME"),
                (("profile", "lst"), "(did you mean 'list'?)"),
                (("profile", "explain"), "'explain' is none of list, show, check and diff"),
                (("profile", "list", "default"), "list takes no name"),
                (("profile", "show"), "show NAME"),
                (("profile", "show", "a", "b"), "show NAME"),
                (("profile", "diff", "default"), "diff NAME NAME"),
                (("profile", "check", path, "--config", path), "or none of the two"),
                (("profile", "--configg", path, "list"), "(did you mean '--config'?)"),
                (("profile", "--config="), "'' is refused"),
                (("policy", "grups"), "(did you mean 'groups'?)"),
                (("policy", "groups", "--config", path), "no --config"),
                (("policy", "seccomp"), "seccomp NAME"),
                (("policy", "explain", "default"), "explain NAME"),
                (("policy", *"abcdefghi"), "one word too many"),
                (("polcy",), "(did you mean 'policy'?)")):
            with self.subTest(words=words):
                result = self.command(*words)
                self.assertEqual((result.returncode, result.stdout), (64, ""))
                self.assertIn(said, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)
        result = self.command("profile", "show", "nobody")
        self.assertEqual(result.returncode, 64)
        self.assertIn("nobody", result.stderr)

    def doctor(self, *options, **variables):
        result = self.command("doctor", "--json", *options, **variables)
        self.assertIn(result.returncode, (0, 78), result.stderr)
        value = json.loads(result.stdout)
        return {probe["name"]: probe for probe in value["probes"]}, value

    def test_the_doctor_looks_at_it(self):
        path = self.write(OWN + "limits: fallback\n")
        probes, value = self.doctor("--config", path)
        self.assertEqual(probes["configuration"]["status"], "ok")
        self.assertIn(path, probes["configuration"]["tried"])
        self.assertIn("'analysis'; there are: default strict", probes["default-profile"]["happened"])
        self.assertIn("analysis", probes["languages"]["tried"])
        self.assertEqual(value["ok"], value["ok_with_limits_fallback"])
        probes, value = self.doctor("--config", path, MSP_DEFAULT_PROFILE="loose")
        self.assertEqual(probes["default-profile"]["status"], "missing")
        self.assertFalse(value["ok_with_limits_fallback"])
        probes, value = self.doctor("--config", self.write("nonsense: 1\n"))
        self.assertEqual(probes["configuration"]["status"], "missing")
        self.assertRegex(probes["configuration"]["happened"], r"config\.yaml:1: .*nonsense")
        self.assertEqual(probes["default-profile"]["status"], "skipped")
        self.assertFalse(value["ok_with_limits_fallback"])


if __name__ == "__main__":
    unittest.main()
