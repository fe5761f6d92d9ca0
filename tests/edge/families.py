# SPDX-License-Identifier: Apache-2.0
"""Edge cases of messages: framing, JSON, Unicode, ids, versions, parameters, nesting, batches. Each
family is a product of what it is about; what must come back says rules.py unless a case does."""
import json
import re

from rules import LEGACY_VERSIONS, MODERN, PREFIX, Rules, error, result

CURRENT = "2025-11-25"
BATCHES = "2025-03-26"
META = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {},
        PREFIX + "clientInfo": {"name": "edge", "version": "1"}}
META_TEXT = json.dumps(META, separators=(",", ":"))
SURROGATE = "surrogateescape"
RUN = re.compile(r"(.)\1{199,}")


def dump(value):
    return json.dumps(value, separators=(",", ":"))


def message(number="1", method='"ping"', params=None, version='"2.0"', rest=""):
    """A message of raw parts; None: left out."""
    parts = [("jsonrpc", version), ("id", number), ("method", method), ("params", params)]
    return "{" + ",".join(f'"{name}":{raw}' for name, raw in parts if raw is not None) + rest + "}"


def modern(number="1", method='"tools/list"', rest="", meta=META_TEXT):
    return message(number, method, '{"_meta":' + meta + rest + "}")


def runs(text):
    """Pieces of a text: what comes very often in a row is [what, how often]."""
    pieces, place = [], 0
    for found in RUN.finditer(text):
        pieces += [text[place:found.start()], [found.group(1), len(found.group())]]
        place = found.end()
    return [piece for piece in [*pieces, text[place:]] if piece]


class Book:
    """The cases, and what the server that they are for has."""

    def __init__(self, surface):
        self.surface = surface
        self.cases, self.names = [], set()

    def rules(self, group):
        return Rules(self.surface, group or None)

    def add(self, name, lines, want=None, group=CURRENT, **more):
        """One step. `lines`: text with its newlines, or pieces; without `want` the rules say what
        comes back, line by line."""
        pieces = runs(lines) if isinstance(lines, str) else lines
        step = {"in": pieces, "want": want}
        if want is None:
            data = b"".join((piece if isinstance(piece, str) else piece[0]).encode(
                "utf-8", SURROGATE) * (1 if isinstance(piece, str) else piece[1])
                for piece in pieces)
            rules = self.rules(group)
            step["want"] = [want for line in data.split(b"\n")[:-1] for want in rules.line(line)]
        for key in ("slow", "keep", "notes"):
            if key in more:
                step[key] = more.pop(key)
        self.add_steps(name, [step], group, **more)

    def add_steps(self, name, steps, group=CURRENT, **more):
        number, plain = 1, name
        while name in self.names:
            number += 1
            name = f"{plain} ({number})"
        self.names.add(name)
        own = [dict(step) for step in steps]  # each case gets a recording of its own
        text = dump([step["in"] for step in steps])
        if "run_" not in text and ("resources/list" in text or "sandbox://{" in text):
            more["quiet"] = True
        self.cases.append(dict({"name": name, "group": group, "steps": own}, **more))


# --- framing ------------------------------------------------------------------------------------

FRAMES = {
    "plain": "{}\n", "carriage return": "{}\r\n", "blank line before": "\n{}\n",
    "blank lines after": "{}\n\n\n", "blank CRLF lines": "\r\n\r\n{}\r\n",
    "byte order mark": "\ufeff{}\n", "two byte order marks": "\ufeff\ufeff{}\n",
    "a byte order mark alone": "\ufeff\n{}\n", "spaces around": "  {}  \n",
    "tabs around": "\t{}\t\n",
    "two carriage returns": "{}\r\r\n", "a line of spaces": "   \n{}\n", "vertical tab": "\v{}\n",
    "form feed": "{}\f\n", "no-break space": "\u00a0{}\n", "NUL before": "\0{}\n",
    "NUL behind": "{}\0\n", "record separator": "\x1e{}\n", "semicolon": "{};\n",
    "two in one line": "{}{}\n", "two with a comma": "{},{}\n", "twice": "{}\n{}\n",
    "line separator": "{}\u2028\n", "next line": "{}\u0085\n",
    "length header": "Content-Length: 7\r\n\r\n{}\n",
    "broken line before": "nonsense\n{}\n", "event": "data: {}\n",
}


def add_framing(book):
    bodies = {"ping": message(), "modern list": modern(), "unknown": message("2", '"no/such"'),
              "notification": message(None, '"notifications/initialized"'),
              "error": message("null")}
    for label, frame in FRAMES.items():
        for name, body in bodies.items():
            book.add(f"framing/{label}/{name}", frame.replace("{}", body))
    for name, body in bodies.items():
        book.add(f"framing/byte by byte/{name}", [*body, "\n"])
        book.add(f"framing/in halves/{name}", [body[:9], body[9:], "\n"])
        book.add(f"framing/newline late/{name}", [body, "\r", "\n"])
        book.add(f"framing/end in the next piece/{name}", [body + "\n" + body[:20],
                                                           body[20:] + "\n"])


# --- JSON ---------------------------------------------------------------------------------------

BAD_JSON = (
    "{", "}", "[", "]", "{}}", "[]]", "{{}", "[[]", "{]", "[}", "nonsense", "nul", "nulll", "True",
    "TRUE", "None", "undefined", "NaN", "Infinity", "-Infinity", "'a'", "`a`", "\"", "\"a", "a\"",
    '"\\"', '"\\x41"', '"\\u12"', '"\\u12G4"', '"\\U00000041"', '"\\a"', '"\\\'"', '"a\tb"',
    '"a\x01b"', '"\x7f', "01", "-01", "+1", ".5", "5.", "-", "--1", "1e", "1e+", "0x10", "1_000",
    "1,000", "1 2", "00", "1.e5", "{'a':1}", "{a:1}", "{1:1}", "{null:1}", '{"a"}', '{"a":}',
    '{"a":1,}', '{,"a":1}', '{"a":1,,"b":2}', '{"a" 1}', '{"a"=1}', '{"a":1;"b":2}',
    '{"a":1 "b":2}',
    '{"a":1}{"b":2}', '{"a":1}x', '{"a":1}//x', '{"a":1}/*x*/', "/*x*/{}", "#x", "[1,]", "[,1]",
    "[1,,2]", "[1 2]", "[1;2]", "(1)", "<a/>", "\\", ":", ",", '{"a":"b', '{"a":[1,2}',
    '{"a":{"b":1]}',
    "...", "{...}", "\x1b[A", "ping", "GET / HTTP/1.1", "--", "null null", "truefalse", '"a""b"',
    "{}[]", "[]{}", "1}", '{"jsonrpc":"2.0"', '{"jsonrpc":"2.0","id":1,"method":"ping"',
    '{"jsonrpc":"2.0","id":1,"method":"ping"}"', '{"jsonrpc":"2.0","id":1,"method":"ping"}"a',
    '{"jsonrpc":"2.0","id":1,"method":"ping"} "\\"', '[]"', '{}"\\u', '7 "', 'null"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping"]', '"jsonrpc":"2.0","id":1,"method":"ping"',
    '{"jsonrpc":"2.0","id":1,"method":ping}', '{"jsonrpc":"2.0","id":1,"method":"ping",}',
    '{"jsonrpc":"2.0",id:1,"method":"ping"}', '{"jsonrpc":"2.0","id":01,"method":"ping"}',
    '{"jsonrpc":"2.0","id":"\\u00","method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":"ping"}}',
)

NO_MESSAGE = ("7", "-1", "1.5", "1e999", '"x"', '""', "null", "true", "false", "[]", "[[]]", "[1]",
              '["ping"]', "[null]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "{}", '{"a":1}')


def add_json(book):
    for text in BAD_JSON:
        book.add(f"json/bad/{text[:40]!r}", text + "\n")
    for text in BAD_JSON[::2]:
        if not text.startswith('{"jsonrpc'):
            book.add(f"json/bad inside/{text[:40]!r}", message(params='{"a":' + text + "}") + "\n")
    for text in NO_MESSAGE:
        book.add(f"json/no message/{text[:30]}", text + "\n")
    for text in ("1e400", "-0", "-0.0", "1E5", "1e-400", "123456789012345678901234567890", "0.1e1",
                 "9" * 400, "1." + "0" * 400, '"\\/"', '"\\b\\f\\n\\r\\t"', '"\\u0000"', '"\x7f"',
                 '"\\ud83d\\ude00"', '"\\ud800"', '"\\udc00\\ud800"', "[]", "{}", "[[],{}]",
                 '{"":1}'):
        book.add(f"json/fine inside/{text[:40]}", message(params='{"a":' + text + "}") + "\n")


BAD_UTF8 = {
    "lone continuation": b"\x80", "fe": b"\xfe", "ff": b"\xff", "overlong slash": b"\xc0\xaf",
    "overlong NUL": b"\xc0\x80", "overlong of three": b"\xe0\x80\xaf", "overlong of four":
    b"\xf0\x80\x80\xaf", "surrogate": b"\xed\xa0\x80",
    "surrogate pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "two of three": b"\xe2\x82", "three of four": b"\xf0\x9f\x98", "one of two": b"\xc3",
    "beyond Unicode": b"\xf4\x90\x80\x80", "five bytes": b"\xf8\x88\x80\x80\x80",
    "Latin-1": b"caf\xe9", "UTF-16": "ping".encode("utf-16"),
    "byte order mark of UTF-16": b"\xff\xfe",
}

PLACES = {
    "id": ('"@"', '"ping"', None), "method": ("1", '"@"', None),
    "key": ("1", '"ping"', '{"@":1}'), "value": ("1", '"ping"', '{"a":"@"}'),
    "tool": ("1", '"tools/call"', '{"name":"@"}'), "notification": (None, '"@"', None),
    "modern": ("1", '"tools/list"', '{"_meta":' + META_TEXT[:-1] + ',"x":"@"}}'),
}

GOOD_TEXT = {
    "two bytes": "\u00e9", "three bytes": "\u20ac", "four bytes": "\U0001f600", "last of Unicode":
    "\U0010ffff", "no character": "\ufffe", "replacement": "\ufffd", "zero width": "\u200b",
    "right to left": "\u202etxt", "combining": "e\u0301", "DEL": "\x7f", "C1": "\u0085",
    "line separator": "\u2028", "byte order mark": "\ufeff", "escaped": "\\u0041\\n\\t\\/\\\\\\\"",
    "escaped NUL": "\\u0000", "escaped pair": "\\ud83d\\ude00", "lone high": "\\ud800",
    "lone low": "\\udfff", "wrong order": "\\udc00\\ud800", "high and a letter": "\\ud800x",
    "two highs": "\\ud800\\ud800\\udc00", "private use": "\ue000", "long": "\u20ac" * 300,
    "escape of a terminal": "\\u001b[31m", "percent": "%s%n%x", "backspace": "\\b", "upper escape":
    "\\u00E9", "lower escape": "\\u00e9", "quotes": "\\\"", "empty": "", "newline": "a\\r\\nb",
}


def add_unicode(book):
    for place, (number, method, params) in PLACES.items():
        for label, data in BAD_UTF8.items():
            line = message(number, method, params)
            book.add(f"utf8/bad/{place}/{label}", line.replace("@", data.decode("utf-8", SURROGATE))
                     + "\n")
        for label, text in GOOD_TEXT.items():
            book.add(f"unicode/{place}/{label}", message(number, method, params).replace("@", text)
                     + "\n")
    for label, data in BAD_UTF8.items():
        book.add(f"utf8/alone/{label}", data.decode("utf-8", SURROGATE).replace("\n", "") + "\n")
    for text in ("ping", "tools/list", "notifications/cancelled", "no/such"):
        escaped = "".join(f"\\u{ord(letter):04x}" for letter in text)
        book.add(f"unicode/escaped method/{text}", message("1", f'"{escaped}"') + "\n")
    for key in ("jsonrpc", "id", "method"):
        escaped = "".join(f"\\u{ord(letter):04X}" for letter in key)
        book.add(f"unicode/escaped key/{key}", message().replace(f'"{key}"', f'"{escaped}"') + "\n")


# --- the envelope -------------------------------------------------------------------------------

IDS = (
    "0", "1", "-1", "-7", "1.0", "-7.00", "1e3", "1E+2", "10e-1", "100e-2", "-0", "0.0", "-0.0",
    "0e0",
    "0e99", "9007199254740991", "-9007199254740991", "9007199254740991.0", "9.007199254740991e15",
    '""', '" "', '"0"', '"1"', '"null"', '"a"', '"\\u0061"', '"\\""', '"\\\\"', '"\\/"', '"/"',
    '"\\n"', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', '"\u00e9"', '"\U0001f600"', '"\u2028"',
    '"id"', '"{}"', '"1,\\"result\\":{}"', '"' + "i" * 200 + '"', '"../../etc"', '"%s"', '"\x7f"',
)
NO_IDS = (
    "null", "true", "false", "{}", "[]", '{"id":1}', "[1]", "1.5", "-0.5", "1e-1", "1e400",
    "-1e400",
    "1e16", "9007199254740992", "9007199254740993", "-9007199254740992", "18446744073709551616",
    "9223372036854775807", "9223372036854775808", "123456789012345678901234567890", "0.1", "1e-400",
    "9007199254740991.5", "9" * 500,
)


def add_ids(book):
    requests = {
        "ping": ('"ping"', None), "unknown method": ('"no/such"', None),
        "wrong params": ('"tools/list"', "[]"), "unknown tool": ('"tools/call"',
                                                                 '{"name":"no_such"}'),
        "discover": ('"server/discover"', '{"_meta":' + META_TEXT + "}"),
        "unknown version": ('"tools/list"', '{"_meta":' + META_TEXT.replace(MODERN,
                                                                            "2027-01-01") + "}"),
        "wrong version": ('"ping"', None),
    }
    for name, (method, params) in requests.items():
        for number in IDS:
            line = message(number, method, params, '"1.0"' if name == "wrong version" else '"2.0"')
            book.add(f"id/{name}/{number[:24]}", line + "\n")
    for number in NO_IDS:
        for name in ("ping", "unknown method", "wrong params", "discover"):
            book.add(f"id/none/{name}/{number[:24]}", message(number, *requests[name]) + "\n")
    book.add("id/at the end", '{"jsonrpc":"2.0","method":"ping","id":"z"}\n')
    book.add("id/at the front", '{"id":"a","method":"ping","jsonrpc":"2.0"}\n')
    book.add("id/spaces around", '{"jsonrpc" : "2.0" , "id" :  1.0  , "method" : "ping"}\n')
    for size, is_fine in ((65535, True), (65536, True), (65537, False)):
        pieces = ['{"jsonrpc":"2.0","method":"ping","id":"', ["i", size], '"}\n']
        want = result('"' + "i" * size + '"') if is_fine else error(None, -32600, "id")
        book.add(f"id/{size} bytes", pieces, want=[want] if not is_fine else None)
    same = message("5") + "\n" + message("5.0") + "\n" + message('"5"') + "\n"
    book.add("id/again once it is answered", same + same)


JSONRPCS = (None, '"2.0"', '"\\u0032.0"', '"1.0"', '"2"', '"2.00"', '"2.0 "', '""', "2.0", "2",
            "null",
            "true", "[]", "{}", '["2.0"]', '{"2.0":1}', '"\u0662.0"', '"2,0"', '"3.0"')


def add_versions(book):
    for version in JSONRPCS:
        for number in (None, "1", "null", '"a"'):
            for method in ('"ping"', None):
                book.add(f"jsonrpc/{version}/{number}/{method}",
                         message(number, method, version=version) + "\n")
    for name in ("JSONRPC", "Jsonrpc", "json_rpc", "jsonrpc ", "json-rpc"):
        book.add(f"jsonrpc/named {name}", message().replace("jsonrpc", name) + "\n")
    for method in ("null", "7", "true", "[]", "{}", '["ping"]', '{"ping":1}'):
        for number in (None, "1", '"a"', "null", "1.5"):
            book.add(f"method/{method}/{number}", message(number, method) + "\n")
    for rest in (',"x":1', ',"x":null', ',"":{}', ',"error":null', ',"result":{}',
                 ',"error":{"code":1}',
                 ',"result":null', ',"x":[[[]]]', ',"Method":"x"', ',"ID":2', ',"params ":[]',
                 ',"__proto__":{}', ',"constructor":1', ',"method\\u0000":"x"', ',"\\ud800":1'):
        for number in ("1", None):
            book.add(f"members/{rest}/{number}", message(number, rest=rest) + "\n")


VALUES = ("[]", "[1]", "7", "-1.5", '"x"', '""', "true", "false", "null", "{}", '{"a":1}',
          '[{"name":"x"}]')


def add_params(book):
    methods = sorted(set(book.surface.methods) - {"initialize", "subscriptions/listen"})
    for method in [*methods, "no/such"]:
        for value in VALUES[:9]:
            if value != "null":
                book.add(f"params/{method}/{value}", message(params=value,
                                                             method=f'"{method}"') + "\n")
                book.add(f"params/_meta/{method}/{value}",
                         message(params='{"_meta":' + value + "}", method=f'"{method}"') + "\n")
    for value in VALUES:
        for method in ("notifications/initialized", "notifications/cancelled",
                       "notifications/no_such",
                       "ping", "tools/call", "notifications/progress", ""):
            book.add(f"notification/{method}/{value}",
                     message(None, f'"{method}"', value) + "\n")
    for value in VALUES:
        book.add(f"ping/params {value}", message("1", params=value) + "\n")
        book.add(f"ping/a member {value}", message("1", params='{"a":' + value + "}") + "\n")
        book.add(f"ping/_meta {value}", message("1", params='{"_meta":' + value + "}") + "\n")
        book.add(f"progress/token {value}",
                 message("1", params='{"_meta":{"progressToken":' + value + "}}") + "\n")


def add_responses(book):
    for number in (None, "1", "null", '"a"', "1.5", "[]"):
        for rest in ('"result":{}', '"result":null', '"error":{"code":-1,"message":"m"}',
                     '"error":null',
                     '"result":{},"error":{}', '"error":7', '"result":[1,2]'):
            head = '"jsonrpc":"2.0",' + (f'"id":{number},' if number else "")
            book.add(f"response/{number}/{rest}", "{" + head + rest + "}\n")
    for version in ('"1.0"', "2", None):
        head = f'"jsonrpc":{version},' if version else ""
        book.add(f"response/version {version}", "{" + head + '"id":1,"result":{}}\n')


# --- size ---------------------------------------------------------------------------------------

def add_sizes(book):
    shapes = {"lists": ("[", "]"), "objects": ('{"a":', "}"), "mixed": ('[{"a":', "}]")}
    for shape, (left, right) in shapes.items():
        per = 2 if shape == "mixed" else 1
        for depth in (1, 2, 10, 60, 62, 63, 64, 100, 124, 125, 126, 127, 128, 129, 200, 1000,
                      20000):
            inside = ["1"] if shape != "lists" else []
            book.add(f"depth/{shape}/{depth * per}",
                     ['{"jsonrpc":"2.0","id":"d","method":"ping","params":{"a":', [left, depth],
                      *inside,
                      [right, depth], "}}\n"])
            if depth > 60:
                book.add(f"depth/id behind/{shape}/{depth * per}",
                         ['{"jsonrpc":"2.0","method":"ping","params":{"a":', [left, depth], *inside,
                          [right, depth], '},"id":"d"}\n'])
    for depth in (5, 127, 128, 129, 5000):
        book.add(f"depth/never closed/{depth}", [["[", depth], "\n"])
        book.add(f"depth/lists alone/{depth}", [["[", depth], ["]", depth], "\n"])
    for size in (1000, 65536, 1000000, 10485700):
        book.add(f"long/value of {size}",
                 ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"',
                                           ["x", size], '"}}\n'])
    for size in (10485759, 10485760, 10485761, 12000000):
        book.add(f"long/blank line of {size}", [[" ", size - 2], "{}", "\n"])
        book.add(f"long/garbage of {size}", [["x", size], "\n"])
    book.add("long/carriage return on the edge", [[" ", 10485758], "{}", "\r\n"])
    for count in (100, 65500, 65536, 70000):
        book.add(f"values/{count} in a list",
                 ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[1',
                                               [",1", count - 1], "]}}\n"])
    for size in (100, 10000, 300000):
        book.add(f"long/method of {size}", ['{"jsonrpc":"2.0","id":1,"method":"', ["m", size],
                                            '"}\n'])
        book.add(f"long/tool of {size}",
                 ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"',
                                          ["\u20ac", size], '"}}\n'])
        book.add(f"long/key of {size}", ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"',
                                         ["k", size], '":1}}\n'])


def add_duplicates(book):
    tops = {"jsonrpc": '"2.0"', "id": "1", "method": '"ping"', "params": "{}", "x": "1", "": "1"}
    for key, value in tops.items():
        name = key.replace("i", "\\u0069").replace("e", "\\u0065")
        for place, rest in (("plain", f',"{key}":{value}'), ("escaped", f',"{name}":{value}')):
            if key in ("x", ""):
                rest = f',"{key}":1' + rest
            if place == "plain" or name != key:
                book.add(f"duplicate/{key}/{place}", message(params="{}", rest=rest) + "\n")
                book.add(f"duplicate/notification/{key}/{place}",
                         message(None if key != "id" else "1", params="{}", rest=rest) + "\n")
    insides = {"params": '{"a":1,"a":1}', "deep": '{"a":[{"b":{"c":1,"c":2}}]}',
               "_meta": '{"_meta":{},"_meta":{}}', "escaped": '{"a":1,"\\u0061":1}',
               "case differs": '{"a":1,"A":1}', "empty": '{"":1,"":2}',
               "far apart": '{"a":1,' + ",".join(f'"k{n}":1' for n in range(300)) + ',"a":2}',
               "in two objects": '{"x":{"a":1},"y":{"a":1}}',
               "surrogates": '{"\\ud800":1,"\\uD800":1}',
               "NUL": '{"a\\u0000b":1,"a\\u0000c":1}', "name": '{"name":"x","name":"run_command"}'}
    for label, params in insides.items():
        for number in ("1", '"a"', "1.0", None):
            book.add(f"duplicate/inside/{label}/{number}", message(number, params=params) + "\n")


# --- batches ------------------------------------------------------------------------------------

def add_batches(book):
    ping, note = message("1"), message(None, '"notifications/initialized"')
    contents = {
        "empty": [], "one": [ping], "two": [ping, message('"b"')], "a notification": [note],
        "mixed": [ping, note, message("2.0")], "only notifications": [note, note],
        "a response": ['{"jsonrpc":"2.0","id":1,"result":{}}'], "a number": ["1"], "a list": ["[]"],
        "a wrong one": [ping, message("null"), message("2")], "unknown": [message("1",
                                                                                  '"no/such"')],
        "initialize": [message("1", '"initialize"', '{"protocolVersion":"2025-06-18"}')],
        "initialize and more": [ping, message("2", '"initialize"', "{}")],
        "wrong version": [message("1", version='"1.0"'), ping], "modern": [modern("1")],
        "null": ["null"], "the same id": [ping, ping], "wrong params": [message("1", params="[]")],
        "escaped ids": [message('"\\u0061"'), message('"\\ud800"')],
        "unknown tool": [message("1", '"tools/call"', '{"name":"no_such"}'), ping],
        "a hundred": [message(str(number)) for number in range(100)],
        "a hundred and one": [message(str(number)) for number in range(101)],
        "twice a key": [ping, '{"a":1,"a":2}'], "not whole": [ping, "{"], "a string": ['"ping"'],
    }
    for version in ("", *LEGACY_VERSIONS):
        for label, entries in list(contents.items())[::1 if version == BATCHES else 4]:
            book.add(f"batch/{version or 'no version'}/{label}", "[" + ",".join(entries) + "]\n",
                     group=version)


FAMILIES = (add_framing, add_json, add_unicode, add_ids, add_versions, add_params, add_responses,
            add_sizes, add_duplicates, add_batches)
