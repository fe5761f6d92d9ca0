# SPDX-License-Identifier: Apache-2.0
"""Edge cases of methods and tools: eras and their claims, every method in every era, handshakes,
cursors, cancellation, each argument of each tool, and executions that really run."""
import itertools

from families import BATCHES, CURRENT, META, META_TEXT, VALUES, dump, message, modern
from rules import LEGACY_VERSIONS, MODERN, PREFIX, error, result


def failed(number, says, era="legacy"):
    """A tool's result that says what was wrong with the call."""
    return dict(result(number, era, says), failed=True)


def done(number, says, era="legacy"):
    return dict(result(number, era, says), failed=False)


# --- eras ---------------------------------------------------------------------------------------

CLAIMED = {"protocolVersion": (None, f'"{MODERN}"', '"2025-11-25"', '"2099-01-01"', '""',
                               '"\\ud800"',
                               '"2026-07-28 "', "20260728", "null", '["2026-07-28"]'),
           "clientCapabilities": (None, "{}", '{"x":{"y":1}}', "null", "[]", '"x"', "true"),
           "clientInfo": (None, '{"name":"e","version":"1"}', "{}", "null", '"x"', "[]")}


def add_claims(book):
    for version, able, client in itertools.product(*CLAIMED.values()):
        parts = [f'"{PREFIX}{name}":{raw}' for name, raw in zip(CLAIMED, (version, able, client))
                 if raw is not None]
        meta = "{" + ",".join(parts) + "}"
        wild = sum(raw not in (None, "{}", f'"{MODERN}"') for raw in (version, able, client))
        for method in ("server/discover", "tools/list", "initialize"):
            if wild <= 1 or method == "tools/list" and wild == 2 and client in (None, "null"):
                book.add(f"claim/{method}/{version}, {able}, {client}",
                         modern("1", f'"{method}"', meta=meta) + "\n")
    for level in ("debug", "info", "emergency", "loud", ""):
        book.add(f"claim/log level {level!r}", modern(meta=dump(dict(META, **{
            PREFIX + "logLevel": level}))) + "\n")
    for key in ("protocolversion", "ProtocolVersion", "protocol_version", "protocolVersion "):
        book.add(f"claim/key {key}", modern("1", '"ping"',
                                            meta=f'{{"{PREFIX}{key}":"{MODERN}"}}') + "\n")
    book.add("claim/key without its prefix", modern("1", '"ping"',
                                                    meta='{"protocolVersion":"2026-07-28"}')
             + "\n")


METHODS = (
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list",
    "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
    "prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
    "subscriptions/listen",
    "tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result", "roots/list",
    "sampling/createMessage", "elicitation/create", "skills/list", "resources/directory/read",
    "notifications/initialized", "notifications/cancelled", "notifications/progress",
    "notifications/message", "notifications/tools/list_changed", "rpc.discover", "shutdown", "exit",
    "", " ", "Ping", "PING", "ping ", " ping", "pin", "pings", "ping\\u0000", "tools\\/list",
    "tools/List",
    "tools//list", "tools/list/", "/tools/list", "tools.list", "tools_list", "tools", "*",
    "../ping",
    "server/Discover", "tools/call2", "constructor", "__proto__", "toString",
)


def add_methods(book):
    """Both eras; what a method needs is missing, unless it needs nothing."""
    for method in METHODS:
        lines = {"legacy": message("1", f'"{method}"'), "modern": modern("1", f'"{method}"')}
        for era, line in lines.items():
            book.add(f"method/{era}/{method}", line + "\n")
            book.add(f"method/{era}/{method}/as a notification",
                     line.replace('"id":1,', "") + "\n", want=[])


VERSIONS = (*LEGACY_VERSIONS, MODERN, "2024-10-07", "1999-01-01", "", "2025-11-25 ", "2025-11",
            "draft",
            "9999-99-99", "\\ud800", "\\u0032025-03-26")


def add_handshakes(book):
    first = '"capabilities":{},"clientInfo":{"name":"edge","version":"1"}'
    for version in VERSIONS:
        line = message("1", '"initialize"', f'{{"protocolVersion":"{version}",{first}}}') + "\n"
        book.add(f"initialize/{version}", line, group="")
        book.add(f"initialize/{version}/again", line)
        book.add(f"initialize/{version}/and a batch", line + "[" + message('"b"') + "]\n", group="")
    for value in (*VALUES, None):
        raw = f'"protocolVersion":{value},' if value else ""
        book.add(f"initialize/version {value}", message("1", '"initialize"',
                                                        "{" + raw + first + "}") + "\n",
                 group="")
        for key in ("capabilities", "clientInfo"):
            members = {"protocolVersion": '"2025-06-18"', "capabilities": "{}", "clientInfo": "{}"}
            members[key] = value
            params = ",".join(f'"{name}":{raw}' for name, raw in members.items() if raw is not None)
            book.add(f"initialize/{key} {value}", message("1", '"initialize"',
                                                          "{" + params + "}") + "\n",
                     group="")
    notes = {"initialized": message(None, '"notifications/initialized"') + "\n",
             "ping": message('"p"') + "\n", "list": message('"l"', '"tools/list"') + "\n",
             "initialize": message('"i"', '"initialize"', '{"protocolVersion":"2025-06-18"}') +
             "\n",
             "discover": modern('"d"', '"server/discover"') + "\n"}
    for order in itertools.permutations(notes, 3):
        book.add(f"order/{', '.join(order)}", "".join(notes[name] for name in order), group="")


def add_lists(book):
    """Every list: what it is, cursors, and that it is the same whoever asks."""
    cursors = ('""', "null", '"x"', '"0"', '"after-0"', '"after-1"', '"after-100"',
               '"after-99999999999"',
               '"\\ud800"', '"\\u0000"', "0", "-1", "true", "[]", "{}", '"' + "A" * 2000 + '"')
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        if method not in book.surface.methods:
            continue
        for cursor in cursors:
            book.add(f"cursor/{method}/{cursor[:40]}", message(method=f'"{method}"',
                                                               params='{"cursor":' + cursor +
                                                               "}") + "\n")
            book.add(f"cursor/modern/{method}/{cursor[:40]}",
                     modern("1", f'"{method}"', ',"cursor":' + cursor) + "\n")
        for version in ("", *LEGACY_VERSIONS):
            book.add(f"list/{method}/{version}", message(method=f'"{method}"') + "\n",
                     group=version)
            book.add(f"list/modern/{method}/{version}", modern("1", f'"{method}"') + "\n",
                     group=version)


# --- cancelling ---------------------------------------------------------------------------------

def call_text(number, tool, arguments, meta=""):
    raw = arguments if isinstance(arguments, str) else dump(arguments)
    return message(number, '"tools/call"', f'{{{meta}"name":"{tool}","arguments":{raw}}}') + "\n"


def cancel(params):
    return message(None, '"notifications/cancelled"', params) + "\n"


def add_cancelling(book):
    for value in (*VALUES, "0", "1.0", "9007199254740993", "1e400", '"\\ud800"', "-0", None):
        params = "{}" if value is None else '{"requestId":' + value + "}"
        book.add(f"cancel/nothing/{value}", cancel(params))
        book.add(f"cancel/nothing, with an id/{value}",
                 cancel(params).replace('"method"', '"id":"c","method"'),
                 want=[error('"c"', -32601)])
        book.add(f"cancel/reason {value}", cancel('{"requestId":99,"reason":' + (value or "0") +
                                                  "}"))
    same = (("7", "7"), ("7", "7.0"), ("7", "70e-1"), ('"7"', '"7"'), ('"a"', '"\\u0061"'), ("-0",
                                                                                             "0"),
            ('"\\ud83d\\ude00"', '"\U0001f600"'), ('""', '""'), ("1e3", "1000"))
    other = (("7", '"7"'), ('"7"', "7"), ("7", "8"), ('"a"', '"A"'), ('"a"', '"a "'), ("7", "-7"),
             ("7", "7.5"), ("7", "null"), ("7", "[7]"), ('"\\ud800"', '"\\ud801"'))
    for mine, named in same:
        book.add(f"cancel/in flight/{mine} as {named}",
                 call_text(mine, "run_command",
                           {"command": "sleep 60"}) + cancel(f'{{"requestId":{named}}}'),
                 want=[])
    for mine, named in other:
        book.add(f"cancel/another/{mine}, not {named}",
                 call_text(mine, "run_command", {"command": "sleep 0.1"}) +
                 cancel(f'{{"requestId":{named}}}'), want=[done(mine, "exit 0")], slow=True)
        book.add(f"cancel/in flight, the same id again/{mine}",
                 call_text(mine, "run_command", {"command": "sleep 60"}) + message(mine) + "\n" +
                 cancel(f'{{"requestId":{mine}}}') + message(mine) + "\n",
                 want=[error(mine, -32600, "in flight"), dict(result(mine), equals={})])
    for mine, twin in same:
        book.add(f"twice in flight/{mine} and {twin}",
                 call_text(mine, "run_command", {"command": "sleep 0.1; echo one"}) +
                 call_text(twin, "run_command", {"command": "echo two"}),
                 want=[error(twin, -32600, "in flight"), done(mine, "one")], slow=True)
    for mine, twin in other[:6]:
        book.add(f"two in flight/{mine} and {twin}",
                 call_text(mine, "run_command", {"command": "echo one"}) +
                 call_text(twin, "run_command", {"command": "echo two"}),
                 want=[done(mine, "one"), done(twin, "two")] if twin not in ("7.5", "null",
                                                                             "[7]") else
                 [done(mine, "one"), error(None, -32600, "id")], slow=True)
    book.add("cancel/after the answer", [call_text("1", "run_command", {"command": "true"})],
             want=[done("1", "exit 0")], slow=True)
    book.add("cancel/twice", call_text("1", "run_command", {"command": "sleep 60"}) +
             2 * cancel('{"requestId":1}'), want=[])
    book.add("cancel/one of two", call_text("1", "run_command", {"command": "sleep 60"}) +
             call_text("2", "run_command", {"command": "echo two"}) + cancel('{"requestId":1}'),
             want=[done("2", "two")], slow=True)
    book.add("cancel/before it", cancel('{"requestId":1}') +
             call_text("1", "run_command", {"command": "echo here"}), want=[done("1", "here")],
             slow=True)
    book.add("cancel/a hundred", "".join(call_text(str(number), "run_command",
                                                   {"command": "sleep 60"}) +
                                         cancel(f'{{"requestId":{number}}}') for number
                                         in range(100)),
             want=[])
    book.add("cancel/initialize", message("1", '"initialize"',
                                          "{}") + "\n" + cancel('{"requestId":1}'))


# --- arguments ----------------------------------------------------------------------------------

# A call of each tool that would be fine; a value that no check lets pass is put into it.
SAMPLES = {"run_command": {"command": "true"}, "run_code": {"language": "bash", "code": "true"},
           "checkpoint": {"sandbox": "x", "action": "list"},
           "write_sandbox_file": {"sandbox": "x", "path": "a", "content": "x"},
           "import_files": {"sandbox": "x", "from": "/nosuch"},
           "patch_sandbox_files": {"sandbox": "x", "patch": "--- a\n+++ a\n@@\n-x\n"}}

TYPED = {"string": ("7", "1.5", "true", "[]", "{}", '["a"]'),
         "array": ("7", "true", '"a"', "{}", "[1]", "[null]", '["a",[]]', '["a",{}]',
                   '["a\\u0000b"]',
                   '["\\ud800"]'),
         "object": ("7", "true", '"a"', "[]", '{"a":1}', '{"a":null}', '{"":"x"}', '{"a=b":"x"}',
                    '{"a\\u0000":"x"}', '{"a":"\\u0000"}', '{"a":"\\udc00"}', '{"\\ud800":"x"}'),
         "integer": ('"7"', "true", "[]", "{}", "-1", "-1000000", "1.5", "0.1", "1e400", "1e-3",
                     "9007199254740993", "123456789012345678901234567890", "-0.5"),
         "boolean": ("7", "0", '"true"', '"false"', '""', "[]", "{}")}


# Bounds of integers that the schemas do not publish: they are checked all the same.
FROM_ONE = {"tty_rows", "tty_columns", "timeout_ms", "ttl_s", "limit", "max_bytes", "depth"}
UNPUBLISHED = {"tty_rows": 65535, "tty_columns": 65535, "timeout_ms": 4294967295,
               "ttl_s": 315360000, "max_bytes": 100000}
ENTRIES_MAX, BYTES_MAX = 1000000000, 9007199254740991
OFFSETS = {"diff_changes": ENTRIES_MAX, "list_sandbox_files": ENTRIES_MAX}


def bad_values(tool, name, schema):
    """Values that this parameter's check forbids, or that nothing could take."""
    values = list(TYPED[schema["type"]])
    if schema["type"] == "integer":
        most = UNPUBLISHED.get(name, OFFSETS.get(tool, BYTES_MAX))
        if name in FROM_ONE:
            values.append("0")
        values.append(str(schema.get("maximum", most) + 1))
    if "enum" in schema:
        values += ['""', '"no such"', dump(schema["enum"][0] + " "),
                   dump(schema["enum"][0].upper() + "x")]
    if schema["type"] == "string":
        values += ['"\\ud800"', '"a\\udc00b"']
    return values


def with_raw(arguments, name, raw):
    """The arguments' JSON with one of them replaced by raw text, first: the checks go in order."""
    rest = {key: value for key, value in arguments.items() if key != name}
    return "{" + ",".join([f'"{name}":{raw}', *(f'"{key}":{dump(rest[key])}' for key
                                                in rest)]) + "}"


def sample(book, tool):
    """Arguments with which nothing is wrong but for what a case puts in."""
    if tool in SAMPLES:
        return dict(SAMPLES[tool])
    schema = book.surface.tools[tool]
    fine = {"string": "x", "array": [], "object": {}, "integer": 1, "boolean": False}
    return {name: fine[schema["properties"][name]["type"]] for name in schema.get("required", [])}


def add_arguments(book):
    listed = book.surface.tools["create_sandbox"]["properties"]["profile"]
    for tool, schema in book.surface.tools.items():
        base = sample(book, tool)
        for name, entry in schema.get("properties", {}).items():
            for raw in bad_values(tool, name, listed if name == "profile" else entry):
                line = call_text("1", tool, with_raw(base, name, raw))
                is_asked = name == "language" and raw[0] == '"' and raw != '""'
                says = "" if is_asked else f"`{name}`"  # the supervisor knows more of them
                book.add(f"argument/{tool}/{name}/{raw[:40]}", line, want=[failed("1", says)],
                         slow=True)
        for name in schema.get("required", []):
            rest = {key: value for key, value in base.items() if key != name}
            book.add(f"argument/{tool}/{name}/missing", call_text("1", tool, rest),
                     want=[failed("1", f"`{name}`")])
            book.add(f"argument/{tool}/{name}/null", call_text("1", tool, dict(base,
                                                                               **{name: None})),
                     want=[failed("1", f"`{name}`")])
        for raw in ('"x"', '""', '"\\u0000"', '"\\ud800"',
                    '"' + "k" * 300 + '"',
                    '"Command"', '"_meta"', '"\\u001b[2J"'):
            book.add(f"argument/{tool}/unknown/{raw[:30]}",
                     call_text("1", tool, "{" + raw + ":1," + dump(base)[1:].replace("{}", "")
                               if base else "{" + raw + ":1}"),
                     want=[failed("1", f"{tool} has no argument")])
        for number in ("1.0", '""', "-7", '"\\u0061"', '"\\ud800"'):
            book.add(f"argument/{tool}/id {number}", call_text(number, tool, '{"no_such":1}'),
                     want=[failed(number, "no argument")])
        book.add(f"argument/{tool}/modern", modern("1", '"tools/call"',
                                                   f',"name":"{tool}","arguments":'
                                                   '{"no_such":1}') + "\n",
                 want=[failed("1", "no argument", "modern")])
        book.add(f"argument/{tool}/as a notification", call_text(None, tool, '{"no_such":1}'))
        for raw in VALUES:
            if raw not in ("null", "{}", '{"a":1}'):
                book.add(f"argument/{tool}/all {raw}", call_text("1", tool, raw))
    for raw in (*VALUES, '"run_command "', '"Run_command"', '"run_command\\u0000"', '"run-command"',
                '"run_comman"', '"\\ud800"', '"' + "n" * 5000 + '"', '"../run_command"', '"%s"',
                '"\\n"'):
        line = message("1", '"tools/call"', '{"name":' + raw + ',"arguments":{}}')
        book.add(f"tool name/{raw[:40]}", line + "\n")
        book.add(f"tool name/modern/{raw[:40]}", modern("1", '"tools/call"',
                                                        f',"name":{raw}') + "\n")
    book.add("tool name/missing", message("1", '"tools/call"', '{"arguments":{}}') + "\n")


# --- executions ---------------------------------------------------------------------------------

NUL, LONE = "\\u0000", "\\ud800"

REFUSED = {  # arguments that are fine by themselves, but cannot be
    "run_command": (
        ("{}", "`command`"), ('{"command":"true","argv":["true"]}', "not both"), ('{"argv":[]}',
                                                                                  "`argv`"),
        ('{"command":null}', "`command`"), ('{"command":"true","profile":""}', "`profile`"),
        ('{"command":"true","cwd":""}', "`cwd`"), ('{"command":"true","cwd":"here"}', "absolute"),
        ('{"command":"true","cwd":"/no/such"}', "/no/such"),
        ('{"command":"true","profile":"no_such"}',
                                                              "no_such"),
        ('{"argv":["no-such-program"]}', "no-such-program"), ('{"argv":[""]}', ""),
        ('{"argv":["/"]}', "could not be executed"), ('{"command":"a' + NUL + 'b"}', "NUL"),
        ('{"command":"a' + LONE + '"}', "surrogate"), ('{"argv":["echo","' + NUL + '"]}', "NUL"),
        ('{"command":"true","cwd":"/' + NUL + '"}', "NUL"), ('{"command":"true","stdin":"' + LONE +
                                                             '"}',
                                                             "surrogate"),
        ('{"command":"true","timeout_ms":0}', "`timeout_ms`"),
    ),
    "run_code": (
        ('{"language":"no_such","code":""}', "no_such"), ('{"language":"","code":"x"}',
                                                          "`language`"),
        ('{"language":"bash","code":"true","profile":"no_such"}', "no_such"),
        ('{"language":"bash","code":"' + NUL + '"}', "NUL"), ('{"language":"bash","code":"' +
                                                              LONE + '"}',
                                                              "surrogate"),
        ('{"language":"ba' + NUL + 'sh","code":"true"}', "NUL"),
        ('{"language":"Bash","code":"true"}', "Bash"),
        ('{"language":"bash","code":"true","args":["' + NUL + '"]}', "NUL"),
        ('{"language":"bash","code":"true","timeout_ms":1.5}', "`timeout_ms`"),
    ),
}

RUN = {  # what really runs, and a part of the answer
    "run_command": (
        ('{"command":"true"}', "exit 0"), ('{"command":"exit 3"}', "exit 3"),
        ('{"command":"false"}', "exit 1"),
        ('{"argv":["echo","a b","","c"]}', "a b  c\\n"), ('{"command":"kill -9 $$"}',
                                                          "signal 9 (SIGKILL)"),
        ('{"command":"echo out; echo err >&2"}', "[stderr]\\nerr\\n"),
        ('{"command":"cat","stdin":"in"}', "in\\n"),
        ('{"command":"cat","stdin":"a\\u0000b"}', "a\\\\x00b"), ('{"command":"cat","stdin":""}',
                                                                 "exit 0"),
        ('{"command":"wc -c","stdin":"\\ud83d\\ude00"}', "4\\n"),
        ('{"command":"echo $A","env":{"A":"v"}}', "v\\n"),
        ('{"command":"pwd"}', "/workspace\\n"), ('{"command":"pwd","cwd":"/tmp"}', "/tmp\\n"),
        ('{"command":"echo \\u00e9 \\ud83d\\ude00"}', "\u00e9 \U0001f600\\n"),
        ('{"command":"printf \\"\\\\\\\\377\\\\\\\\376\\""}', "\\\\xff\\\\xfe"),
        ('{"command":"printf \\"\\\\\\\\0\\""}', "\\\\x00"), ('{"command":"printf a"}',
                                                              "a\\n[exit 0"),
        ('{"command":"printf \\"\\\\\\\\33[31m\\""}', "\\\\x1b[31m"), ('{"command":""}', "exit 0"),
        ('{"command":"true","timeout_ms":60000}', "exit 0"),
        ('{"command":"true","timeout_ms":6e4}', "exit 0"),
        ('{"command":"true","timeout_ms":60000.0}', "exit 0"), ('{"command":"true","env":{}}',
                                                                "exit 0"),
        ('{"command":"true","env":null,"argv":null,"cwd":null,"stdin":null,"timeout_ms":null}',
         "exit 0"),
        ('{"command":"sleep 60","timeout_ms":50}', "stopped at its time limit"), ('{"argv":["true"]}',
                                                                      "exit 0"),
        ('{"command":"yes | head -c 100000"}', "[output cut: stdout has 100000 bytes"),
        ('{"command":"head -c 30000 /dev/zero"}', "\\\\x00"), ('{"command":"echo $#"}', "0\\n"),
        ('{"command":"echo \\"{}}],\\\\\\"id\\\\\\":9\\""}', "{}}],"),
        ('{"argv":["printf","%s","%n"]}', "%n\\n"),
        ('{"argv":["sh","-c","exit 200"]}', "exit 200"), ('{"command":"no_such_program_here"}',
                                                          "exit 127"),
    ),
    "run_code": (
        ('{"language":"bash","code":"echo $((6*7))"}', "42\\n"), ('{"language":"bash","code":""}',
                                                                  "exit 0"),
        ('{"language":"python","code":"print(6*7)"}', "42\\n"),
        ('{"language":"bash","code":"exit 9"}', "exit 9"),
        ('{"language":"python","code":"import sys; print(sys.argv[1:])","args":["a"," ",""]}',
         "['a', ' ', '']"),
        ('{"language":"python","code":"print(input())","stdin":"line\\n"}', "line\\n"),
        ('{"language":"bash","code":"echo \\ud83d\\ude00"}', "\U0001f600\\n"),
        ('{"language":"python","code":"1/0"}', "ZeroDivisionError"),
        ('{"language":"bash","code":"cat","stdin":"\\u0000"}', "\\\\x00"),
        ('{"language":"bash","code":"true","args":[]}', "exit 0"),
    ),
}


def add_executions(book):
    for tool, rows in REFUSED.items():
        for raw, says in rows:
            book.add(f"refused/{tool}/{raw[:60]}", call_text("1", tool, raw), want=[failed("1",
                                                                                           says)],
                     slow=True)
            book.add(f"refused/modern/{tool}/{raw[:60]}",
                     modern('"r"', '"tools/call"', f',"name":"{tool}","arguments":{raw}') + "\n",
                     want=[failed('"r"', says, "modern")], slow=True)
    for number, (tool, rows) in enumerate(RUN.items()):
        for raw, says in rows:
            mine = ("1.0", '""', '"\\u0061"', "-7", '"\\ud800"')[(number + len(raw)) % 5]
            book.add(f"run/{tool}/{raw[:60]}", call_text(mine, tool, raw), want=[done(mine, says)],
                     slow=True)
            book.add(f"run/modern/{tool}/{raw[:60]}",
                     modern(mine, '"tools/call"', f',"name":"{tool}","arguments":{raw}') + "\n",
                     want=[done(mine, says, "modern")], slow=True)
    for token in ('"p"', "7", "1.0", '""', "null", "{}", "1.5", '"\\ud800"'):
        book.add(f"run/progress token {token}",
                 call_text("1", "run_command", {"command": "true"},
                           '"_meta":{"progressToken":' + token + "},"),
                 want=[done("1", "exit 0")], slow=True)
    for version in ("", *LEGACY_VERSIONS):
        book.add(f"run/after {version or 'no handshake'}", call_text("1", "run_command",
                                                                     {"command": "true"}),
                 want=[done("1", "exit 0")], slow=True, group=version)
    ten = [f'"n{number}"' for number in range(10)]
    book.add("run/ten at once", "".join(call_text(mine, "run_command",
                                                  {"command": f"echo {mine[1:-1]}"})
                                        for mine in ten),
             want=[done(mine, mine[1:-1] + "\\n") for mine in ten], slow=True)
    for mine in ten[:3]:
        book.add(f"run/in a batch/{mine}", "[" + call_text(mine, "run_command",
                                                           {"command": "echo b"}).strip() +
                 "," + message("2") + "," + call_text("3", "run_command",
                                                      '{"no_such":1}').strip() + "]\n",
                 want=[{"batch": [done(mine, "b\\n"), result("2"), failed("3", "no argument")]}],
                 slow=True,
                 group=BATCHES)


def add_ends(book):
    """What is unanswered when the input ends is dropped; what ran is killed."""
    sleep = call_text("1", "run_command", {"command": "sleep 60"})
    for label, last in {"nothing": "", "half a line": '{"jsonrpc":"2.0","id":1,"met',
                        "a whole line without "
                        "its newline": message(), "a byte order mark": "\ufeff", "half a character":
                        "\udce2", "a call": sleep, "two calls and half a line": sleep +
                        sleep.replace(
                            ":1,", ":2,") + "{", "a long half line": "x" * 100000,
                        "a carriage return": "\r",
                        "a discarded half line": "x" * 11000000}.items():
        book.add_steps(f"end/{label}", [{"in": [message() + "\n"], "want": [dict(result("1"),
                                                                                 equals={})]}],
                       ends=True, alone=True, last=[last] if len(last) < 100000 else [["x",
                                                                                       len(last)]])


FAMILIES = (add_claims, add_methods, add_handshakes, add_lists, add_cancelling, add_arguments,
            add_executions, add_ends)

__all__ = ["FAMILIES", "CURRENT", "META_TEXT"]
