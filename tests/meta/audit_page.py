#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/audit.md names every event of the audit log, and every field that a record can have."""
import re
import unittest

import tree

PAGE = "docs/audit.md"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", tree.read(PAGE), re.M)
        cls.fields = {event: set(re.findall(r"`(\w+)`", text)) for event, text in rows}

    def test_events(self):
        names = re.findall(r'^AUDIT\(\w+, "(\w+)"\)$', tree.read("common/records/audit.def"), re.M)
        self.assertGreater(len(names), 10)
        self.assertEqual(list(self.fields), names)

    def test_fields(self):
        known = set().union({"lost"}, *self.fields.values())
        written = set(re.findall(r"^AUDIT_KEY\((\w+)\)$", tree.read("common/records/audit_key.def"), re.M))
        self.assertGreater(len(written), 30)
        self.assertEqual(written - known, set())
        words = {"launcher", "broker", "service", "frontend", "factory", "init", "layers",
                 "apply", "undo", "destroyed", "expired", "damaged",
                 "save", "rollback", "delete", "stop", "closed", "own", "resolve",
                 "connect"}  # values
        self.assertEqual(known - written - words, set())


if __name__ == "__main__":
    unittest.main()
