# SPDX-License-Identifier: Apache-2.0
"""Lines as real clients send them, and how to spoil them. Nothing here is a test."""
import re

from families import META_TEXT, dump, message, modern
from rules import LEGACY_VERSIONS

CLIENTS = ("codex-mcp-client", "gemini-cli-mcp-client", "claude-code", "mcp-inspector", "mcporter")


def client_lines(tools):
    """What clients were seen to send, in order (tools: name -> arguments)."""
    lines = []
    for number, (client, version) in enumerate(zip(CLIENTS, (*LEGACY_VERSIONS,
                                                             LEGACY_VERSIONS[2]))):
        lines.append(dump({"method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {"roots": {"listChanged": True},
                                                         "elicitation": {}, "sampling": {}},
            "clientInfo": {"name": client, "title": client, "version": f"0.{number}.1"}},
            "jsonrpc": "2.0", "id": number}))
    lines += [message(None, '"notifications/initialized"'),
              message(None, '"notifications/initialized"', "{}"),
              message("3", '"tools/list"', '{"cursor":""}'),
              message('"list-1"', '"tools/list"', '{"_meta":{"progressToken":"list-1"}}'),
              message("4", '"ping"', "{}"), modern("0", '"server/discover"'), modern("1"),
              message("5", '"resources/list"', "{}"), message("6", '"prompts/list"', "{}"),
              message("7", '"resources/templates/list"'), modern("8", '"resources/list"'),
              message("9", '"resources/read"',
                      '{"uri":"sandbox://0123456789abcdefghjkmnpqrs/log/1"}'),
              message("10", '"prompts/get"',
                      '{"name":"run_tests","arguments":{"language":"python"}}'),
              message("11", '"completion/complete"',
                      '{"ref":{"type":"ref/prompt","name":"x"},'
                      '"argument":{"name":"y","value":"z"}}'),
              message("12", '"logging/setLevel"', '{"level":"debug"}'),
              message("13", '"resources/subscribe"', '{"uri":"sandbox://x"}'),
              modern("14", '"subscriptions/listen"', ',"notifications":{"toolsListChanged":true}'),
              modern("15", '"tasks/get"', ',"taskId":"0123456789abcdefghjkmnpqrs"'),
              message(None, '"notifications/cancelled"',
                      '{"requestId":3,"reason":"AbortError: x"}'),
              message(None, '"notifications/cancelled"', '{"requestId":"list-1"}'),
              message(None, '"notifications/roots/list_changed"'),
              '{"jsonrpc":"2.0","id":0,"result":{"roots":[{"uri":"x:y","name":"x"}]}}',
              '{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"ok":true}}}',
              '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}',
              "[" + message("20") + "," + message("21", '"tools/list"') + "]"]
    for number, (tool, arguments) in enumerate(tools.items(), 30):
        call = f'"name":"{tool}","arguments":{dump(arguments)}'
        lines += [message(str(number), '"tools/call"', "{" + call + "}"),
                  message(f'"{number}"', '"tools/call"', '{"_meta":{"progressToken":7},' + call +
                          "}"),
                  modern(str(number), '"tools/call"', "," + call),
                  message(str(number), '"tools/call"', f'{{"_meta":{META_TEXT},' + call + "}")]
    return [line.encode() for line in lines]


WORDS = [word.encode() for word in (
    "null", "true", "[]", "{}", '""', "0", "-1", "1.0", "1e400", "9007199254740993", '"\\u0000"',
    '"\\ud800"', '"2.0"', '"id":1,', '"method":"ping",', ',"id":null', '"_meta":{}', "\ufeff",
    "\u2028",
    "\U0001f600", "\x00", "\t", "\r", " ", ",", ":", "{", "}", "[", "]", '"', "\\", "\\u", "-",
    "e9",
    '"a":1,"a":1,', "[" * 130, "]" * 130, '{"a":' * 130, "x" * 5000, "1" * 400)]
WORDS += [b"\x80", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]

VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|\{\}|\[\]')
MEMBER = re.compile(rb'"(?:[^"\\]|\\.)*":(?:"(?:[^"\\]|\\.)*"|-?\d+|true|false|null|\{\}|\[\])')
ID = re.compile(rb'"id":("[^"]*"|-?\d+)')


def cut(line, numbers):
    left = numbers.randrange(len(line) + 1)
    return left, min(len(line), left + numbers.choice((0, 1, 2, 5, 20, 100)))


def flip(line, numbers, _):
    data = bytearray(line)
    for _ in range(numbers.choice((1, 1, 2, 8))):
        data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
    return bytes(data)


def truncate(line, numbers, _):
    return line[:numbers.randrange(len(line) + 1)]


def remove(line, numbers, _):
    left, right = cut(line, numbers)
    return line[:left] + line[right:]


def repeat(line, numbers, _):
    left, right = cut(line, numbers)
    return line[:left] + line[left:right] * numbers.choice((2, 3, 50)) + line[right:]


def insert(line, numbers, _):
    place = numbers.randrange(len(line) + 1)
    return line[:place] + numbers.choice(WORDS) + line[place:]


def splice(line, numbers, others):
    other = numbers.choice(others)
    return line[:numbers.randrange(len(line) + 1)] + other[numbers.randrange(len(other) + 1):]


def replace(pattern, line, numbers, value):
    found = list(pattern.finditer(line))
    if not found:
        return line
    match = numbers.choice(found)
    return line[:match.start()] + value(match) + line[match.end():]


def swap_type(line, numbers, _):
    return replace(VALUE, line, numbers, lambda _: numbers.choice(WORDS[:14]))


def swap_value(line, numbers, others):
    values = VALUE.findall(numbers.choice(others)) or [b"7"]
    return replace(VALUE, line, numbers, lambda _: numbers.choice(values))


def double_key(line, numbers, _):
    return replace(MEMBER, line, numbers, lambda match: match.group() + b"," + match.group())


def other_id(line, numbers, _):
    """Ids that others have too, that look alike, or that are none."""
    value = numbers.choice((b"1", b"1.0", b'"1"', b"-1", b"0", b'""', b"1e0", b"null", b"1.5",
                            b"{}",
                            b'"\\u0031"', b"2", b"3", b"30", b'"30"', b"31", b"9007199254740993"))
    return replace(ID, line, numbers, lambda _: b'"id":' + value)


def as_batch(line, numbers, others):
    return b"[" + b",".join([line, *numbers.sample(others, numbers.randrange(4))]) + b"]"


def unchanged(line, _, __):
    return line


MUTATORS = (flip, truncate, remove, repeat, insert, splice, swap_type, swap_value, double_key,
            other_id, other_id, as_batch, unchanged)


def spoil(numbers, lines):
    """A line made out of one of `lines`, some of the time still a good one."""
    line = numbers.choice(lines)
    for _ in range(numbers.choice((1, 1, 2, 3, 6))):
        line = numbers.choice(MUTATORS)(line, numbers, lines) if line else line
    return line
