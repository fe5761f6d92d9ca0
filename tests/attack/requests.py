#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of requests_rows.py, by a workload to a host whose requests are read and which has a
secret. The control sends each row to a host of the same profile that passes unread: there it arrives."""
import base64
import contextlib
import gzip
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import network_support  # noqa: E402
import requests_rows as table  # noqa: E402
from cli_support import LIMITS, msp  # noqa: E402
from config_support import WithFolder  # noqa: E402
from network_support import SERVER, asked  # noqa: E402
from requests_rows import API, OTHER, PORT, RAW  # noqa: E402

VALUE = "sesame/open+0123456789-abcdefgh"
PUBLIC = VALUE[::-1]  # the control's
PLACEHOLDER = "msp-TOKEN-secret"
METADATA = "169.254.169.254"
CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts: ["{API}:{PORT} https", "{OTHER}:{PORT} https", "{RAW}:{PORT} tls"]
    requests: ["GET,POST {API}/v1/", "* {OTHER}"]
    secrets:
      - {{name: TOKEN, hosts: [{API}], header: Authorization, file: FOLDER/token}}
"""


# --- the host ------------------------------------------------------------------------------------

def chunked(*parts, trailer=""):
    return "".join(f"{len(part):x}\r\n{part}\r\n" for part in parts) + f"0\r\n{trailer}\r\n"


def answer_of(form, value, fields):
    """An answer with the value of a field in some form."""
    def whole(body, status="200 OK", more=""):
        body = body if isinstance(body, bytes) else body.encode()
        return f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def coded(before=""):
        return base64.b64encode(f"{before}{value}!".encode()).decode()
    tail = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    packed = "gzip" in fields.get("accept-encoding", "")
    ranged = re.search(r"bytes=(\d+)-(\d+)", fields.get("range", ""))
    forms = {
        "plain": lambda: whole(f"<{value}>"), "twice": lambda: whole(value * 2),
        "split": lambda: [bytes([byte]) for byte in whole(f"<{value}>")],
        "chunks": lambda: (tail + chunked(*f"<{value}>")).encode(),
        "field": lambda: whole("", more=f"X-Echo: {value}\r\n"),
        "reason": lambda: whole("", status=f"200 {value}"),
        "trailer": lambda: (tail + chunked("x", trailer=f"X-Echo: {value}\r\n")).encode(),
        "location": lambda: whole("", "302 Found", f"Location: https://a.example/?t={value}\r\n"),
        "json": lambda: whole(json.dumps({"a": value})),
        "json-slash": lambda: whole(json.dumps({"a": value}).replace("/", "\\/")),
        "percent": lambda: whole(urllib.parse.quote(value, safe="")),
        "base64": lambda: whole(coded()), "base64-1": lambda: whole(coded("a")),
        "base64-2": lambda: whole(coded("ab")),
        "base64-url": lambda: whole(base64.urlsafe_b64encode(value.encode()).decode()),
        "basic": lambda: whole("", "401 No", f"WWW-Authenticate: Basic {coded('me:')}\r\n"),
        "gzip": lambda: whole(gzip.compress(value.encode()), more="Content-Encoding: gzip\r\n")
        if packed else whole(value),
        "deflate": lambda: whole(zlib.compress(value.encode()), more="Content-Encoding: deflate\r\n"),
        "range": lambda: whole(value[int(ranged[1]):int(ranged[2])], "206 Part")
        if ranged else whole(value),
        "error": lambda: whole(f"bad token {value}", "500 Bad"),
        "early": lambda: b"HTTP/1.1 103 Early Hints\r\nLink: <" + value.encode() + b">\r\n\r\n" +
        whole(""),
    }
    answer = forms[form]()
    return answer if isinstance(answer, list) else [answer]


def serve_connection(plain, context):
    """Answer each head, and note all bytes of the connection at its end."""
    data, seen = b"", 0
    with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as one:
        with contextlib.suppress(OSError):
            while part := one.recv(1 << 16):
                data += part
                while (at := data.find(b"\r\n\r\n", seen)) >= 0:
                    head, seen = data[seen:at].decode("latin-1"), at + 4
                    for piece in answer_head(head):
                        one.sendall(piece)
                    if "\r\nConnection: close" in head:
                        one.shutdown(socket.SHUT_RDWR)
        network_support.note(one.said_name, data.decode("latin-1"))


def answer_head(head):
    lines = head.split("\r\n")
    fields = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines[1:])}
    if led := re.match(r"GET /v1/leads/(\w+) ", lines[0]):
        return [f"HTTP/1.1 302 Found\r\nLocation: http://{METADATA}/{led[1]}\r\n"
                "Content-Length: 0\r\n\r\n".encode()]
    form = re.match(r"GET /v1/echo/([\w-]+) ", lines[0])
    if not form:
        return [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]
    return answer_of(form[1], fields.get("authorization", ""), fields)


def serve():
    """In the servers' namespace: one for all names, which notes what it gets, and a metadata service."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(network_support.folder(), "certificate.pem"),
                            os.path.join(network_support.folder(), "key.pem"))

    def keep_name(one, name, _):
        one.said_name = name
    context.sni_callback = keep_name
    subprocess.run(["ip", "addr", "add", f"{METADATA}/32", "dev", "lo"], check=True)
    listener = socket.create_server((SERVER, PORT), backlog=256)

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve_connection, args=(connection, context), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


network_support.HOSTS.update(dict.fromkeys((API, OTHER, RAW), None))
network_support.STARTS.append(serve)


# --- what a workload can read out of an answer ---------------------------------------------------

def join_chunks(text):
    """All bytes of an answer's chunks, whatever else is in it."""
    return "".join(text[found.end():found.end() + int(found[1], 16)]
                   for found in re.finditer(r"(?:^|\r\n)([0-9a-f]{1,4})\r\n", text))


def unpack(text):
    with contextlib.suppress(zlib.error):
        yield zlib.decompressobj(47).decompress(text.encode("latin-1")).decode("latin-1")


def decode(text):
    for run in re.findall(r"[A-Za-z0-9+/_-]{16,}", text):
        for start in range(4):
            part = run[start:].replace("-", "+").replace("_", "/")
            part = part[:-1] if len(part) % 4 == 1 else part
            yield base64.b64decode(part + "=" * (-len(part) % 4)).decode("latin-1")


def readings(text):
    body = text.partition("\r\n\r\n")[2]
    yield from (text, body, join_chunks(body), urllib.parse.unquote(text), text.replace("\\/", "/"))
    yield from decode(text)
    yield from unpack(body)


def tells(answers, value):
    """Can a workload read the value out of the answers?"""
    bodies = "".join(answer.partition("\r\n\r\n")[2] for answer in answers)
    return any(value in reading for answer in (*answers, bodies) for reading in readings(answer))


def mark(number):
    return f"way{number:03}out"


class WithRows(WithFolder):
    def setUp(self):
        super().setUp()
        self.token = self.write(VALUE + "\n", name="token", mode=0o600)
        self.config = self.write(CONFIG.replace("FOLDER", self.folder))

    def send(self, rows, is_there=lambda got: True):
        """Send rows of (host, text[, what its answer waits for]) from a sandbox; the answers, and what
        each host got of these, once what has to be there is."""
        before = {host: len(asked(host)) for host in (API, OTHER, RAW)}
        rows = [(host, table.spell(text, host, mark(number), PLACEHOLDER),
                 *(awaited or [table.ANSWERED if "\n\n" in text else ""]))
                for number, (host, text, *awaited) in enumerate(rows)]
        with open(table.__file__, encoding="utf-8") as file:
            code = file.read()
        result = msp("run", "--standalone", *LIMITS, "--profile", "net", "--", "python3", "-c", code,
                     input=json.dumps(rows), env=self.environment(MSP_CONFIG=self.config))
        self.assertEqual(result.returncode, 0, result.stderr)
        deadline = time.monotonic() + table.END_S
        while True:
            time.sleep(0.3)  # the last connections end at the host
            got = {host: "\n".join(asked(host)[count:]) for host, count in before.items()}
            if is_there(got) or time.monotonic() > deadline:
                return json.loads(result.stdout), got


class Requests(WithRows):
    def numbers(self, text):
        return {int(number) for number in re.findall(r"way(\d{3})out", text)}

    def test_what_the_host_must_not_get(self):
        rows = table.SMUGGLED
        names = list(rows)
        answers, got = self.send([(API, text, "" if name in table.UNREFUSED else table.REFUSED)
                                  for name, text in rows.items()])
        came = self.numbers(got[API] + got[OTHER])
        self.assertEqual([names[number] for number in sorted(came)], [])
        self.assertEqual([name for name, answer in zip(names, answers)
                          if not re.search(table.REFUSED, answer)],
                         [name for name in names if name in table.UNREFUSED])

    def test_control(self):
        rows = [(RAW, text) for text in table.SMUGGLED.values()]
        wanted = set(range(len(rows)))
        _, got = self.send(rows, lambda got: self.numbers(got[RAW]) == wanted)
        self.assertEqual(self.numbers(got[RAW]), wanted)

    def test_sound_requests_come(self):
        rows = [(API, text) for text in table.ALLOWED.values()]
        wanted = set(range(len(rows)))
        _, got = self.send(rows, lambda got: self.numbers(got[API]) == wanted)
        self.assertEqual(self.numbers(got[API]), wanted)


class Secrets(WithRows):
    def test_places_from_which_no_value_goes_out(self):
        rows = [(API, text) for text in table.PLACES.values()]
        rows += [(OTHER, text) for text in table.PLACES.values()]
        rows.append((OTHER, f"GET / HTTP/1.1\n{table.HEAD}Authorization: $\n\n"))
        _, got = self.send(rows)
        self.assertNotIn(VALUE, got[API] + got[OTHER])
        control = [(RAW, text.replace("$", VALUE)) for _, text in rows]
        control.append((API, f"GET /v1/a HTTP/1.1\n{table.HEAD}Authorization: $\n\n"))
        _, got = self.send(control, lambda got: got[RAW].count(VALUE) >= len(rows) and VALUE in got[API])
        self.assertGreaterEqual(got[RAW].count(VALUE), len(rows))
        self.assertEqual(got[API].count(f"Authorization: {VALUE}\r\n"), 1)

    @staticmethod
    def echo(host, form, value):
        ranges = ("Range: bytes=0-16\n", "Range: bytes=16-99\n") if form == "range" else ("",)
        return [(host, f"GET /v1/echo/{form} HTTP/1.1\n{table.HEAD}Authorization: {value}\n"
                 f"Connection: close\nAccept-Encoding: gzip, deflate\n{one}\n", table.CLOSED)
                for one in ranges]

    def send_echoes(self, host, value):
        rows = [(form, row) for form in table.ECHOES for row in self.echo(host, form, value)]
        answers, got = self.send([row for _, row in rows], lambda got: host == RAW or
                                 got[API].count(f"Authorization: {VALUE}\r\n") >= len(rows))
        return {form: [answer for (its, _), answer in zip(rows, answers) if its == form]
                for form in table.ECHOES}, got, len(rows)

    def test_an_answer_does_not_tell_the_value(self):
        answers, got, count = self.send_echoes(API, "$")
        self.assertEqual(got[API].count(f"Authorization: {VALUE}\r\n"), count)
        self.assertEqual([form for form in answers if tells(answers[form], VALUE)], [])
        control, _, _ = self.send_echoes(RAW, PUBLIC)
        self.assertEqual([form for form in control if not tells(control[form], PUBLIC)], [])


class Redirects(WithRows):
    def follow(self, host, word, profile=None):
        words = ("curl", "-ksL", "--max-time", "10", f"https://{host}:{PORT}/v1/leads/{word}")
        if profile:
            self.run_msp(*words, options=("--profile", profile), MSP_CONFIG=self.config)
        else:
            subprocess.run(words, capture_output=True, check=False, timeout=30)
        return [path for path in asked("path") if word in path]

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_to_a_metadata_service(self):
        for host in (API, RAW):
            self.assertEqual(self.follow(host, f"in{host[:3]}", "net"), [])
        self.assertEqual(self.follow(RAW, "control"), ["80/control"])


if __name__ == "__main__":
    network_support.main()
