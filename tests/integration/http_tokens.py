#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The token file of a server that runs: tokens come and go, and with them sessions and streams."""
import os
import unittest

import support
from http_support import (HttpServer, LegacyClient, ModernClient, new_token, tick, token_row,
                          wait_for_text)

# What the broker promises, and something for a loaded machine.
REVOKED_SECONDS = 5 + 5


class Tokens(unittest.TestCase):
    def setUp(self):
        self.server = HttpServer(tokens=("alice", "bob"))
        self.addCleanup(self.server.stop)

    def status(self, name=None, token=None):
        with ModernClient(self.server, name) as client:
            if token:
                client.headers["Authorization"] = f"Bearer {token}"
            return client.say(client.message("server/discover")).status

    def client(self, name):
        client = LegacyClient(self.server, name)
        self.addCleanup(client.close)
        return client

    def write(self, text):
        """The file's content, in place."""
        with open(self.server.token_file, "r+", encoding="ascii") as file:
            file.truncate(0)
            file.write(text)
        tick()

    def test_a_new_one_counts_at_once(self):
        token = new_token()
        self.assertEqual(self.status(token=token), 401)
        with open(self.server.token_file, "a", encoding="ascii") as file:
            file.write(token_row("carol", token))
        self.assertEqual(self.status(token=token), 200)

    def test_a_revoked_one_counts_no_longer(self):
        self.assertEqual(self.status("alice"), 200)
        self.server.write_tokens({"bob": self.server.tokens["bob"]})
        self.assertEqual(self.status("alice"), 401)
        self.assertEqual(self.status("bob"), 200)

    def test_a_change_within_one_tick_of_the_clock_is_seen(self):
        for _ in range(50):
            token = new_token()
            row = token_row("carol", token)
            self.write(row)
            self.assertEqual(self.status(token=token), 200)
            with open(self.server.token_file, "r+", encoding="ascii") as file:
                file.write("#" * (len(row) - 1) + "\n")
            self.assertEqual(self.status(token=token), 401)

    def test_sessions_and_streams_end_with_it(self):
        alice, bob = self.client("alice"), self.client("bob")
        streams = [client.stream("GET") for client in (alice, bob)]
        call = alice.stream("POST", alice.call("run_command", command="sleep 60; echo mark-a"))
        modern = ModernClient(self.server, "alice")
        self.addCleanup(modern.close)
        other = modern.open(modern.call("run_command", command="sleep 60; echo mark-m"))
        for stream in streams:
            stream.event()
        self.assertTrue(self.server.is_running("mark-a"))
        self.assertTrue(self.server.is_running("mark-m"))
        self.server.write_tokens({"bob": self.server.tokens["bob"]})
        self.assertTrue(support.wait_until(lambda: not self.server.is_running("mark-a") and
                                           not self.server.is_running("mark-m"), REVOKED_SECONDS))
        self.assertEqual(bob.post(bob.message("ping")).status, 200)
        self.assertEqual(bob.request("GET").status, 409, "bob's stream is open")
        self.server.write_tokens({"bob": self.server.tokens["bob"],
                                  "alice": self.server.tokens["alice"]})
        fresh = self.client("alice")
        fresh.headers["Mcp-Session-Id"] = alice.headers["Mcp-Session-Id"]
        self.assertEqual(fresh.post(fresh.message("ping")).status, 404, "the session is gone")
        for stream in (call, other, *streams):
            stream.close()

    def test_a_second_token_of_a_name_is_the_same_client(self):
        second = new_token()
        with open(self.server.token_file, "a", encoding="ascii") as file:
            file.write(token_row("alice", second))
        client = self.client("alice")
        ping = client.message("ping")
        self.assertEqual(client.post(ping, {"Authorization": f"Bearer {second}"}).status, 200)
        bob = {"Authorization": f"Bearer {self.server.tokens['bob']}"}
        self.assertEqual(client.post(ping, bob).status, 404)

    def test_a_list_says_whose_it_is_and_who_sees_it(self):
        clients = {name: self.client(name) for name in ("alice", "bob")}

        def call(name, tool, **arguments):
            answer = clients[name].post(clients[name].call(tool, **arguments))
            return answer.messages()[-1]["result"]

        made = call("alice", "create_sandbox")["structuredContent"]["id"]
        for name in clients:
            listed = call(name, "list_sandboxes")["structuredContent"]
            self.assertEqual(made in [one["id"] for one in listed["sandboxes"]], name == "alice")
            self.assertEqual((listed["owner"], listed["shared_with"]),
                             (name, "every client with this name's token"))
        self.assertFalse(call("alice", "destroy_sandbox", sandbox=made)["isError"])

    def test_lines_that_are_no_rows_admit_nobody(self):
        token = new_token()
        row = token_row("carol", token)
        digest = row.split()[1]
        for line in (row.rstrip("\n"), row.replace(" ", "  "), " " + row, row.replace("\n", " \n"),
                     row.replace("\n", "\r\n"), digest + "\n", f"carol {digest.upper()}\n",
                     f"ca/rol {digest}\n", f"{'c' * 64} {digest}\n", f"carol {digest[:-1]}\n",
                     f"carol {digest}0\n", f"carol\t{digest}\n", "\0" + row, "#" + row):
            with self.subTest(line=line):
                self.write("# comment\n\n" + line)
                self.assertEqual(self.status(token=token), 401)
        self.write("nonsense\n" + row)
        self.assertEqual(self.status(token=token), 200, "a bad line does not spoil the others")
        self.assertTrue(wait_for_text(self.server, b"the line is ignored"))
        self.assertLess(self.server.stderr.count(b"the line is ignored"), 20)

    def test_an_empty_file_admits_nobody(self):
        self.write("")
        self.assertEqual(self.status("alice"), 401)

    def test_too_much_of_a_file_admits_nobody(self):
        self.write(token_row("alice", self.server.tokens["alice"]) + "#" * (64 << 10))
        self.assertEqual(self.status("alice"), 401)
        self.write("".join(token_row(f"n{i}", new_token()) for i in range(256)) +
                   token_row("alice", self.server.tokens["alice"]))
        self.assertEqual(self.status("alice"), 401, "the 257th")

    def test_a_replaced_file_admits_nobody(self):
        os.rename(self.server.token_file, self.server.token_file + ".old")
        os.unlink(self.server.token_file + ".old")
        self.assertEqual(self.status("alice"), 401)
        self.assertTrue(wait_for_text(self.server, b"was replaced"))


if __name__ == "__main__":
    unittest.main()
