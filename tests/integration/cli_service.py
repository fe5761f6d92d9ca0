#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user's service: clients handed over to it, at once and one after the other, and each process
of it killed. What one loses, no other notices."""
import json
import os
import signal
import subprocess
import time
import unittest

import leftovers
import support
from cli_support import MSP, SECONDS, msp
from service import LIMITS, Folder, end_of

NAP = "echo ready; sleep 300"  # long enough that no test ends it by waiting


def setUpModule():
    leftovers.become_reaper()


def start_nap(client):
    """A command that runs until somebody ends it; the request's id."""
    return client.post("tools/call", {"name": "run_command", "arguments": {"command": NAP}})


class HandOver(Folder):
    def test_a_client_is_the_services(self):
        service = self.service()
        client = self.client()
        self.assertEqual(support.descendants(client.process.pid), [], "nothing of its own")
        self.assertEqual(len(service.find("msp-broker")), 1)
        result = client.call("run_command", command="echo $((6 * 7))")
        self.assertTrue(support.text_of(result).startswith("42\n"), result)
        self.assertEqual(client.close(SECONDS), 0)
        self.assertEqual(client.error_text, b"")
        self.assertTrue(support.wait_until(lambda: not service.find("msp-broker")))
        self.assertIsNone(service.process.poll())

    def test_what_the_client_said_before_is_not_lost(self):
        """All of the input is in the pipe, and its end too, before msp runs."""
        self.service()
        lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                      "protocolVersion": support.PROTOCOL, "capabilities": {},
                      "clientInfo": {"name": "tests", "version": "1"}}},
                 {"jsonrpc": "2.0", "method": "notifications/initialized"},
                 {"jsonrpc": "2.0", "id": 2, "method": "ping"}]
        result = msp("serve", LIMITS, "--socket=" + self.socket,
                     input="".join(json.dumps(line) + "\n" for line in lines))
        self.assertEqual(result.returncode, 0, result.stderr)
        answers = [json.loads(line)["id"] for line in result.stdout.splitlines()]
        self.assertEqual(answers, [1, 2])

    def test_the_end_does_not_wait_for_msp(self):
        """The client's streams are the broker's alone: msp does not even have to run."""
        self.service()
        client = self.client()
        client.process.send_signal(signal.SIGSTOP)
        self.addCleanup(client.process.send_signal, signal.SIGCONT)
        client.call("run_command", command="true")
        client.process.stdin.close()
        with self.assertRaises(support.Gone):
            client.receive_line(10)
        self.assertIsNone(client.process.poll())
        client.process.send_signal(signal.SIGCONT)
        self.assertEqual(client.process.wait(SECONDS), 0)

    def test_two_clients(self):
        service = self.service()
        first, second = self.client(), self.client()
        waiting = start_nap(first)
        self.assertTrue(support.wait_until(lambda: service.find("sleep\x00300"), SECONDS))
        self.assertIn("two", support.text_of(second.call("run_command", command="echo two")))
        self.assertEqual(second.close(SECONDS), 0)
        self.assertEqual(service.status()["clients"], 1)
        first.notify("notifications/cancelled", {"requestId": waiting})
        self.assertIn("one", support.text_of(first.call("run_command", command="echo one")))

    def test_thirty_two_clients_at_once(self):
        service = self.service()
        clients = [self.client() for _ in range(32)]
        self.assertEqual(service.status()["clients"], 32)
        requests = [client.post("tools/call", {"name": "run_command", "arguments": {
                        "command": f"echo client {number}"}})
                    for number, client in enumerate(clients)]
        for number, (client, request) in enumerate(zip(clients, requests)):
            text = support.text_of(client.answer(request, SECONDS))
            self.assertTrue(text.startswith(f"client {number}\n"), text)
        status = service.status()
        self.assertEqual(status["executions"]["started"], 32)
        self.assertEqual([client.close(SECONDS) for client in clients], [0] * 32)
        self.assertTrue(support.wait_until(lambda: service.status()["clients"] == 0, SECONDS))

    def test_more_clients_than_the_service_has_room_for(self):
        service = self.service()
        most = service.status()["clients_max"]
        clients = [self.client() for _ in range(most)]
        late = support.Server(LIMITS, "--socket=" + self.socket, with_limits=False)
        code, error = end_of(late)
        self.assertEqual(code, 75, error)
        self.assertRegex(error, rf"^msp: serve: the service already serves {most} clients.*"
                                r"--standalone\n$")
        self.assertEqual(msp("status", "--socket=" + self.socket).returncode, 75)
        clients[0].close(SECONDS)
        self.assertTrue(support.wait_until(
            lambda: service.status()["state"] == "running", SECONDS))
        self.client().call("run_command", command="true")

    def test_standalone_does_not_ask(self):
        service = self.service()
        with support.Server(LIMITS, "--standalone", with_limits=False) as client:
            client.initialize()
            self.assertEqual(service.status()["clients"], 0)
            self.assertNotEqual(support.descendants(client.process.pid), [])

    def test_a_budget_of_its_own_is_a_supervisor_of_its_own(self):
        service = self.service()
        with support.Server(LIMITS, "--socket=" + self.socket, "--max-executions=1",
                            with_limits=False) as client:
            client.initialize()
            self.assertEqual(service.status()["clients"], 0)
            client.call("run_command", command="true")

    def test_weaker_limits_than_accepted(self):
        service = self.service()
        if service.status()["posture"]["limits"] != "fallback":
            self.skipTest("the service has cgroups here")
        result = msp("serve", "--socket=" + self.socket)
        self.assertRegex(result.stderr, r"^msp: serve: the service runs without cgroups, and "
                                        r"--limits=fallback was not given here; this client gets a "
                                        r"supervisor of its own\n")
        self.assertEqual(service.status()["executions"]["started"], 0)


class Killed(Folder):
    """kill -9 of each process while two clients have something running."""

    def setUp(self):
        super().setUp()
        self.one = self.service()
        self.victim, self.other = self.client(), self.client()
        self.request = start_nap(self.victim)
        self.sleepers = []
        self.assertTrue(support.wait_until(self.find_sleepers, SECONDS))

    def find_sleepers(self):
        self.sleepers = self.one.find("sleep\x00300")
        return self.sleepers

    def assert_gone(self, pids):
        self.assertTrue(support.wait_until(lambda: not any(map(support.is_alive, pids)), SECONDS))

    def assert_other_works(self):
        text = support.text_of(self.other.call("run_command", command="echo still"))
        self.assertTrue(text.startswith("still\n"), text)
        self.assertTrue(support.wait_until(lambda: self.one.status()["clients"] == 1, SECONDS))

    def test_the_clients_msp(self):
        brokers = self.one.find("msp-broker")
        self.assertEqual(len(brokers), 2)
        self.victim.process.kill()
        self.assertEqual(end_of(self.victim)[0], -signal.SIGKILL)
        self.assert_gone(self.sleepers)
        self.assert_other_works()
        self.assertEqual(len(self.one.find("msp-broker")), 1)

    def test_signals_to_the_clients_msp(self):
        self.victim.process.send_signal(signal.SIGTERM)
        self.assertEqual(end_of(self.victim)[0], -signal.SIGTERM)
        self.assert_gone(self.sleepers)
        for number in (signal.SIGINT, signal.SIGHUP):
            client = self.client()
            start_nap(client)
            self.assertTrue(support.wait_until(self.find_sleepers, SECONDS))
            client.process.send_signal(number)
            self.assertEqual(end_of(client)[0], -number)
            self.assert_gone(self.sleepers)
        self.assert_other_works()

    def test_the_broker(self):
        """Whose broker it is shows itself: its client sees the end."""
        broker = self.one.find("msp-broker")[0]
        os.kill(broker, signal.SIGKILL)
        self.assertTrue(support.wait_until(
            lambda: self.victim.process.poll() is not None
            or self.other.process.poll() is not None, SECONDS))
        is_victim = self.victim.process.poll() is not None
        code, _ = end_of(self.victim if is_victim else self.other)
        self.assertIn(code, (0, 70))
        if is_victim:
            self.assert_gone(self.sleepers)
            self.assert_other_works()
        else:
            self.assertTrue(all(map(support.is_alive, self.sleepers)))

    def test_the_service(self):
        everything = support.descendants(self.one.process.pid)
        self.one.process.kill()
        for client in (self.victim, self.other):
            code, error = end_of(client)
            self.assertEqual(code, 75, error)
            self.assertIn("the service ended without a word", error)
        self.assert_gone(everything)
        self.assertTrue(os.path.exists(self.socket), "a killed service leaves it")
        self.service()  # and the next one replaces it
        text = support.text_of(self.client().call("run_command", command="echo again"))
        self.assertTrue(text.startswith("again\n"), text)

    def test_the_factory(self):
        """Everything that it cloned ends with it, brokers too; the service may see those first."""
        everything = support.descendants(self.one.process.pid)
        os.kill(self.one.find("msp-child-init")[0], signal.SIGKILL)
        self.assertEqual(self.one.process.wait(SECONDS), 70)
        for client in (self.victim, self.other):
            self.assertIn(end_of(client)[0], (0, 70, 75))
        self.assert_gone(everything)


class Stopped(Folder):
    def test_clients_hear_what_became_of_their_commands(self):
        service = self.service()
        clients = [self.client() for _ in range(4)]
        requests = [start_nap(client) for client in clients]
        process = self.start_run("sleep", "300")
        self.assertTrue(support.wait_until(
            lambda: service.status()["executions"]["now"] == 5, SECONDS))
        since = time.monotonic()
        service.process.terminate()
        for client, request in zip(clients, requests):
            result = client.answer(request, SECONDS)
            self.assertEqual(result["_meta"]["msp/execution"]["verdict"], "cancelled", result)
            code, error = end_of(client)
            self.assertEqual(code, 75, error)
            self.assertRegex(error, r"(?m)^msp: serve: the service stops, and what ran for this "
                                    r"client was ended: start this server again$")
        _, error = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 75, error)
        self.assertIn("the service stops", error)
        self.assertEqual(service.end(), 128 + signal.SIGTERM)
        self.assertLess(time.monotonic() - since, SECONDS)

    def test_a_restart(self):
        for number in range(3):
            service = self.service()
            client = self.client()
            text = support.text_of(client.call("run_command", command=f"echo {number}"))
            self.assertTrue(text.startswith(f"{number}\n"), text)
            service.end()
            self.assertEqual(end_of(client)[0], 75)

    def test_one_that_is_refused_leaves_nobody_listening(self):
        """The next one, begun at once, would take the rest of it for a service."""
        nowhere = {**os.environ, "MSP_STATE_DIR": "/usr/none"}
        often = ('for i in $(seq 40); do "$0" "$@" </dev/null 2>/dev/null; code=$?; '
                 '[ $code = 78 ] || exit $code; done; exit 78')
        shells = [subprocess.Popen(["/bin/sh", "-c", often, MSP, "serve", "--service", LIMITS,
                                    "--socket=" + self.socket + place], env=nowhere)
                  for place in "ab"]  # some have to wait for a processor
        self.assertEqual([shell.wait(SECONDS) for shell in shells], [78, 78])


class Run(Folder):
    def test_it_goes_through_the_service(self):
        service = self.service()
        result = self.run_msp("sh", "-c", "cat; echo error >&2; exit 5", input="hello\n")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (5, "hello\n", "error\n"))
        self.assertEqual(service.status()["executions"]["started"], 1)
        result = self.run_msp("echo", "x", options=["--json"])
        self.assertEqual(json.loads(result.stdout)["stdout"], "x\n")
        self.assertEqual(service.status()["executions"]["started"], 2)

    def test_weaker_limits_than_accepted(self):
        service = self.service()
        if service.status()["posture"]["limits"] != "fallback":
            self.skipTest("the service has cgroups here")
        result = msp("run", "--socket=" + self.socket, "--", "true")
        self.assertRegex(result.stderr, r"^msp: run: the service runs without cgroups, and "
                                        r"--limits=fallback was not given here; this command gets a "
                                        r"supervisor of its own\n")
        self.assertEqual(service.status()["executions"]["started"], 0)

    def test_the_longest_command_line(self):
        """One message over a socket that is no pair of ours."""
        self.service()
        word = "x" * 98000
        result = self.run_msp("sh", "-c", "echo ${#1} ${#BIG}", "sh", word,
                              options=["--env=BIG=" + "y" * 24000])
        self.assertEqual((result.returncode, result.stdout), (0, "98000 24000\n"), result.stderr)

    def test_what_needs_its_own_supervisor_gets_it(self):
        service = self.service()
        shown = os.path.join(self.folder, "shown")
        with open(shown, "w", encoding="ascii") as file:
            file.write("text\n")
        os.chmod(self.folder, 0o755)
        result = self.run_msp("cat", "/shown", options=["--ro=" + shown + ":/shown"])
        self.assertEqual((result.returncode, result.stdout), (0, "text\n"), result.stderr)
        self.assertEqual(msp("run", LIMITS, "--standalone", "--", "true").returncode, 0)
        self.assertEqual(service.status()["executions"]["started"], 0)

    def test_a_terminal(self):
        """The sandbox's own, relayed as without a service."""
        service = self.service()
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            [MSP, "run", LIMITS, "--socket=" + self.socket, "--", "sh", "-c",
             "tty; read line; echo got $line"], stdin=theirs, stdout=theirs,
            stderr=subprocess.PIPE, start_new_session=True)
        os.close(theirs)
        self.addCleanup(os.close, ours)
        seen = b""
        while b"/dev/pts/" not in seen:
            seen += os.read(ours, 4096)
        os.write(ours, b"word\r")
        while b"got word" not in seen:
            seen += os.read(ours, 4096)
        self.assertEqual(process.wait(SECONDS), 0)
        self.assertEqual(process.communicate()[1], b"")
        self.assertEqual(service.status()["executions"]["started"], 1)

    def test_signals(self):
        service = self.service()
        process = self.start_run("sleep", "300")
        self.assertTrue(support.wait_until(lambda: service.find("sleep\x00300"), SECONDS))
        sleepers = service.find("sleep\x00300")
        process.terminate()
        self.assertEqual(process.wait(SECONDS), 143)
        self.assertTrue(support.wait_until(
            lambda: not any(map(support.is_alive, sleepers)), SECONDS))
        process = self.start_run("sleep", "300")
        self.assertTrue(support.wait_until(lambda: service.find("sleep\x00300"), SECONDS))
        process.kill()
        self.assertTrue(support.wait_until(lambda: not service.find("sleep\x00300"), SECONDS))

    def test_the_service_is_killed(self):
        service = self.service()
        process = self.start_run("sleep", "300")
        self.assertTrue(support.wait_until(lambda: service.find("sleep\x00300"), SECONDS))
        service.process.kill()
        _, error = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 75)
        self.assertEqual(error, "msp: run: the service ended before the command did; everything "
                                "it ran is gone: try again\n")


class Budget(Folder):
    def test_refused_with_reason_and_time_while_the_others_go_on(self):
        service = self.service("--max-executions=2")
        client = self.client()
        first = start_nap(client)
        second = self.start_run("sh", "-c", "sleep 3; echo done", options=["--timeout=50"])
        self.assertTrue(support.wait_until(
            lambda: service.status()["executions"]["now"] == 2, SECONDS))
        result = self.run_msp("true")
        self.assertEqual(result.returncode, 75, result.stderr)
        self.assertRegex(result.stderr, r"^msp: run: 2 of 2 executions run already: wait until one "
                                        r"ends \(in at most [1-5]?\d s\)\n$")
        refused = client.call("run_command", command="true")
        self.assertTrue(refused["isError"], refused)
        self.assertIn("2 of 2", support.text_of(refused))
        status = service.status()
        self.assertEqual(status["executions"]["now"], 2)
        self.assertEqual(status["executions"]["refused"], 2)
        self.assertEqual(status["executions"]["started"], 2)
        self.assertEqual(second.communicate(timeout=SECONDS)[0], "done\n")
        self.assertEqual(second.returncode, 0)
        client.notify("notifications/cancelled", {"requestId": first})
        self.assertTrue(support.wait_until(
            lambda: service.status()["executions"]["now"] == 0, SECONDS))
        self.assertEqual(self.run_msp("echo", "room").stdout, "room\n")

    def test_memory(self):
        """Without cgroups what the profile allows is reserved, so one is too many."""
        service = self.service("--max-memory=32M")
        if service.status()["posture"]["limits"] != "fallback":
            self.skipTest("the service has cgroups here: memory is what is really used")
        self.assertTrue(support.wait_until(  # the probe of a start takes some
            lambda: service.status()["memory"] == {"bytes": 0, "max_bytes": 32 << 20}, SECONDS))
        result = self.run_msp("true")
        self.assertEqual(result.returncode, 75, result.stderr)
        self.assertRegex(result.stderr, r"^msp: run: 0 of 32 MiB ")

    def test_no_service_has_the_same_budget(self):
        with support.Server(LIMITS, "--standalone", "--max-executions=1",
                            with_limits=False) as client:
            client.initialize()
            request = start_nap(client)
            self.assertTrue(support.wait_until(
                lambda: client.call("run_command", command="true")["isError"], SECONDS))
            client.notify("notifications/cancelled", {"requestId": request})


if __name__ == "__main__":
    unittest.main()
