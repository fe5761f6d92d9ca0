#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp audit verify` finds each kind of change, and a supervisor goes on from what it finds."""
import os
import shutil
import unittest

import audit_log
import leftovers


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()


# Of five times `msp run`: start, execution_begin, posture, execution_end.
LAST = 5 * 4


class Edits(audit_log.Place):
    """Each on a copy of a log that supervisors wrote."""

    @classmethod
    def setUpClass(cls):
        cls.written = audit_log.Log(audit_log.tempfile.mkdtemp(prefix="msp-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.written.state, ignore_errors=True)
        for _ in range(5):
            cls.written.run("true")

    def copy(self):
        return self.written.copy(self.place())

    def test_none(self):
        self.assertEqual(self.assert_whole(self.copy()), LAST)

    def test_a_changed_byte(self):
        """Wherever it is: in a number, a text, a key, a hash, a brace."""
        data = self.written.read()
        line = len(b"".join(self.written.lines()[:6]))
        for at in range(line, line + len(self.written.lines()[6]) - 1, 7):
            log = self.copy()
            changed = bytearray(data)
            changed[at] = ord("7") if changed[at] != ord("7") else ord("8")
            log.write(changed)
            with self.subTest(at=at - line):
                self.assert_found(log, r"audit\.jsonl:[78]: ")

    def test_a_changed_byte_with_its_hash(self):
        """Whoever can compute a hash must compute all that follow."""
        log = self.copy()
        lines = log.lines()
        text = lines[3].rpartition(b',"hash":')[0].replace(b'"exit_code":0', b'"exit_code":1')
        digest = audit_log.hashlib.sha256(text).hexdigest().encode()
        lines[3] = text + b',"hash":"' + digest + b'"}\n'
        log.write(b"".join(lines))
        self.assert_found(log, r"audit\.jsonl:5: record 5 does not follow the one before it")

    def test_a_removed_line(self):
        for number in (1, 7, 13):
            log = self.copy()
            lines = log.lines()
            del lines[number]
            log.write(b"".join(lines))
            self.assert_found(log, rf"audit\.jsonl:{number + 1}: record {number + 2} follows "
                                   rf"record {number}: 1 in between is missing")

    def test_the_first_line_removed(self):
        log = self.copy()
        log.write(b"".join(log.lines()[1:]))
        self.assert_found(log, r"audit\.jsonl:1: the log begins with record 2")

    def test_lines_removed_at_the_end(self):
        for rest in (14, 10, 1):
            log = self.copy()
            log.write(b"".join(log.lines()[:rest]))
            self.assert_found(log, rf"audit\.jsonl:{rest}: the log ends with record {rest}, and "
                                   rf"should with {LAST}: {LAST - rest} are missing")

    def test_a_file_cut_within_a_line(self):
        log = self.copy()
        log.write(log.read()[:-20])
        self.assert_found(log, rf"audit\.jsonl:{LAST}: this line is no record",
                          f"should with {LAST}")

    def test_all_of_it_removed(self):
        log = self.copy()
        log.write(b"")
        self.assert_found(log, f"ends with record 0, and should with {LAST}")
        os.unlink(log.path())
        self.assert_found(log, f"ends with record 0, and should with {LAST}")

    def test_swapped_lines(self):
        log = self.copy()
        lines = log.lines()
        lines[6], lines[7] = lines[7], lines[6]
        log.write(b"".join(lines))
        self.assert_found(log, r"audit\.jsonl:7: record 8 follows record 6",
                          r"audit\.jsonl:8: record 7 stands behind record 8")

    def test_a_line_put_in(self):
        log = self.copy()
        lines = log.lines()
        lines.insert(7, lines[2])
        log.write(b"".join(lines))
        self.assert_found(log, r"audit\.jsonl:8: record 3 stands behind record 7")
        forged, _ = audit_log.line_of(LAST + 1, audit_log.json.loads(lines[-1])["hash"], event="stop")
        log = self.copy()
        log.write(log.read() + forged * 2)
        self.assert_found(log, rf"audit\.jsonl:{LAST + 2}: record {LAST + 1} stands behind record {LAST + 1}")

    def test_text_put_in(self):
        for text in (b"\n", b"something else\n", b'{"seq":8,"time_us":1\n'):
            log = self.copy()
            lines = log.lines()
            log.write(b"".join(lines[:7] + [text] + lines[7:]))
            self.assert_found(log, r"audit\.jsonl:8: this line is no record")

    def test_the_head(self):
        log = self.copy()
        os.unlink(log.path("head"))
        self.assert_found(log, "'head', which says where the log ends, is missing")
        for text in (b"", b"{}", log.copy(self.place()).read("audit.jsonl")[:131]):
            log.write(text, "head")
            self.assert_found(log, "'head', which says where the log ends")
        log = self.copy()
        log.write(audit_log.head_of(12, len(log.read()), "a" * 64), "head")
        self.assert_found(log, "the last record is not the one")

    def test_files_removed(self):
        whole = audit_log.Log(self.place()).fill(900, 900, 900, 900)
        self.assert_whole(whole)
        for name, found in (("audit.3.jsonl", r"audit\.2\.jsonl:1: the log begins with record"),
                            ("audit.2.jsonl", r"audit\.1\.jsonl:1: .* in between (is|are) missing"),
                            ("audit.1.jsonl", r"audit\.jsonl:1: .* in between (is|are) missing"),
                            ("audit.jsonl", r"audit\.1\.jsonl:\d+: the log ends with record")):
            log = whole.copy(self.place())
            os.unlink(log.path(name))
            with self.subTest(name=name):
                self.assert_found(log, found)

    def test_files_swapped(self):
        log = audit_log.Log(self.place()).fill(900, 900, 900)
        one, two = log.read("audit.1.jsonl"), log.read("audit.2.jsonl")
        log.write(one, "audit.2.jsonl")
        log.write(two, "audit.1.jsonl")
        self.assert_found(log, r"audit\.2\.jsonl:1: the log begins", "stands behind")

    def test_the_oldest_file_may_be_gone(self):
        """Only when there are as many as are kept."""
        self.assert_found(self.without_its_first(8), "the log begins with record")
        self.assert_whole(self.without_its_first(9))

    def without_its_first(self, files):
        log = audit_log.Log(self.place()).fill(*[900] * (files + 1))
        os.unlink(log.path(audit_log.name_of(files)))
        return log


class GoingOn(audit_log.Place):
    """What the next supervisor does with what it finds."""

    def setUp(self):
        super().setUp()
        for _ in range(3):
            self.log.run("true")

    def next_line(self):
        last = self.log.records()[-1]
        return audit_log.line_of(last["seq"] + 1, last["hash"], event="stop", pid=9)[0]

    def go_on(self, says=""):
        result = self.log.run("echo", "up")
        self.assertEqual((result.returncode, result.stdout), (0, "up\n"), result.stderr)
        if says:
            self.assertIn(f"the audit log is not as it was left ({says})", result.stderr)
        else:
            self.assertEqual(result.stderr, "")

    def broken(self, reason, expected, found):
        self.go_on(reason)
        record, = self.log.records("chain_broken")
        self.assertEqual((record["reason"], record["expected_seq"], record["found_seq"]),
                         (reason, expected, found))
        self.assert_found(self.log, rf"here a supervisor found the log changed \({reason}\): it "
                                    rf"should have ended with record {expected}, and ended with "
                                    rf"{found}")
        self.go_on()  # it is told once
        self.assertEqual(len(self.log.records("chain_broken")), 1)
        return record

    def test_a_torn_line(self):
        """Whatever a killed writer left of its line is closed off, and judged by its hash."""
        line = self.next_line()
        for size in (1, 8, 40, len(line) - 2):
            log = self.log.copy(self.place())
            with open(log.path(), "ab") as file:
                file.write(line[:size])
            result = log.audit("verify")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("the last line is torn", result.stderr)
            self.assertEqual(log.run("true").stderr, "")
            torn, = log.records("torn")
            self.assertEqual((torn["bytes"], torn["sha256"], torn["seq"]),
                             (size, audit_log.hashlib.sha256(line[:size]).hexdigest(), 13))
            result = log.audit("verify")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("1 torn", result.stdout)
            self.edit_torn(log, line[:size])

    def test_a_newline_is_missing(self):
        with open(self.log.path(), "ab") as file:
            file.write(self.next_line()[:-1])
        self.go_on()
        self.assertEqual(self.assert_whole(), 17)

    def edit_torn(self, log, torn):
        """A torn line can be told from one that was changed later."""
        data = log.read()
        log.write(data.replace(b"\n" + torn + b"\n", b"\n" + torn[:-1] + b"?\n"))
        self.assert_found(log, r"audit\.jsonl:13: this line is no record")
        log.write(data.replace(b"\n" + torn + b"\n", b"\n"))
        self.assert_found(log, "a torn line was in front of this record, and is gone")

    def test_a_record_that_the_head_does_not_know(self):
        """Its writer was killed between the two writes."""
        with open(self.log.path(), "ab") as file:
            file.write(self.next_line())
        self.assertEqual(self.log.audit("verify").returncode, 0)
        self.go_on()
        self.assert_whole()

    def test_a_rotation_that_was_interrupted(self):
        log = audit_log.Log(self.place()).fill(900, 900)
        os.rename(log.path("audit.1.jsonl"), log.path("audit.2.jsonl"))
        os.rename(log.path(), log.path("audit.1.jsonl"))
        self.log = log
        self.assertEqual(log.audit("verify").returncode, 0)
        self.go_on()
        self.assert_whole()

    def test_a_gap_in_the_files_is_closed(self):
        """Another one that was: 3 is where 2 was, and the others are still where they were."""
        self.log = audit_log.Log(self.place()).fill(900, 900, audit_log.FILE_BYTES)
        os.rename(self.log.path("audit.2.jsonl"), self.log.path("audit.3.jsonl"))
        os.rename(self.log.path("audit.1.jsonl"), self.log.path("audit.2.jsonl"))
        self.go_on()
        self.assertEqual(self.log.names(), ["audit.3.jsonl", "audit.2.jsonl", "audit.1.jsonl",
                                            "audit.jsonl"])
        self.assert_whole()

    def test_a_cut_file(self):
        self.log.write(b"".join(self.log.lines()[:6]))
        self.broken("short", 12, 6)

    def test_a_file_cut_within_a_line(self):
        self.log.write(self.log.read()[:-5])
        self.broken("short", 12, 0)

    def test_a_removed_file(self):
        os.unlink(self.log.path())
        self.broken("short", 12, 0)

    def test_an_edited_last_record(self):
        self.log.write(self.log.read().replace(b'"exit_code":0,', b'"exit_code":1,'))
        self.broken("edited", 12, 12)

    def test_what_is_no_record_at_the_end(self):
        with open(self.log.path(), "ab") as file:
            file.write(b"something else\n")
        self.broken("long", 12, 0)

    def test_a_removed_head(self):
        os.unlink(self.log.path("head"))
        self.broken("no_head", 0, 12)

    def test_a_log_of_zeros(self):
        """As a machine leaves it that lost its power."""
        size = len(self.log.read())
        self.log.write(self.log.read()[:-300] + b"\0" * 300)
        self.assertEqual(len(self.log.read()), size)
        self.broken("edited", 12, 0)

    def test_the_oldest_file_goes(self):
        self.log = audit_log.Log(self.place()).fill(*[900] * 8, audit_log.FILE_BYTES)
        second = self.log.lines("audit.7.jsonl")
        self.go_on()
        self.assertEqual(len(self.log.names()), 9)
        self.assertEqual(self.log.lines("audit.8.jsonl"), second)
        self.assert_whole()


if __name__ == "__main__":
    unittest.main()
