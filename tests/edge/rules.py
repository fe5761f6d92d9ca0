# SPDX-License-Identifier: Apache-2.0
"""What the protocol demands as an answer to a line, worked out from the rules alone: JSON as
RFC 8259 has it, JSON-RPC 2.0, both eras of MCP, and the choices that this project made where these
leave some. Nothing here has seen the server's source, and nothing here is a test.

A *want* is one expected answer: {"id": RAW} and either "code" (a JSON-RPC error) or "result" (true:
any) or "failed" (a tool's result with this isError); "says" is a part of the answer's words, "era"
the era whose members a result must carry."""
import json
import re
import sys
import urllib.parse
from fractions import Fraction

sys.set_int_max_str_digits(0)  # ids have as many as a line has room for

LINE_MAX = 10 * 1024 * 1024
DEPTH_MAX = 128
VALUES_MAX = 65536
ID_MAX = 65536
BATCH_MAX = 100
SAFE = 2 ** 53 - 1

PARSE, REQUEST, METHOD, PARAMS, VERSION = -32700, -32600, -32601, -32602, -32022
CAPABILITY = -32021
RESOURCE = -32002  # of the legacy era
NOT_FOUND = "Resource not found"
PROMPT_VALUE_MAX = 65536
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

PREFIX = "io.modelcontextprotocol/"
LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
TASKS = PREFIX + "tasks"
UNBATCHED = ("initialize", "subscriptions/listen")

TOKEN = re.compile(
    r'[ \t\r\n]*(?:([{}\[\],:])|'
    r'("[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")|'
    r"(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(true|false|null))")
BLANK = re.compile(r"[ \t\r\n]*")
KINDS = {"true": "bool", "false": "bool", "null": "null"}


class Wrong(Exception):
    """No JSON."""


class Node:
    """A JSON value: kind, its text as it came, what is in it as (key, Node); no key in a list."""

    def __init__(self, kind, raw=""):
        self.kind, self.raw = kind, raw
        self.members, self.keys = [], set()

    def get(self, key):
        if self.kind != "object":
            return None
        return next((node for name, node in self.members if name == key), None)

    def text(self):
        return json.loads(self.raw) if self.kind == "string" else None

    def given(self, key):
        """A member that is neither absent nor null."""
        node = self.get(key)
        return node if node and node.kind != "null" else None


class Tree:
    """A whole text: its top, and what of it is beyond what is taken."""

    def __init__(self, text):
        self.deepest = self.count = 0
        self.doubles = []  # (depth, key)
        self.top = self.read(text)

    def add(self, stack, key, node):
        self.count += 1
        if stack:
            if key is not None and key in stack[-1].keys:
                self.doubles.append((len(stack), key))
            stack[-1].keys.add(key)
            stack[-1].members.append((key, node))

    def read(self, text):
        """A machine with four states: a value, a member's value, what is behind one, a key."""
        stack, place, state, key, top = [], 0, "value", None, None
        while True:
            found = TOKEN.match(text, place)
            if not found:
                break
            place = found.end()
            mark, string, number, word = found.groups()
            if mark in ("}", "]"):
                is_empty = state in ("value", "key") and stack and not stack[-1].members
                if not (state == "behind" or is_empty) or not stack or \
                        stack.pop().kind != ("object" if mark == "}" else "array"):
                    raise Wrong("an end of nothing")
                state = "behind"
            elif mark == "," and state == "behind" and stack:
                state = "key" if stack[-1].kind == "object" else "value"
            elif state == "key" and string:
                key = json.loads(string)
                colon = TOKEN.match(text, place)
                if not colon or colon.group(1) != ":":
                    raise Wrong("a key alone")
                place, state = colon.end(), "member"
            elif state in ("value", "member") and mark not in (",", ":"):
                kind = {"{": "object", "[": "array"}.get(mark) or (
                    "string" if string else "number" if number else KINDS[word])
                node = Node(kind, string or number or word or "")
                self.add(stack, key, node)
                top, key, state = top or node, None, "behind"
                if mark:
                    stack.append(node)
                    self.deepest = max(self.deepest, len(stack))
                    state = "key" if mark == "{" else "value"
            else:
                raise Wrong("a token out of place")
        if stack or top is None or state != "behind" or BLANK.match(text, place).end() != len(text):
            raise Wrong("not whole")
        return top


def raw_id(node):
    """The id as it is to be echoed; None: it is none."""
    if node is None or len(node.raw) > ID_MAX + 2:
        return None
    if node.kind == "string":
        return node.raw if len(node.raw.encode("utf-8")) <= ID_MAX + 2 else None
    if node.kind == "number":
        exponent = re.search(r"[eE]([+-]?[0-9]+)", node.raw)
        if exponent and abs(int(exponent.group(1)[:6])) > 400:
            return node.raw if re.fullmatch(r"-?0(\.0+)?[eE].*", node.raw) else None
        value = Fraction(node.raw)
        return node.raw if value.denominator == 1 and abs(value) <= SAFE else None
    return None


def error(number, code, says=None):
    want = {"id": number or "null", "code": code}
    return dict(want, says=says) if says else want


def result(number, era="legacy", says=None):
    want = {"id": number, "result": True, "era": era}
    return dict(want, says=says) if says else want


class Rules:
    """What one server must answer: it has what its surface says (make_cases.py), and `version` was
    negotiated before."""

    def __init__(self, surface, version="2025-11-25"):
        self.surface, self.methods, self.version = surface, surface.methods, version

    def line(self, data):
        """The wants for a line without its newline."""
        data = data.removesuffix(b"\r")
        data = data.removeprefix(b"\xef\xbb\xbf")
        if not data:
            return []
        if len(data) > LINE_MAX:
            return [error(None, REQUEST, "longer than")]
        try:
            tree = Tree(data.decode("utf-8"))
        except UnicodeDecodeError:
            return [error(None, PARSE, "UTF-8")]
        except Wrong:
            return [error(None, PARSE, "not valid JSON")]
        if tree.deepest > DEPTH_MAX or tree.doubles or tree.count > VALUES_MAX:
            return [self.beyond(tree)]
        if tree.top.kind == "array":
            return self.batch(tree.top)
        return self.message(tree.top)

    def beyond(self, tree):
        is_twice = (1, "id") in tree.doubles
        says = [word for word, is_so in (("deeper", tree.deepest > DEPTH_MAX), ("values",
                                                                                tree.count >
                VALUES_MAX), ("same key", tree.doubles)) if is_so]
        return error(None if is_twice else raw_id(tree.top.get("id")), REQUEST,
                     says[0] if len(says) == 1 else None)

    def batch(self, top):
        """Its answers come in one line; here they are one want each, with "in" a batch."""
        if self.version != "2025-03-26":
            return [error(None, REQUEST, "batches")]
        if not 0 < len(top.members) <= BATCH_MAX:
            return [error(None, REQUEST, "batch")]
        wants = [want for _, node in top.members for want in self.message(node, is_batched=True)]
        return [{"batch": wants}] if wants else []

    def message(self, top, is_batched=False):
        version = top.get("jsonrpc")
        if top.kind != "object" or not version or version.text() != "2.0":
            return [error(None, REQUEST, "object" if top.kind != "object" else "jsonrpc")]
        method, number = top.get("method"), top.get("id")
        if not method and (top.get("result") or top.get("error")):
            return []
        if number and raw_id(number) is None:
            return [error(None, REQUEST, "id")]
        number = number and raw_id(number)
        if not method or method.kind != "string":
            return [error(number, REQUEST, "method")]
        if not number:
            return []
        params = top.given("params")
        if params and params.kind != "object":
            return [error(number, PARAMS, "params")]
        meta = params and params.given("_meta")
        if meta and meta.kind != "object":
            return [error(number, PARAMS, "_meta")]
        return [self.request(number, method.text(), params or Node("object"), meta, is_batched)]

    def era(self, method, meta):
        """(era, what is wrong with the claim)."""
        version = meta and meta.get(PREFIX + "protocolVersion")
        able = meta and meta.get(PREFIX + "clientCapabilities")
        client = meta and meta.get(PREFIX + "clientInfo")
        if not version and not able:
            return "legacy", None
        wrong = None
        if not version or version.kind != "string":
            wrong = (PARAMS, "protocolVersion")
        elif not able or able.kind != "object":
            wrong = (PARAMS, "clientCapabilities")
        elif client and client.kind != "object":
            wrong = (PARAMS, "clientInfo")
        elif version.text() != MODERN:
            wrong = (VERSION, "Unsupported protocol version")
        if wrong and method == "initialize":
            return "legacy", None
        return "modern", wrong

    def request(self, number, method, params, meta, is_batched):
        era, wrong = self.era(method, meta)
        if wrong:
            return error(number, *wrong)
        if era not in self.methods.get(method, ()):
            return error(number, METHOD, "Method not found")
        if method in UNBATCHED and is_batched:
            return error(number, REQUEST, "batch")
        check = getattr(self, "take_" + re.sub("[^a-z]", "_", method.lower()), None)
        wrong = check(params) if check else None
        if isinstance(wrong, str):
            is_legacy_uri = wrong == NOT_FOUND and era == "legacy"
            return error(number, RESOURCE if is_legacy_uri else PARAMS, wrong)
        if isinstance(wrong, tuple):
            return error(number, *wrong)
        return result(number, era, wrong[0] if wrong else None)

    # --- what a method demands of its parameters: None, the word of an error or (code, word), or
    # --- [what is said]

    def take_initialize(self, params):
        asked = params.get("protocolVersion")
        version = asked.text() if asked and asked.text() in LEGACY_VERSIONS else LEGACY_VERSIONS[-1]
        self.version = version
        return [f'"protocolVersion":"{version}"']

    def take_tools_list(self, params):
        cursor = params.given("cursor")
        return "cursor" if cursor and cursor.text() != "" else None

    take_prompts_list = take_resources_list = take_resources_templates_list = take_tools_list

    def take_tools_call(self, params):
        name, arguments = params.given("name"), params.given("arguments")
        if not name or name.kind != "string":
            return "name"
        if arguments and arguments.kind != "object":
            return "arguments"
        return None if name.text() in self.surface.tools else "Unknown tool"

    def take_prompts_get(self, params):
        name, arguments = params.given("name"), params.given("arguments")
        if not name or name.kind != "string":
            return "name"
        if arguments and arguments.kind != "object":
            return "arguments"
        known = self.surface.prompts.get(name.text())
        if known is None:
            return "Unknown prompt"
        given = dict(arguments.members) if arguments else {}
        for key, value in given.items():
            if key not in known:
                return "unknown argument"
            if value.kind != "string" or len(value.raw.encode("utf-8")) - 2 > PROMPT_VALUE_MAX:
                return "the value"
        is_missing = any(is_required and not (key in given and given[key].text())
                         for key, is_required in known.items())
        return "required argument" if is_missing else None

    def take_resources_read(self, params):
        uri = params.given("uri")
        if not uri or uri.kind != "string":
            return "uri"
        found = re.fullmatch(r"policy://((?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+)", uri.text())
        name = found and urllib.parse.unquote(found.group(1))
        return None if name in self.surface.profiles else NOT_FOUND

    take_resources_subscribe = take_resources_read

    def take_resources_unsubscribe(self, params):
        uri = params.given("uri")
        return None if uri and uri.kind == "string" else "uri"

    def take_logging_setlevel(self, params):
        level = params.given("level")
        return None if level and level.text() in LEVELS else "level"

    def take_completion_complete(self, params):
        ref, argument = params.given("ref"), params.given("argument")
        name, value = (argument.get(key) if argument else None for key in ("name", "value"))
        if not (name and name.kind == "string" and value and value.kind == "string"):
            return "argument"
        kind = ref.get("type") if ref else None
        if not kind or kind.text() not in ("ref/prompt", "ref/resource"):
            return "ref"
        is_prompt = kind.text() == "ref/prompt"
        subject = ref.get("name" if is_prompt else "uri")
        if not subject or subject.kind != "string":
            return "ref"
        context = params.given("context")
        if not is_prompt and context and context.kind != "object":
            return "context"
        known = (self.surface.prompts if is_prompt else self.surface.templates).get(subject.text())
        if known is None:
            return "Unknown"
        return None if name.text() in known else "of this name"

    def take_subscriptions_listen(self, params):
        """Only what is wrong; a right one has no answer."""
        wanted = params.given("notifications")
        return None if wanted and wanted.kind == "object" else "notifications"

    def take_tasks_get(self, params):
        """There is no task: no tool of ours makes one by itself."""
        extensions = params.get("_meta").get(PREFIX + "clientCapabilities").get("extensions")
        declared = extensions.get(TASKS) if extensions else None
        if not declared or declared.kind != "object":
            return CAPABILITY, TASKS
        task = params.given("taskId")
        return "Unknown task" if task and task.kind == "string" else "taskId"

    take_tasks_update = take_tasks_cancel = take_tasks_get
