# SPDX-License-Identifier: Apache-2.0
"""Servers that stand for the package indexes and code hosts of the shipped profiles, each with one
small package. Nothing here is a test."""
import base64
import gzip
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import threading
import zipfile

from network_support import HOSTS, NAMES, SERVER, STARTS, folder

DATABASE = "db.example.org"
GIT, GIT_PASSWORD = "git.example.org", "sesame-open-0123456789"
AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")
WHEEL = {
    "greet_py.py": "def greet():\n    return 'hello from a wheel'\n",
    "greet_py-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greet-py\nVersion: 1.0\n",
    "greet_py-1.0.dist-info/WHEEL":
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "greet_py-1.0.dist-info/RECORD": "",
}
NODE = {
    "package/package.json": '{"name": "greet-js", "version": "1.0.0", "main": "index.js"}',
    "package/index.js": "module.exports = 'hello from a tarball';\n",
}
CRATE = {
    "greet-rs-1.0.0/Cargo.toml":
        '[package]\nname = "greet-rs"\nversion = "1.0.0"\nedition = "2021"\n',
    "greet-rs-1.0.0/src/lib.rs":
        "pub fn greet() -> &'static str {\n    \"hello from a crate\"\n}\n",
}
GO = "example.org/greet"
MODULE = {
    f"{GO}@v1.0.0/go.mod": f"module {GO}\n",
    f"{GO}@v1.0.0/greet.go":
        "package greet\n\nfunc Greet() string { return \"hello from a module\" }\n",
}
DEB = ("Package: greet\nVersion: 1.0\nArchitecture: all\nMaintainer: tests\nDescription: hello\n"
       "Filename: pool/greet.deb\nSize: 1\nSHA256: " + "0" * 64 + "\n\n")


def pack_tar(files):
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb", mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


def pack_zip(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return data.getvalue()


def go_sum(files):
    """The hash of these files as go.sum has it."""
    lines = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n"
                    for name, text in sorted(files.items()))
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


def go_sums():
    return (f"{GO} v1.0.0 {go_sum(MODULE)}\n"
            f"{GO} v1.0.0/go.mod {go_sum({'go.mod': MODULE[f'{GO}@v1.0.0/go.mod']})}\n")


def integrity():
    """The hash of npm's package as its lock file has it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(pack_tar(NODE)).digest()).decode()


def _sha256(data):
    return hashlib.sha256(data).hexdigest()


def _release():
    listed = f" {_sha256(DEB.encode())} {len(DEB)} main/binary-all/Packages\n"
    return ("Origin: tests\nSuite: stable\nCodename: stable\nArchitectures: all\nComponents: main\n"
            f"Date: Thu, 26 Nov 2026 12:00:00 UTC\nSHA256:\n{listed}")


def _files():
    """{(host, path): bytes} of all that is a file."""
    wheel, crate, module = pack_zip(WHEEL), pack_tar(CRATE), f"/{GO}/@v/v1.0.0"
    tarball = "https://registry.npmjs.org/greet-js/-/greet-js-1.0.0.tgz"
    index = {"name": "greet-rs", "vers": "1.0.0", "deps": [], "cksum": _sha256(crate),
             "features": {}, "yanked": False}
    return {
        ("pypi.org", "/simple/greet-py/"):
            f'<a href="https://files.pythonhosted.org/packages/greet_py-1.0-py3-none-any.whl'
            f'#sha256={_sha256(wheel)}">greet_py-1.0-py3-none-any.whl</a>'.encode(),
        ("files.pythonhosted.org", "/packages/greet_py-1.0-py3-none-any.whl"): wheel,
        ("registry.npmjs.org", "/greet-js"): json.dumps({
            "name": "greet-js", "dist-tags": {"latest": "1.0.0"},
            "versions": {"1.0.0": {"name": "greet-js", "version": "1.0.0", "dist": {
                "tarball": tarball, "integrity": integrity()}}}}).encode(),
        ("registry.npmjs.org", "/greet-js/-/greet-js-1.0.0.tgz"): pack_tar(NODE),
        ("index.crates.io", "/config.json"):
            b'{"dl": "https://static.crates.io/crates", "api": "https://crates.io"}',
        ("index.crates.io", "/gr/ee/greet-rs"): json.dumps(index).encode(),
        ("static.crates.io", "/crates/greet-rs/1.0.0/download"): crate,
        ("proxy.golang.org", module + ".info"):
            b'{"Version": "v1.0.0", "Time": "2026-11-26T12:00:00Z"}',
        ("proxy.golang.org", module + ".mod"): MODULE[f"{GO}@v1.0.0/go.mod"].encode(),
        ("proxy.golang.org", module + ".zip"): pack_zip(MODULE),
        ("deb.debian.org", "/debian/dists/stable/Release"): _release().encode(),
        ("deb.debian.org", "/debian/dists/stable/main/binary-all/Packages"): DEB.encode(),
    }


FILES = _files()


def _answer_file(request):
    host = request.headers["Host"].partition(":")[0]
    body = FILES.get((host, request.path.partition("?")[0]))
    kind = "text/html" if host == "pypi.org" else "application/octet-stream"
    request.answer(404 if body is None else 200, body or b"no such file\n", kind)


def _answer_private_git(request):
    """The same repositories, also for pushes, to whoever has the password."""
    said = request.headers.get("Authorization", "")
    wanted = base64.b64encode(f"me:{GIT_PASSWORD}".encode()).decode()
    if said == f"Basic {wanted}":
        _answer_git(request, REMOTE_USER="me")
        return
    request.send_response(401)
    request.send_header("WWW-Authenticate", 'Basic realm="git"')
    request.send_header("Content-Length", "0")
    request.end_headers()


def _answer_git(request, **more):
    """The repositories below folder()/git, by git's own program for a web server."""
    path, _, query = request.path.partition("?")
    body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
    environment = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": os.path.join(folder(), "git"),
                   "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": request.command, "PATH_INFO": path,
                   "QUERY_STRING": query, "CONTENT_TYPE": request.headers.get("Content-Type", ""),
                   "CONTENT_LENGTH": str(len(body)),
                   "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
                   "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
                   "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                   "GIT_CONFIG_VALUE_0": "*", **more}
    said = subprocess.run(["git", "http-backend"], input=body, env=environment, check=True,
                          capture_output=True).stdout
    head, _, text = said.partition(b"\r\n\r\n")
    kinds = [line.partition(b": ")[2].decode() for line in head.split(b"\r\n")
             if line.startswith(b"Content-Type")]
    request.answer(404 if b"Status: 404" in head else 200, text, *kinds)


def sshd():
    return shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")


def postgres():
    """The folder of PostgreSQL's own programs, the newest one's."""
    top = "/usr/lib/postgresql"
    versions = sorted(os.listdir(top), key=lambda name: name.zfill(4)) if os.path.isdir(top) else []
    found = [os.path.join(top, name, "bin") for name in versions
             if os.path.exists(os.path.join(top, name, "bin", "initdb"))]
    return found[-1] if found and shutil.which("psql") else None


def _make_repository():
    place = os.path.join(folder(), "git", "team", "greeter.git")
    work = os.path.join(folder(), "greeter")
    for words in (["init", "-q", "-b", "main", work],
                  ["-C", work, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q",
                   "--allow-empty", "-m", "hello from a repository"],
                  ["clone", "-q", "--bare", work, place],
                  ["clone", "-q", "--bare", work, place.replace("greeter", "pushed")],
                  ["-C", place.replace("greeter", "pushed"), "config", "http.receivepack", "true"]):
        subprocess.run(["git", *words], check=True)


def _start_sshd():
    """One process for each connection to port 22; the user `git` has the key folder()/id."""
    place = os.path.join(folder(), "ssh")
    os.mkdir(place, 0o755)
    for name in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                        os.path.join(place, name)], check=True)
    with open("/etc/passwd", encoding="utf-8") as file:
        others = [line for line in file if ":1000:" not in line and not line.startswith("git:")]
    with open(os.path.join(place, "passwd"), "w", encoding="utf-8") as file:
        file.write(f"git:x:1000:1000::{place}:/bin/sh\n" + "".join(others))
    subprocess.run(["mount", "--bind", file.name, "/etc/passwd"], check=True)
    options = ("UsePAM=no", "StrictModes=no", f"HostKey={place}/host", "PasswordAuthentication=no",
               f"AuthorizedKeysFile={place}/id.pub", "PidFile=none")
    words = [*AS_USER, sshd(), "-i", "-e", "-f", "/dev/null",
             *(word for option in options for word in ("-o", option))]
    listener = socket.create_server(("0.0.0.0", 22))

    def serve():
        while True:
            connection, _ = listener.accept()
            with open(os.path.join(place, "log"), "ab") as log, connection:
                subprocess.Popen(words, stdin=connection, stdout=connection, stderr=log)
    threading.Thread(target=serve, daemon=True).start()


def _start_postgres():
    place, data = os.path.join(folder(), "postgres"), os.path.join(folder(), "postgres", "data")
    os.mkdir(place)
    with open(os.path.join(place, "log"), "wb") as log:
        subprocess.run([*AS_USER, os.path.join(postgres(), "initdb"), "-D", data, "-U", "agent",
                        "--no-sync", "--no-instructions", "-A", "trust"], check=True, stdout=log,
                       stderr=log)
        with open(os.path.join(data, "pg_hba.conf"), "a", encoding="ascii") as file:
            file.write("host all all 0.0.0.0/0 trust\n")
        subprocess.Popen([*AS_USER, os.path.join(postgres(), "postgres"), "-D", data, "-h",
                          SERVER, "-k", place, "-c", "fsync=off"], stdout=log, stderr=log)


HOSTS.update({host: _answer_file for host, _ in FILES})
HOSTS.update({"sum.golang.org": _answer_file, "github.com": _answer_git, GIT: _answer_private_git})
NAMES[DATABASE] = [SERVER]
if shutil.which("git"):
    STARTS.append(_make_repository)
if sshd():
    STARTS.append(_start_sshd)
if postgres():
    STARTS.append(_start_postgres)
