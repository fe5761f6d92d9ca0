#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that a workload sends to a host whose requests are read, as tables, and the act that sends
them. requests.py runs this file in a sandbox. Nothing here is a test.

In a text, @ stands for the row's mark, which the host must not get, $ for the placeholder, and {HOST} for
the host of the connection; a line ends with \\n, which goes out as CR and LF, but \\r and \\v (a bare line
feed) as they are."""
import concurrent.futures
import json
import re
import socket
import ssl
import sys

PORT = 8443
API, OTHER, RAW = "api.example.net", "other.example.net", "raw.example.net"
WAIT_S = 0.5  # for more, after the answer that a row waits for
END_S = 40  # for that answer: only what hangs takes as long
ANSWERED, REFUSED, CLOSED = r"HTTP/1\.1 \d\d\d ", r"HTTP/1\.1 [45]\d\d ", r"(?!)"  # a row waits for
AT_ONCE = 100
HEAD = f"Host: {{HOST}}:{PORT}\n"
OK = f"GET /v1/a HTTP/1.1\n{HEAD}\n"
NEXT = f"GET /v2/@ HTTP/1.1\n{HEAD}\n"  # a request that no rule allows
POST = f"POST /v1/a HTTP/1.1\n{HEAD}"


def chunks(first, rest=""):
    """A chunked request, whose chunks begin so, before one that no rule allows."""
    return f"{POST}Transfer-Encoding: chunked\n\n{first}{rest or NEXT}"


# What the host must not get: where two readers see different ends, and requests that no rule allows.
SMUGGLED = {
    "two lengths": f"{POST}Content-Length: 0\nContent-Length: 70\n\n{NEXT}",
    "two lengths in one field": f"{POST}Content-Length: 0, 70\n\n{NEXT}",
    "a length with a sign": f"{POST}Content-Length: +0\n\n{NEXT}",
    "a length in hexadecimal": f"{POST}Content-Length: 0x0\n\n{NEXT}",
    "a length that is negative": f"{POST}Content-Length: -1\n\n{NEXT}",
    "a length beyond 64 bits": f"{POST}Content-Length: 18446744073709551616\n\n{NEXT}",
    "an empty length": f"{POST}Content-Length:\n\n{NEXT}",
    "a length and chunks": f"{POST}Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n{NEXT}",
    "chunks and a length": f"{POST}Transfer-Encoding: chunked\nContent-Length: 5\n\n0\n\n{NEXT}",
    "an unknown coding": f"{POST}Transfer-Encoding: xchunked\n\n{NEXT}",
    "chunked, and another coding": f"{POST}Transfer-Encoding: chunked, identity\n\n0\n\n{NEXT}",
    "another coding, and chunked": f"{POST}Transfer-Encoding: gzip, chunked\n\n0\n\n{NEXT}",
    "a coding twice": f"{POST}Transfer-Encoding: chunked\nTransfer-Encoding: x\n\n0\n\n{NEXT}",
    "a coding in a list with a gap": f"{POST}Transfer-Encoding: , chunked\n\n0\n\n{NEXT}",
    "a coding in quotes": f"{POST}Transfer-Encoding: \"chunked\"\n\n0\n\n{NEXT}",
    "a vertical tab before the coding": f"{POST}Transfer-Encoding: \x0bchunked\n\n0\n\n{NEXT}",
    "a blank before the colon": f"{POST}Transfer-Encoding : chunked\n\n0\n\n{NEXT}",
    "a tab before the colon": f"{POST}Content-Length\t: 0\n\n{NEXT}",
    "a folded coding": f"{POST}Transfer-Encoding:\n chunked\n\n0\n\n{NEXT}",
    "a folded length": f"{POST}Content-Length: 0\n\t1\n\n{NEXT}",
    "a blank first": f" {POST}Content-Length: 0\n\n{NEXT}",
    "a field before the host that is folded": f"POST /v1/a HTTP/1.1\n X: y\n{HEAD}\n{NEXT}",
    "a bare line feed in a field": f"GET /v1/a HTTP/1.1\n{HEAD}X: y\v\v{NEXT}",
    "bare line feeds alone": OK.replace("\n", "\v") + NEXT.replace("\n", "\v"),
    "a bare line feed in the request line": f"GET /v1/a HTTP/1.1\vX: y\n{HEAD}\n{NEXT}",
    "a bare carriage return in a field": f"GET /v1/a HTTP/1.1\n{HEAD}X: y\r\r{NEXT}",
    "a zero byte in a field": f"GET /v1/a HTTP/1.1\n{HEAD}X: y\0\n\n{NEXT}",
    "a zero byte in a name": f"GET /v1/a HTTP/1.1\n{HEAD}X\0: y\n\n{NEXT}",
    "a field without a colon": f"GET /v1/a HTTP/1.1\n{HEAD}GET /v2/@ HTTP/1.1\n\n",
    "a field without a name": f"GET /v1/a HTTP/1.1\n{HEAD}: /v2/@\n\n",
    "a chunk in hexadecimal with 0x": chunks("0x0\n\n"),
    "a chunk with a sign": chunks("+0\n\n"),
    "a chunk that is negative": chunks("-1\n\n"),
    "a chunk with an underscore": chunks("0_0\n\n"),
    "a chunk with a blank": chunks(" 0\n\n"),
    "a chunk beyond 64 bits": chunks("10000000000000005\nhello\n0\n\n"),
    "an empty chunk size": chunks("\n\n"),
    "a chunk whose line has a bare line feed": chunks("0\v\v"),
    "an extension with a bare line feed": chunks("5;a=b\vhello\n0\n\n"),
    "an extension with a bare carriage return": chunks("5;a\rb\nhello\n0\n\n"),
    "a chunk that is longer than it says": chunks("5\nhello!\n0\n\n"),
    "a chunk without its end": chunks("5\nhello0\n\n"),
    "a trailer with a bare line feed": chunks("0\nX: y\v\v"),
    "a trailer that is folded": chunks("0\nX: y\n z\n\n"),
    "a length in a trailer": f"{POST}Transfer-Encoding: chunked\n\n0\nContent-Length: 70 @\n\n",
    "CONNECT": f"CONNECT {OTHER}:{PORT} HTTP/1.1\n{HEAD}\n@",
    "CONNECT, and what follows it": f"CONNECT {{HOST}}:{PORT} HTTP/1.1\n{HEAD}\n{NEXT}",
    "an absolute target": f"GET https://{{HOST}}:{PORT}/v2/@ HTTP/1.1\n{HEAD}\n",
    "an absolute target of another host": f"GET https://{OTHER}:{PORT}/v1/@ HTTP/1.1\n{HEAD}\n",
    "an absolute target, and another host": f"GET http://{OTHER}/v1/@ HTTP/1.1\nHost: {OTHER}\n\n",
    "a target that is an authority": f"GET //{OTHER}/v1/@ HTTP/1.1\n{HEAD}\n",
    "a target without a slash": f"GET v1/@ HTTP/1.1\n{HEAD}\n",
    "a target with a fragment": f"GET /v1/a#/../../v2/@ HTTP/1.1\n{HEAD}\n",
    "an asterisk": f"OPTIONS * HTTP/1.1\n{HEAD}X: @\n\n",
    "TRACE": f"TRACE /v1/@ HTTP/1.1\n{HEAD}\n",
    "another method": f"DELETE /v1/@ HTTP/1.1\n{HEAD}\n",
    "a method in small letters": f"get /v1/@ HTTP/1.1\n{HEAD}\n",
    "a method with a zero byte": f"GET\0 /v1/@ HTTP/1.1\n{HEAD}\n",
    "two blanks in the request line": f"GET  /v1/@ HTTP/1.1\n{HEAD}\n",
    "a tab in the request line": f"GET\t/v1/@ HTTP/1.1\n{HEAD}\n",
    "a blank in the target": f"GET /v1/a /v2/@ HTTP/1.1\n{HEAD}\n",
    "a request line in another": f"GET /v1/a HTTP/1.1 /v2/@ HTTP/1.1\n{HEAD}\n",
    "HTTP/0.9": "GET /v1/@\n",
    "HTTP/1.0": f"GET /v1/@ HTTP/1.0\n{HEAD}\n",
    "HTTP/1.2": f"GET /v1/@ HTTP/1.2\n{HEAD}\n",
    "HTTP/2 from the beginning": "PRI * HTTP/2.0\n\nSM\n\n@",
    "no host": "GET /v1/@ HTTP/1.1\nX: y\n\n",
    "an empty host": "GET /v1/@ HTTP/1.1\nHost:\n\n",
    "two hosts": f"GET /v1/@ HTTP/1.1\n{HEAD}Host: {OTHER}:{PORT}\n\n",
    "the same host twice": f"GET /v1/@ HTTP/1.1\n{HEAD}{HEAD}\n",
    "another host": f"GET /v1/@ HTTP/1.1\nHost: {OTHER}:{PORT}\n\n",
    "the host with another port": "GET /v1/@ HTTP/1.1\nHost: {HOST}:1\n\n",
    "the host with a name before it": f"GET /v1/@ HTTP/1.1\nHost: me@{{HOST}}:{PORT}\n\n",
    "the host with a path": f"GET /v1/@ HTTP/1.1\nHost: {{HOST}}:{PORT}/x\n\n",
    "a second request to another host": f"{OK}GET /v1/@ HTTP/1.1\nHost: {OTHER}:{PORT}\n\n",
    "a second request beyond the rules": f"{OK}{NEXT}",
    "a second request behind a body": f"{POST}Content-Length: 2\n\nhi{NEXT}",
    "a second request behind a body of GET":
        f"GET /v1/a HTTP/1.1\n{HEAD}Content-Length: 2\n\nhi{NEXT}",
    "WebSocket": f"GET /v1/a HTTP/1.1\n{HEAD}Connection: Upgrade\nUpgrade: websocket\n"
                 "Sec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\n\n@",
    "HTTP/2 by an upgrade": f"GET /v1/a HTTP/1.1\n{HEAD}Connection: Upgrade, HTTP2-Settings\n"
                            "Upgrade: h2c\nHTTP2-Settings: AAMAAABkAAQAAP__\n\nPRI * HTTP/2.0 @",
    "an upgrade to TLS": f"OPTIONS /v1/a HTTP/1.1\n{HEAD}Connection: Upgrade\n"
                         "Upgrade: TLS/1.0\n\n@",
    "a head that is too long": f"GET /v1/@ HTTP/1.1\n{HEAD}X: {'y' * 70000}\n\n",
}
# Ways of one path to another, for servers that read them differently.
SMUGGLED.update({f"the path {path}": f"GET {path} HTTP/1.1\n{HEAD}\n" for path in (
    "/v2/@", "/v1@", "/V1/@", "/v1/../v2/@", "/v1/./@", "/v1/a/../../v2/@", "/v1/%2e%2e/v2/@",
    "/v1/.%2e/v2/@", "/v1/%2E./v2/@", "/v1/..%2fv2/@", "/v1%2f..%2fv2/@", "/v1/%2f../v2/@",
    "/v1/..;/v2/@", "/v1/..;x=y/v2/@", "/v1/..\\v2\\@", "/v1/..%5cv2/@", "/v1//../v2/@", "//v2/@",
    "/v1/%00/@", "/v1/%0d%0a/@", "/v1/%/@", "/v1/%zz/@", "/v1/%252e%252e/v2/@", "/%76%32/@",
    "/;/v1/@", "/v1;/../v2/@", "/v1/\x80/@", "/v1/\x7f@")})
# Sound spellings that a rule covers: a row of these has to come to the host, or all are refused.
ALLOWED = {
    "a request": f"GET /v1/@ HTTP/1.1\n{HEAD}\n",
    "a query": f"GET /v1/a?b=/../@ HTTP/1.1\n{HEAD}\n",
    "a body": f"{POST}Content-Length: 9\n\n@",
    "chunks": f"{POST}Transfer-Encoding: chunked\n\n9\n@\n0\n\n",
    "a letter in percent": f"GET /v1/%61/@ HTTP/1.1\n{HEAD}\n",
    "a question mark in percent": f"GET /v1/%3f/@ HTTP/1.1\n{HEAD}\n",
    "two requests": f"{OK}GET /v1/@ HTTP/1.1\n{HEAD}\n",
}
# Places of a placeholder from which its value must not go out.
PLACES = {
    "another field": f"GET /v1/a HTTP/1.1\n{HEAD}X-Key: $\n\n",
    "a cookie": f"GET /v1/a HTTP/1.1\n{HEAD}Cookie: a=$\n\n",
    "a field that begins like its own": f"GET /v1/a HTTP/1.1\n{HEAD}Authorization-Info: $\n\n",
    "its own and another field":
        f"GET /v1/a HTTP/1.1\n{HEAD}Authorization: $\nX-Forwarded-Authorization: $\n\n",
    "a folded field": f"GET /v1/a HTTP/1.1\n{HEAD}X: y\n Authorization: $\n\n",
    "a name of a field": f"GET /v1/a HTTP/1.1\n{HEAD}$: x\n\n",
    "the host": "GET /v1/a HTTP/1.1\nHost: $\n\n",
    "the path": f"GET /v1/$ HTTP/1.1\n{HEAD}\n",
    "the query": f"GET /v1/a?t=$ HTTP/1.1\n{HEAD}\n",
    "the method": f"$ /v1/a HTTP/1.1\n{HEAD}\n",
    "the body": f"{POST}Content-Length: 20\n\n$$$$",
    "a chunk": f"{POST}Transfer-Encoding: chunked\n\n14\n$$$$\n0\n\n",
    "an extension of a chunk": f"{POST}Transfer-Encoding: chunked\n\n1;a=$\nx\n0\n\n",
    "a trailer": f"{POST}Transfer-Encoding: chunked\n\n0\nX-Key: $\n\n",
    "its own field as a trailer": f"{POST}Transfer-Encoding: chunked\n\n0\nAuthorization: $\n\n",
    "the body that looks like a request":
        f"{POST}Content-Length: 99\n\nGET /v1/a HTTP/1.1\n{HEAD}Authorization: $\n\n",
}
# Rows of SMUGGLED that get no refusal: the trailer and the upgrade are left out, and the line of HTTP/0.9
# waits for the rest of a head.
UNREFUSED = ("a length in a trailer", "HTTP/0.9", "HTTP/2 by an upgrade")
# Forms in which a host may give the value back.
ECHOES = ("plain", "split", "chunks", "field", "reason", "trailer", "location", "json", "json-slash",
          "percent", "base64", "base64-1", "base64-2", "base64-url", "basic", "gzip", "deflate", "range",
          "twice", "error", "early")


def send_row(context, host, address, text, awaited):
    """Send a text to a host, and return what comes back: until the end of the connection, or for
    WAIT_S after what is awaited, a pattern."""
    answer = b""
    try:
        with socket.create_connection((address, PORT), END_S) as plain, \
                context.wrap_socket(plain, server_hostname=host) as one:
            one.sendall(text.encode("latin-1"))
            one.settimeout(END_S if awaited else WAIT_S)
            while part := one.recv(1 << 16):
                answer += part
                if re.search(awaited, answer.decode("latin-1")):
                    one.settimeout(WAIT_S)
    except OSError:
        pass
    return answer.decode("latin-1")


def spell(text, host, mark, placeholder):
    text = text.replace("\n", "\r\n").replace("\v", "\n")
    return text.replace("{HOST}", host).replace("@", mark).replace("$", placeholder)


def main():
    rows = json.load(sys.stdin)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    addresses = {host: socket.gethostbyname(host) for host, _, _ in rows}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        print(json.dumps(list(pool.map(
            lambda row: send_row(context, row[0], addresses[row[0]], *row[1:]), rows))))


if __name__ == "__main__":
    sys.exit(main())
