#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operator's configuration as clients and the service have it, and the commands that show it."""
import json
import os
import re
import signal
import subprocess
import unittest

import leftovers
import support
from cli_support import SECONDS, msp
from config_support import OWN, WithFolder, profile_of
from service import Service

FALLBACK = "--limits=fallback"


class Clients(WithFolder):
    def facts(self, server, **arguments):
        result = server.call("run_command", command="echo $WAREHOUSE", **arguments)
        return profile_of(result), support.text_of(result).splitlines()[0]

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
                profile, line = self.facts(server)
                self.assertEqual(profile, expected[0])
                self.assertEqual(line == "north", expected[1] == "north", line)

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
            self.assertIn("there is no profile 'loose'; there are: ", said)
            self.assertIn("tight", said)
            self.assertNotIn("_helper", said)


class WithService(WithFolder):
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


class TheService(WithService):
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
        self.assertEqual(profile_of(result), "analysis")
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
            self.assertEqual(profile_of(result), "strict")
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
        self.assertEqual(self.facts(FALLBACK)[0], "analysis")
        result = msp("serve", "--service", f"--socket={self.socket}2", FALLBACK,
                     env=self.environment())
        self.assertEqual(result.returncode, 78)
        self.assertRegex(result.stderr, r"^msp: serve: .*config\.yaml:1: .*nonsense.*\n$")
        self.assertFalse(os.path.exists(self.socket + "2"))


class Reload(WithService):
    """SIGHUP: the file is read again, and holds when all of it is right."""

    def setUp(self):
        super().setUp()
        self.path = self.write(OWN)
        self.running = self.service("--config", self.path)

    def reload(self, text):
        """Write it and tell the service; what the service then has in force."""
        if text is None:
            os.unlink(self.path)
        else:
            self.write(text)
        before = self.running.status()["policy"]["generation"]
        os.kill(self.running.process.pid, signal.SIGHUP)

        def is_answered():
            now = self.running.status()["policy"]
            return now["generation"] > before or now["reload_failed"]
        self.assertTrue(support.wait_until(is_answered, SECONDS))
        return self.running.status()["policy"]

    def recover(self, text):
        """The same after one that failed."""
        before = self.running.status()["policy"]["generation"]
        self.write(text)
        os.kill(self.running.process.pid, signal.SIGHUP)
        self.assertTrue(support.wait_until(
            lambda: self.running.status()["policy"]["generation"] > before, SECONDS))
        self.assertFalse(self.running.status()["policy"]["reload_failed"])

    def said(self):
        self.running.end()
        return self.running.error

    def test_the_next_execution_is_under_the_new_one(self):
        server = support.Server(f"--socket={self.socket}", FALLBACK, with_limits=False,
                                env=self.environment())
        self.addCleanup(server.close)
        server.initialize()
        self.assertEqual(profile_of(server.call("run_command", command="true")), "analysis")
        policy = self.reload(OWN.replace("north", "south").replace("default_profile: analysis",
                                                                   "default_profile: tight"))
        self.assertEqual(policy, {"generation": 2, "reload_failed": False})
        self.assertEqual(self.facts(FALLBACK), ("tight", "south\n", ""))
        result = server.call("run_command", command="echo $WAREHOUSE")
        self.assertEqual(profile_of(result), "tight")
        self.assertIn("south", support.text_of(result))

    def test_what_is_wrong_changes_nothing_and_is_said(self):
        mistakes = ("nonsense: 1\n", OWN.replace("analysis", "other", 1), None)
        for generation, text in enumerate(mistakes, 1):
            with self.subTest(text):
                self.assertEqual(self.reload(text),
                                 {"generation": generation, "reload_failed": True})
                self.assertEqual(self.facts(FALLBACK), ("analysis", "north\n", ""))
                self.recover(OWN)
        self.recover(OWN.replace("north", "east"))
        self.assertEqual(self.facts(FALLBACK)[1], "east\n")
        said = self.said()
        self.assertRegex(said, r"stays as it is \(generation 1\): \S+config\.yaml:1: .*nonsense")
        self.assertRegex(said, r"stays as it is \(generation 3\): .*cannot be read: No such file")

    def test_one_that_others_can_write(self):
        self.write(OWN, mode=0o666)
        os.kill(self.running.process.pid, signal.SIGHUP)
        self.assertTrue(support.wait_until(
            lambda: self.running.status()["policy"]["reload_failed"], SECONDS))
        self.assertIn("chmod go-w", self.said())

    def test_other_files_of_the_host_are_shown(self):
        text = OWN + ("    files:\n"
                      f"      - {{at: /data, kind: bind, from: {self.folder}/data}}\n")
        ask = ("run", f"--socket={self.socket}", FALLBACK, "--", "ls", "-d", "/data")
        self.assertEqual(msp(*ask, env=self.environment()).returncode, 2)
        self.assertEqual(self.reload(text), {"generation": 1, "reload_failed": True})
        os.mkdir(os.path.join(self.folder, "data"))
        self.recover(text)
        protected = text.replace(self.folder + "/data", self.environment()["HOME"])
        self.assertEqual(self.reload(protected), {"generation": 2, "reload_failed": True})
        result = msp(*ask, env=self.environment())
        self.assertEqual((result.returncode, result.stdout), (0, "/data\n"), result.stderr)
        self.recover(OWN)
        self.assertEqual(msp(*ask, env=self.environment()).returncode, 2)
        said = self.said()
        self.assertRegex(said, r"generation 1\): \S+config\.yaml:\d+: .*data")
        self.assertRegex(said, r"generation 2\): \S+config\.yaml:\d+: .*home")


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
                self.assertIn(expected.returncode, (0, 1), expected.stderr)
                self.assertTrue(expected.stdout)
                for given in (self.command(*words, "--config", path),
                              self.command(words[0], "--config", path, *words[1:]),
                              self.command(*words, MSP_CONFIG=path)):
                    self.assertEqual((given.returncode, given.stdout),
                                     (expected.returncode, expected.stdout))
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

    def test_a_path_that_a_start_would_refuse(self):
        """Of a profile that is not used, which stops no other one; and is refused when named."""
        path = self.write("profiles:\n"
                          "  - {name: fine, extends: default}\n"
                          "  - {name: broken, extends: default,\n"
                          "     files: [{at: /data, kind: bind, from: /no/such/data}]}\n")
        problem = f"{path}:4: files: '/no/such/data' cannot be opened: No such file"
        checked = self.command("profile", "check", path)
        self.assertEqual((checked.returncode, checked.stdout), (78, ""))
        self.assertIn(problem, checked.stderr)
        options = (f"--config={path}",)
        for more in ((), ("--profile=fine",)):
            self.assertEqual(self.output("echo", "yes", options=options + more), "yes\n")
        refused = self.run_msp("echo", "yes", options=(*options, "--profile=broken"))
        self.assertEqual((refused.returncode, refused.stdout), (78, ""))
        self.assertIn(problem, refused.stderr)
        server = self.serve(*options)
        result = server.call("run_command", command="echo yes", profile="broken")
        self.assertTrue(result["isError"])
        self.assertIn("Nothing was run", support.text_of(result))
        self.assertIn("yes\n", support.text_of(server.call("run_command", command="echo yes")))
        server.close()
        self.assertIn(f"a profile cannot be used: {problem}", server.error_text.decode())
        of_default = self.write("default_profile: broken\nprofiles:\n"
                                "  - {name: broken, extends: default, files: [{at: /data, "
                                "kind: bind, from: /no/such/data}]}\n", "default.yaml")
        self.assertEqual(self.run_msp("true", options=(f"--config={of_default}",)).returncode, 78)

    def test_the_examples_of_the_documents(self):
        for name, pattern in (("README.md", r"```yaml\n(default_profile.*?)```"),
                              ("docs/man/msp-profile.1", r"(default_profile:.*?)\.Ed")):
            with open(os.path.join(support.ROOT, name), encoding="utf-8") as file:
                text = re.search(pattern, file.read(), re.S)[1]
            text = text.replace("/srv/data", "/usr/share")  # a path that is there
            with self.subTest(name):
                checked = self.command("profile", "check", self.write(text))
                self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_an_answer_that_nobody_reads(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = msp("profile", "show", "default", stdout=full, env=self.environment())
        self.assertEqual(result.returncode, 70, result.stderr)

    def test_wrong_uses(self):
        path = self.write()
        for words, said in (
                (("profile",), "the action is missing; expected list | show NAME"),
                (("profile", "lst"), "(did you mean 'list'?)"),
                (("profile", "explain"), "there is no action 'explain', only list, show, check "
                                         "and diff"),
                (("network", "approve"), "approve takes one host: approve HOST[:PORT]"),
                (("network", "open"), "there is no action 'open', only list, asked, approve, "
                                      "tighten and groups"),
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
                (("policy", *("word" for _ in range(300))), "one word too many"),
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
        self.assertIn("'analysis'; there are: default, strict", probes["default-profile"]["happened"])
        runtimes = {row["name"]: row for row in value["runtimes"]}
        self.assertEqual(runtimes["python"]["program"], os.path.realpath("/usr/bin/python3"))
        for row in value["runtimes"]:
            self.assertEqual(row["installed"], "program" in row)
            self.assertEqual(row["installed"], "install" not in row, "each has a command")
        self.assertIn("images", runtimes)
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
