#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium in a sandbox, as puppeteer and playwright start it: their arguments, their two ways to
speak with it (a pipe, and a WebSocket of a port), a page from a server beside it. Control: the same outside."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import support
from config_support import WithFolder

BROWSER = "/usr/lib/chromium/chromium"  # without Debian's script, as a browser of npm's is started
SCRIPT = "/usr/bin/chromium"            # puppeteer's executablePath on Debian

# What both pass since years; then what each passes of its own.
BOTH = """\
--allow-pre-commit-input --disable-background-networking --disable-background-timer-throttling
--disable-backgrounding-occluded-windows --disable-breakpad --disable-client-side-phishing-detection
--disable-component-extensions-with-background-pages --disable-component-update --disable-default-apps
--disable-dev-shm-usage --disable-hang-monitor --disable-ipc-flooding-protection --disable-popup-blocking
--disable-prompt-on-repost --disable-renderer-backgrounding --disable-search-engine-choice-screen
--enable-automation --export-tagged-pdf --force-color-profile=srgb --hide-scrollbars --metrics-recording-only
--mute-audio --no-first-run --password-store=basic --use-mock-keychain""".split()
PUPPETEER = """\
--disable-extensions --disable-infobars --disable-sync --generate-pdf-document-outline --headless=new
--disable-features=Translate,AcceptCHFrame,MediaRouter,OptimizationHints,ProcessPerSiteUpToMainFrameThreshold
--enable-features=PdfOopif --remote-debugging-port=0 about:blank""".split()
PLAYWRIGHT = """\
--disable-field-trial-config --disable-back-forward-cache --no-default-browser-check --disable-extensions
--disable-features=AcceptCHFrame,DestroyProfileOnBrowserClose,DialMediaRouteProvider,GlobalMediaControls,HttpsUpgrades
--no-service-autorun --headless --unsafely-disable-devtools-self-xss-warnings --edge-skip-compat-layer-relaunch
--blink-settings=primaryHoverType=2,availableHoverTypes=2 --remote-debugging-pipe
--no-startup-window""".split()
NO_SANDBOX = ["--no-sandbox"]  # playwright passes it, and everybody's puppeteer in a container

# The page is right if script, style, canvas, worker, storage and a request to its server are.
PAGE = """<!DOCTYPE html><title>loading</title><style>h1 { width: 123px }</style><h1>hi</h1><canvas></canvas>
<script>
async function run() {
  const worker = new Worker(URL.createObjectURL(new Blob(["onmessage = (m) => postMessage(6 * m.data)"])));
  const answer = new Promise((done) => worker.onmessage = (m) => done(m.data));
  worker.postMessage(7);
  const canvas = document.querySelector("canvas").getContext("2d");
  canvas.fillStyle = "#102030"; canvas.fillRect(0, 0, 9, 9);
  localStorage.setItem("a", "kept");
  const wasm = await WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
  return [await answer, document.querySelector("h1").offsetWidth, ...canvas.getImageData(1, 1, 1, 1).data,
    localStorage.getItem("a"), wasm.instance instanceof WebAssembly.Instance, await (await fetch("/data")).text()];
}
run().then((found) => document.title = JSON.stringify(found), (error) => document.title = "error: " + error);
</script>"""
TITLE = [42, 123, 16, 32, 48, 255, "kept", True, "of the server"]

# In the sandbox: serves the page, starts the browser, asks it. Arguments: the browser and its own.
DRIVER = r'''
import base64, fcntl, http.server, json, os, re, shutil, socket, struct, subprocess, sys, tempfile, threading

class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data = b"of the server" if self.path == "/data" else open("page.html", "rb").read()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if self.path == "/data" else "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *_):
        pass

class Pipe:
    """Its descriptors 3 and 4: messages that end with a NUL."""
    def __init__(self, words):
        read, self.out = os.pipe()
        self.into, write = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (read, write)]
        self.pid = os.posix_spawn(words[0], words, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4)])
        for fd in (read, write, *high):
            os.close(fd)
        self.rest = b""
    def send(self, data):
        os.write(self.out, data + b"\0")
    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 16)
            if not more:
                sys.exit(f"the browser ended: {self.wait()}")
            self.rest += more
        data, _, self.rest = self.rest.partition(b"\0")
        return data
    def wait(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

class Web:
    """The WebSocket whose address it prints."""
    def __init__(self, words):
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE)
        for line in self.process.stderr:
            found = re.search(rb"listening on ws://([\d.]+):(\d+)(/\S+)", line)
            sys.stderr.write(line.decode())
            if found:
                break
        else:
            sys.exit(f"the browser ended: {self.wait()}")
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()
        host, port, path = (part.decode() for part in found.groups())
        self.socket = socket.create_connection((host, int(port)))
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        while self.file.readline() != b"\r\n":
            pass
    def wait(self):
        return self.process.wait()
    def send(self, data):
        size = bytes([128 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        self.socket.sendall(b"\x81" + size + bytes(4) + data)
    def receive(self):
        data, is_last = b"", False
        while not is_last:
            head, size = self.file.read(2)
            is_last = bool(head & 128)
            if size == 126:
                size, = struct.unpack(">H", self.file.read(2))
            elif size == 127:
                size, = struct.unpack(">Q", self.file.read(8))
            data += self.file.read(size)
        return data

number = 0
def ask(method, session=None, **params):
    global number
    number += 1
    message = {"id": number, "method": method, "params": params}
    browser.send(json.dumps({**message, "sessionId": session} if session else message).encode())
    while True:
        got = json.loads(browser.receive())
        if got.get("id") == number:
            if "error" in got:
                sys.exit(f"{method}: {got['error']}")
            return got["result"]

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
profile = tempfile.mkdtemp(prefix="puppeteer_dev_chrome_profile-")
words = [*sys.argv[1:], "--user-data-dir=" + profile]
browser = (Pipe if "--remote-debugging-pipe" in words else Web)(words)
target = ask("Target.createTarget", url="about:blank")["targetId"]
session = ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
ask("Page.enable", session)
ask("Emulation.setDeviceMetricsOverride", session, width=800, height=600, deviceScaleFactor=1, mobile=False)
ask("Page.navigate", session, url=f"http://127.0.0.1:{server.server_port}/")
title = ask("Runtime.evaluate", session, awaitPromise=True, returnByValue=True, expression="""new Promise((done) => {
  const look = () => document.title && document.title != "loading" ? done(document.title) : setTimeout(look, 50);
  look(); })""")["result"]["value"]
picture = base64.b64decode(ask("Page.captureScreenshot", session, format="png")["data"])
page = base64.b64decode(ask("Page.printToPDF", session)["data"])
ask("Browser.close")
code = browser.wait()
shutil.rmtree(profile, ignore_errors=True)
print(json.dumps({"title": title, "png": list(struct.unpack(">4sII", picture[1:4] + b"\0" + picture[16:24]))[1:],
                  "pdf": page[:5].decode(), "code": code}))
'''
EXPECTED = {"title": TITLE, "png": [800, 600], "pdf": "%PDF-", "code": 0}


@unittest.skipUnless(os.path.exists(BROWSER), "chromium is not installed")
class Chromium(WithFolder):
    def setUp(self):
        super().setUp()
        self.write(PAGE, "page.html")
        self.write(DRIVER, "drive.py")
        self.config = self.write("offer: [agent]\n")

    def drive(self, profile, *words):
        script = 'cat >/tmp/both; cd /tmp; python3 -c "import sys; d, p = open(\'both\').read().split(chr(0)); ' \
                 'open(\'drive.py\', \'w\').write(d); open(\'page.html\', \'w\').write(p)"; exec python3 drive.py "$@"'
        return support.run("sh", "-c", script, "sh", *words, timeout=180, input=DRIVER + "\0" + PAGE,
                           options=("--standalone", "--profile", profile, "--timeout", "170s"),
                           env=self.environment(MSP_CONFIG=self.config))

    def found(self, result):
        self.assertEqual(result.returncode, 0, result.stderr[-3000:])
        told = json.loads(result.stdout)
        if told["title"].startswith("["):
            told["title"] = json.loads(told["title"])
        return told

    def expect(self, profile, *words):
        with self.subTest(profile=profile, words=words[:1] + words[-2:]):
            self.assertEqual(self.found(self.drive(profile, *words)), EXPECTED)

    def test_outside(self):
        """The control: what the page and the driver are worth."""
        result = subprocess.run([sys.executable, "drive.py", BROWSER, *BOTH, *PLAYWRIGHT, *NO_SANDBOX], text=True,
                                cwd=self.folder, capture_output=True, timeout=180, check=False,
                                env=self.environment(), stdin=subprocess.DEVNULL)
        self.assertEqual(self.found(result), EXPECTED)

    def test_as_playwright_starts_it(self):
        for profile in ("node-dev", "agent"):
            self.expect(profile, BROWSER, *BOTH, *PLAYWRIGHT, *NO_SANDBOX)

    def test_as_puppeteer_starts_it(self):
        for profile in ("node-dev", "agent"):
            self.expect(profile, BROWSER, *BOTH, *PUPPETEER, *NO_SANDBOX)

    def test_as_few_words_as_there_can_be(self):
        """Shared memory in /dev/shm, and the crash handler."""
        self.expect("default", BROWSER, "--headless", "--remote-debugging-pipe", *NO_SANDBOX)

    def test_by_debians_script(self):
        """Its configuration in the sandbox says --no-sandbox."""
        self.expect("node-dev", SCRIPT, *BOTH, *PUPPETEER)
        self.expect("agent", SCRIPT, *BOTH, *PLAYWRIGHT)

    def test_a_sandbox_of_its_own_is_told(self):
        for profile in ("node-dev", "agent"):
            with self.subTest(profile=profile):
                result = self.drive(profile, BROWSER, *BOTH, *PUPPETEER)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("a browser's own sandbox needs namespaces; --no-sandbox goes without", result.stderr)


if __name__ == "__main__":
    unittest.main()
