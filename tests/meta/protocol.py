#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The message table against the code that handles it, and the hash that travels in hello."""
import hashlib
import os
import re
import unittest

import tree

ROW = re.compile(r'^IPC\((\w+),\s*(\w+),\s*(\w+),\s*(\w+),\s*"(\w*)"\)', re.M)
# Where the receiver of a role reads its messages. msp-cable stands in for the supervisor towards the
# other programs of the gateway.
RECEIVERS = {"SUPERVISOR": ["supervisor", "gateway/cable"], "FACTORY": ["child-init"], "INIT": ["child-init"],
             "FRONTEND": ["frontend", "cli", "launcher", "broker"], "LAUNCHER": ["cli", "launcher"], "LAYERS": ["layers", "layers/base", "layers/changes", "layers/apply"],
             "AUDIT": ["stewards/audit"], "STORE": ["stewards/store"], "GATEWAY": ["gateway/cable", "gateway/dial", "gateway/egress", "gateway/http"],
             "EGRESS": ["gateway/egress"], "DIAL": ["gateway/dial"], "HTTP": ["gateway/http"], "BRIDGE": ["gateway/bridge"]}


def rows():
    return ROW.findall(tree.read("common/ipc/ipc_messages.def"))


def mentions(folders, name):
    """Is the message's number used in the folders' sources? Type names may be made by a macro
    from a table row such as HANDLER(name, ...), or by one that sends a request."""
    pattern = re.compile(tree.names_message(name) + rf"|\b[A-Z_]+\(\s*{name}\s*[,)]")
    return any(pattern.search(tree.read(path)) for path in tree.sources(*folders))


class Table(unittest.TestCase):
    def test_rows_are_found(self):
        self.assertGreater(len(rows()), 20)

    def test_each_message_is_handled_where_it_arrives(self):
        for name, _, receiver, _, _ in rows():
            with self.subTest(message=name, receiver=receiver):
                self.assertIn(receiver, RECEIVERS)
                self.assertTrue(mentions(RECEIVERS[receiver], name))

    def test_each_message_is_sent_by_its_sender(self):
        folders = dict(RECEIVERS, WORKLOAD=["child-init"])
        for name, sender, _, _, _ in rows():
            with self.subTest(message=name, sender=sender):
                self.assertTrue(mentions(folders[sender], name))


class SchemaHash(unittest.TestCase):
    """A change to any of its files changes the hash without anybody raising a version."""

    FILES = re.search(r"set\(SCHEMA_FILES([^)]*)\)", tree.read("common/CMakeLists.txt")
                      ).group(1).split()

    def test_it_covers_every_header_of_messages(self):
        for path in tree.sources("common"):
            if path.startswith("common/ipc/ipc") and not path.endswith("/ipc_codec.c"):
                with self.subTest(path=path):
                    self.assertIn(path.removeprefix("common/"), self.FILES)

    def test_hash_is_of_the_definition(self):
        path = os.path.join(tree.BUILD, "common", "ipc_schema_hash.c")
        with open(path, encoding="utf-8") as file:
            built = bytes.fromhex("".join(re.findall(r"0x(\w\w)", file.read())))
        text = "".join(tree.read("common/" + name) for name in self.FILES)
        self.assertEqual(built.hex(), hashlib.sha256(text.encode()).hexdigest())


if __name__ == "__main__":
    unittest.main()
