#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mechanical rules of HACKING.md ("Language"). tests/prose.py shows the lines."""
import importlib.util
import os
import re
import unittest

import ceilings
import tree

SPEC = importlib.util.spec_from_file_location("prose", os.path.join(tree.ROOT, "tests/prose.py"))
prose = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(prose)


class Prose(unittest.TestCase):
    def test_faults_are_found(self):
        text = ("/* SPDX-License-Identifier: Apache-2.0\n *\n * What it is.\n */\n"
                "/* Where it ends. */\n/* Whatever. */ /* Return it. */\n/* --- of this --- */\n"
                "static int find(int a)\n{\n}\nstatic int find_it(int a)\n{\n}\n")
        found = [words for _, words in prose.comments(text) if prose.NO_SUBJECT.match(words)]
        self.assertEqual(found, ["What it is.", "Where it ends.", "Whatever."])
        self.assertEqual(prose.FUNCTION.findall(text), ["find", "find_it"])

    def test_unclear_verbs_are_found(self):
        text = ("static int take_it(int a)\n{\n}\nint put_it(void)\n{\n}\nstatic void retake_it(void)\n"
                "{\n}\nstatic bool tell_it(void)\n{\n}\n")
        self.assertEqual({verb: names for verb, names in prose.unclear_verbs(text).items() if names},
                         {"take": ["take_it"], "tell": ["tell_it"]})

    def test_no_function_more_begins_with_an_unclear_verb(self):
        for verb, count in prose.verb_counts().items():
            with self.subTest(verb=verb):
                self.assertLessEqual(count, ceilings.UNCLEAR_VERBS[verb], "docs/glossary.md, Verbs")
                self.assertGreater(count, 0, "the verb is gone: it needs no ceiling")

    def test_every_comment_has_a_subject_and_every_function_a_noun(self):
        for folder in prose.FOLDERS:
            with self.subTest(folder=folder):
                self.assertEqual(prose.count(folder), (0, 0), "see ./dev lint --prose")

    def test_faults_of_pages_are_found(self):
        page = ("# Of a heading\n\nA good line\nof two. What it is.\n\n- Who asks.\n- What is it?\n"
                "\n```\nOf code.\n```\n<!-- Of\na comment -->\n| Of a table |\n")
        found = [(line, sentence) for line, paragraph in prose.paragraphs(page)
                 for sentence in prose.sentences(paragraph)]
        self.assertEqual(found, [(3, "A good line of two."), (3, "What it is."), (6, "Who asks."),
                                 (7, "What is it?")])
        self.assertEqual([prose.sentence_fault(sentence) for _, sentence in found],
                         [None, "no subject", "no subject", None])
        self.assertEqual(list(prose.cells(page + "| a | who asks |\n")),
                         [(14, "Of a table"), (15, "a"), (15, "who asks")])
        self.assertIsNone(prose.sentence_fault("a " * 25))
        self.assertEqual(prose.sentence_fault("a " * 26), "26 words")
        self.assertIsNone(prose.sentence_fault("Each frontend."))
        self.assertEqual(prose.sentence_fault("Each frontend.", True), "internal word: frontend")

    def test_links_and_code_are_counted_once(self):
        self.assertEqual(prose.sentences("See [one word](a b c) `d e f`. msp ends"),
                         ["See one word `x`.", "msp ends"])

    def test_every_sentence_of_a_page_is_short_and_has_a_subject(self):
        self.assertIn("README.md", prose.pages())
        for page in prose.pages():
            with self.subTest(page=page):
                self.assertEqual(prose.page_faults(page), [], "see ./dev lint --prose")

    def test_the_index_of_decisions_has_their_conclusions(self):
        rows = []
        for path in prose.pages():
            if path.startswith("docs/decisions/0"):
                head = re.match(r"# (\d+)\. (.+)\n\nStatus: (\w+)\nConclusion: (.+)\n\n",
                                tree.read(path))
                self.assertIsNotNone(head, path)
                number, subject, status, conclusion = head.groups()
                rows.append(f"| [{number}]({os.path.basename(path)}) | {subject} | {status} | "
                            f"{conclusion} |")
        self.assertGreater(len(rows), 15)
        index = tree.read("docs/decisions/README.md")
        self.assertEqual(re.findall(r"^\| \[.*$", index, re.M), rows)


if __name__ == "__main__":
    unittest.main()
