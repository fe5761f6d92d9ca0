#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Show comments, function names and sentences of pages that break the rules of HACKING.md
("Language").

prose.py [PATH...]   the offending lines beneath the paths (none: all of the project); fails if any
tests/meta/prose.py holds the number in each folder under a ceiling that only falls.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "meta"))
import tree  # noqa: E402  pylint: disable=wrong-import-position

# A sentence has a noun as its subject: no comment begins with one of these.
NO_SUBJECT = re.compile(r"(?:what|who|whose|whoever|whatever|where|of|those|these|the same|one that|"
                        r"ones that|nothing|nobody|the other|as [a-z_]+\(\))\b", re.I)
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
FUNCTION = re.compile(r"^static [^\n;={}]*?\*?\b([a-z0-9_]+)\([^;{]*?\)\n\{", re.M)
# Verbs that mean several things; docs/glossary.md has one for each of these.
UNCLEAR_VERBS = ("take", "put", "say", "tell", "explain")
# A sentence of a page: at most so many words, and none of these words where a user reads it.
SENTENCE_WORDS_MAX = 25
INTERNAL = re.compile(r"\b(?:leaf|frontends?|keeper|lasting|noted|the note)\b", re.I)
USER_PAGES = ("README.md", "CHANGELOG.md", "SECURITY.md", "docs/sandboxes.md", "docs/clients.md",
              "docs/cookbook.md", "docs/http.md", "docs/profiles.md", "docs/policy-files.md", "docs/policy.md",
              "docs/policy-denials.md")
FOLDERS = tuple(part for part in tree.PARTS if part not in ("image", "vm"))


def comments(text):
    """(line, first words) of each comment of a C file, but for rules of dashes and licences."""
    for match in COMMENT.finditer(text):
        words = re.sub(r"(?:\s*\n\s*\*?)+\s*", " ", match.group(1)).strip()
        if not words.startswith(("SPDX-", "---")):
            yield text.count("\n", 0, match.start()) + 1, words
        elif words.startswith("SPDX-") and words.split("Apache-2.0", 1)[-1].strip():
            yield (text.count("\n", 0, match.start()) + 1,
                   words.split("Apache-2.0", 1)[-1].strip())


def comment_faults(path):
    return [(line, words) for line, words in comments(tree.read(path)) if NO_SUBJECT.match(words)]


def name_faults(path):
    """Static functions that are one bare word."""
    text = tree.read(path)
    return [(text.count("\n", 0, match.start()) + 1, match.group(1))
            for match in FUNCTION.finditer(text) if "_" not in match.group(1)]


def unclear_verbs(text):
    """{verb: the static functions that begin with it} of a C file."""
    names = FUNCTION.findall(text)
    return {verb: [name for name in names if name.startswith(verb + "_")] for verb in UNCLEAR_VERBS}


def verb_counts():
    """{unclear verb: how many static functions of the product begin with it}."""
    found = [unclear_verbs(tree.read(path)) for path in tree.sources()
             if path.endswith(".c") and not path.startswith("tests/")]
    return {verb: sum(len(names[verb]) for names in found) for verb in UNCLEAR_VERBS}


def paragraphs(text):
    """(line, words) of each paragraph and list item of a page: no code, table or heading."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", lambda match: "\n" * match.group().count("\n"), text,
                  flags=re.M | re.S)
    start, words = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        line = line.strip()
        is_prose = line != "" and not re.match(r"\||#|!\[|\[[^]]+\]: ", line)
        if words and (not is_prose or re.match(r"(?:[-*]|\d+\.) ", line)):
            yield start, " ".join(words)
            words = []
        if is_prose:
            start = start if words else number
            words.append(re.sub(r"^(?:[-*]|\d+\.|>) ", "", line))
    if words:
        yield start, " ".join(words)


def cells(text):
    """(line, words) of each cell of a page's tables."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("|"):
            for cell in line.strip().strip("|").split(" | "):
                yield number, cell.strip()


def sentences(paragraph):
    """A code span is one word, and a link its text."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "`x`", paragraph))
    return re.split(r"(?<=[.!?:;])[)*\"]* +(?=[\w`(*\"])", text.replace("**", ""))


def sentence_fault(sentence, is_for_users=False):
    """What is wrong with it, or None."""
    if len(sentence.split()) > SENTENCE_WORDS_MAX:
        return f"{len(sentence.split())} words"
    if NO_SUBJECT.match(sentence) and not sentence.endswith("?"):
        return "no subject"
    found = INTERNAL.search(sentence) if is_for_users else None
    return f"internal word: {found.group()}" if found else None


def page_faults(path):
    text = tree.read(path)
    return [(line, f"{fault}: {sentence}") for line, paragraph in (*paragraphs(text), *cells(text))
            for sentence in sentences(paragraph)
            for fault in [sentence_fault(sentence, path in USER_PAGES)] if fault]


# Their text is that of tables in C: policy/read/seccomp_groups.def, seccomp_conditions.c.
GENERATED = ("docs/seccomp.md",)


def pages():
    return [path for path in tree.files() if path.endswith(".md")
            and path not in GENERATED and not path.startswith("tests/")]


def sources(folder):
    return [path for path in tree.sources(folder) if path.endswith((".c", ".h", ".def"))]


def count(folder):
    """(comments, names) that break the rules."""
    paths = sources(folder)
    return (sum(len(comment_faults(path)) for path in paths),
            sum(len(name_faults(path)) for path in paths if path.endswith(".c")))


def main():
    wanted = [os.path.normpath(path) for path in sys.argv[1:]] or [*FOLDERS, *pages()]
    found = 0
    for path in tree.files():
        if not any(path == one or path.startswith(one + "/") for one in wanted):
            continue
        if path.endswith(".md"):
            faults = page_faults(path)
        elif path.endswith((".c", ".h", ".def")):
            faults = comment_faults(path) + (name_faults(path) if path.endswith(".c") else [])
        else:
            continue
        for line, words in sorted(faults):
            print(f"{path}:{line}: {words[:100]}")
        found += len(faults)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
