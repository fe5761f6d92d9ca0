#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a workload finds inside: its identity, mounts, devices, a loopback, and programs that do
real work."""
import os
import re
import shutil
import subprocess
import unittest

import support

# path: (file system, options that must be there); binds of the host are listed by prefix.
MOUNTS = {
    "/": ("tmpfs", {"ro", "nosuid", "nodev"}),
    "/tmp": ("tmpfs", {"rw", "nosuid", "nodev"}),
    "/dev/shm": ("tmpfs", {"rw", "nosuid", "nodev", "noexec"}),
    "/home/agent": ("tmpfs", {"rw", "nosuid", "nodev"}),
    "/workspace": ("tmpfs", {"rw", "nosuid", "nodev"}),
    "/dev/pts": ("devpts", {"rw", "nosuid", "noexec"}),
    "/proc": ("proc", {"rw", "nosuid", "nodev", "noexec", "hidepid=invisible"}),
}
BINDS = ("/usr", "/opt", "/etc/", "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
         "/dev/urandom", "/dev/tty", "/var/lib/aspell", "/var/lib/ghc", "/var/lib/texmf")
SIZES = {"/tmp": (512, 64 << 10), "/dev/shm": (256, 16 << 10), "/home/agent": (512, 64 << 10),
         "/workspace": (1024, 256 << 10)}
LIMITS = {"RLIMIT_CORE": 0, "RLIMIT_MEMLOCK": 1 << 16, "RLIMIT_NOFILE": 768,
          "RLIMIT_FSIZE": 1 << 30, "RLIMIT_STACK": 8 << 20, "RLIMIT_NPROC": 258,
          "RLIMIT_SIGPENDING": 1024, "RLIMIT_RTPRIO": 0}


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")


def has(program):
    return os.access("/usr/bin/" + program, os.X_OK)


class Inside(unittest.TestCase):
    def assert_python(self, code, expected, **keywords):
        result = support.run_python(code, **keywords)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, expected, ""))


class View(Inside):
    def test_identity(self):
        self.assert_python("import os; print(os.getresuid(), os.getresgid(), os.getcwd(),"
                           "os.uname().nodename, os.path.expanduser('~'))",
                           "(1000, 1000, 1000) (1000, 1000, 1000) /workspace sandbox /home/agent\n")

    def test_no_group_has_a_name(self):
        """The caller's other groups cannot be dropped without privilege; they map to nobody's."""
        self.assert_python("import os; print(set(os.getgroups()) - {1000, 65534})", "set()\n")

    def test_mounts_are_these_and_no_others(self):
        seen = set()
        for line in support.run("cat", "/proc/mounts").stdout.splitlines():
            _, path, kind, options, *_ = line.split()
            options = set(options.split(","))
            with self.subTest(path=path):
                self.assertIn("nosuid", options)
                if path in MOUNTS:
                    self.assertEqual(kind, MOUNTS[path][0])
                    self.assertLessEqual(MOUNTS[path][1], options)
                    seen.add(path)
                    continue
                self.assertIn("ro", options)
                self.assertTrue(path.startswith("/proc/") or
                                any(path == bind or bind.endswith("/") and path.startswith(bind)
                                    for bind in BINDS), "not in any list")
        self.assertEqual(seen, set(MOUNTS))

    def test_sizes_and_inodes(self):
        for path, (mib, inodes) in SIZES.items():
            with self.subTest(path=path):
                self.assert_python(f"import os; s = os.statvfs('{path}'); "
                                   "print(s.f_blocks * s.f_frsize >> 20, s.f_files)",
                                   f"{mib} {inodes}\n")

    def test_a_full_file_system_says_so(self):
        self.assert_python("import os\n"
                           "done = 0\n"
                           "try:\n"
                           "    with open('/dev/shm/big', 'wb', buffering=0) as file:\n"
                           "        while True:\n"
                           "            done += file.write(bytes(1 << 20))\n"
                           "except OSError as error:\n"
                           "    print(error.errno, done >> 20)\n", "28 256\n")

    def test_too_many_files_say_so(self):
        self.assert_python("count = 0\n"
                           "try:\n"
                           "    while True:\n"
                           "        open(f'/dev/shm/{count}', 'w').close()\n"
                           "        count += 1\n"
                           "except OSError as error:\n"
                           "    print(error.errno, count > 16000)\n", "28 True\n")

    def test_files_vanish_with_the_sandbox(self):
        self.assertEqual(support.run("touch", "/workspace/mark", "/tmp/mark").returncode, 0)
        self.assertEqual(support.run("ls", "-A", "/workspace", "/tmp").stdout,
                         "/tmp:\n\n/workspace:\n")

    def test_devices(self):
        self.assert_python("assert open('/dev/zero', 'rb').read(8) == bytes(8)\n"
                           "assert len(open('/dev/urandom', 'rb').read(8)) == 8\n"
                           "assert open('/dev/null', 'rb').read() == b''\n"
                           "open('/dev/null', 'w').write('x')\n"
                           "try:\n"
                           "    open('/dev/full', 'wb', buffering=0).write(b'x')\n"
                           "except OSError as error:\n"
                           "    print(error.errno)\n", "28\n")
        entries = support.run("ls", "/dev").stdout.split()
        self.assertEqual(entries, ["fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr",
                                   "stdin", "stdout", "tty", "urandom", "zero"])

    def test_resource_limits(self):
        names = ", ".join(f"resource.getrlimit(resource.{name})" for name in LIMITS)
        expected = " ".join(f"({value}, {value})" for value in LIMITS.values())
        self.assert_python(f"import resource; print({names})", expected + "\n")

    def test_environment(self):
        result = support.run("env", options=("--env", "A=b c", "--env", "PATH=/usr/bin"))
        self.assertIn("A=b c\n", result.stdout)
        self.assertIn("PATH=/usr/bin\n", result.stdout)
        self.assertEqual(len(re.findall("^PATH=", result.stdout, re.M)), 1)
        self.assertIn("HOME=/home/agent\n", result.stdout)


class Terminal(Inside):
    def test_none_without_one(self):
        result = support.run("/bin/bash", "-c", "test -t 0 || test -t 1; echo $?; : </dev/tty")
        self.assertEqual(result.stdout, "1\n")

    def test_own_pseudo_terminals(self):
        self.assert_python("import os, pty\n"
                           "pid, fd = pty.fork()\n"
                           "if pid == 0:\n"
                           "    os.execvp('tty', ['tty'])\n"
                           "print(os.read(fd, 100).decode().strip())\n"
                           "os.waitpid(pid, 0)\n", "/dev/pts/0\n")

    def test_script(self):
        if not has("script"):
            self.skipTest("script is not installed")
        result = support.run("script", "-qec", "tty; stty size >/dev/null && echo sized",
                             "/dev/null")
        self.assertEqual(result.stdout.replace("\r", ""), "/dev/pts/0\nsized\n", result.stderr)


class Network(Inside):
    SERVER = ("import socket, threading\n"
              "def serve(listener):\n"
              "    peer, _ = listener.accept()\n"
              "    peer.sendall(peer.recv(64).upper())\n"
              "    peer.close()\n")

    def test_tcp_on_the_loopback(self):
        for family, address in (("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")):
            with self.subTest(family=family):
                self.assert_python(self.SERVER +
                                   f"listener = socket.create_server(('{address}', 0), "
                                   f"family=socket.{family})\n"
                                   "threading.Thread(target=serve, args=[listener]).start()\n"
                                   "client = socket.create_connection(listener.getsockname()[:2])\n"
                                   "client.sendall(b'hello')\n"
                                   "print(client.recv(64))\n", "b'HELLO'\n")

    def test_udp_and_unix_sockets(self):
        self.assert_python("import socket\n"
                           "server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                           "server.bind(('127.0.0.1', 0))\n"
                           "client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                           "client.sendto(b'udp', server.getsockname())\n"
                           "print(server.recv(9))\n"
                           "server = socket.socket(socket.AF_UNIX)\n"
                           "server.bind('/tmp/socket'); server.listen()\n"
                           "client = socket.socket(socket.AF_UNIX); client.connect('/tmp/socket')\n"
                           "server.accept()[0].sendall(b'unix')\n"
                           "print(client.recv(9))\n", "b'udp'\nb'unix'\n")

    def test_a_web_server(self):
        self.assert_python("import http.server, threading, urllib.request\n"
                           "class Handler(http.server.BaseHTTPRequestHandler):\n"
                           "    def do_GET(self):\n"
                           "        self.send_response(200); self.end_headers()\n"
                           "        self.wfile.write(b'page')\n"
                           "    def log_message(self, *_): pass\n"
                           "address = ('localhost', 8080)\n"
                           "server = http.server.ThreadingHTTPServer(address, Handler)\n"
                           "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
                           "print(urllib.request.urlopen('http://localhost:8080/').read())\n",
                           "b'page'\n")

    def test_the_strict_profile_has_none(self):
        result = support.run_python("import socket; socket.socket()",
                                    options=("--profile", "strict"))
        self.assertIn("PermissionError", result.stderr)


class Work(Inside):
    """Programs as agents use them."""

    def test_threads_and_processes(self):
        self.assert_python("import concurrent.futures as f, multiprocessing as m, subprocess\n"
                           "def square(n): return n * n\n"
                           "with f.ThreadPoolExecutor(8) as pool:\n"
                           "    print(sum(pool.map(square, range(100))))\n"
                           "with m.Pool(4) as pool:\n"
                           "    print(sum(pool.map(square, range(100))))\n"
                           "print(subprocess.run(['cat'], input=b'pipe', capture_output=True)"
                           ".stdout)\n", "328350\n328350\nb'pipe'\n")

    def test_temporary_files_and_memory_maps(self):
        self.assert_python("import mmap, shutil, sqlite3, tempfile, tarfile, os\n"
                           "with tempfile.TemporaryDirectory() as folder:\n"
                           "    path = folder + '/data'\n"
                           "    open(path, 'wb').write(bytes(8192))\n"
                           "    with open(path, 'r+b') as file, mmap.mmap(file.fileno(), 0) as m:\n"
                           "        m[0:4] = b'mark'; m.flush()\n"
                           "    os.chmod(path, 0o640); os.utime(path, (1, 1))\n"
                           "    shutil.copy2(path, path + '2'); os.link(path, path + '3')\n"
                           "    with tarfile.open(folder + '/t.tar', 'w') as t: t.add(path)\n"
                           "    print(open(path + '2', 'rb').read(4))\n"
                           "    base = sqlite3.connect(folder + '/base')\n"
                           "    base.execute('create table t (n)')\n"
                           "    base.execute('insert into t values (7)'); base.commit()\n"
                           "    print(base.execute('select n from t').fetchone())\n",
                           "b'mark'\n(7,)\n")

    def test_bash(self):
        result = support.run("/bin/bash", "-c",
                             "for n in {1..5}; do echo $((n*n)); done | sort -rn | head -2; "
                             "cat <<< here; diff <(echo a) <(echo a) && echo same; "
                             "trap 'echo trapped' USR1; kill -USR1 $$; sleep 0.01 & wait; "
                             "mkdir -p a/b && cd a/b && pwd && echo x > f && chmod 755 f && ls")
        self.assertEqual((result.stdout, result.stderr),
                         ("25\n16\nhere\nsame\ntrapped\n/workspace/a/b\nf\n", ""))

    def test_compile_and_run(self):
        if not has("gcc"):
            self.skipTest("gcc is not installed")
        code = ("#include <pthread.h>\n#include <stdio.h>\n"
                "static void *work(void *n) { *(long *)n *= 6; return NULL; }\n"
                "int main(void) { long n = 7; pthread_t t; pthread_create(&t, 0, work, &n);\n"
                "pthread_join(t, 0); printf(\"%ld\\n\", n); return 3; }\n")
        result = support.run("/bin/sh", "-c", "cat > a.c && gcc -O1 -pthread a.c -o a && ./a",
                             input=code)
        self.assertEqual((result.returncode, result.stdout), (3, "42\n"), result.stderr)

    def test_make_and_git(self):
        if not has("make") or not has("git"):
            self.skipTest("make or git is not installed")
        result = support.run(
            "/bin/sh", "-c", "printf 'all: a b\\na b:\\n\\t@echo $@\\n' > Makefile && make -sj2 | "
            "sort && git init -q . && git add -A && git -c user.name=a -c user.email=a@b "
            "commit -qm first && git log --format=%s")
        self.assertEqual((result.stdout, result.stderr), ("a\nb\nfirst\n", ""))

    def test_node(self):
        if not has("node"):
            self.skipTest("node is not installed")
        code = ("const { Worker } = require('worker_threads'), cp = require('child_process');"
                "new Worker(\"require('worker_threads').parentPort.postMessage(6*7)\","
                "{ eval: true }).on('message', n => { console.log(n);"
                "const s = require('http').createServer((q, r) => r.end('page')).listen(0, () =>"
                "require('http').get({ port: s.address().port }, r => r.on('data', d => {"
                "console.log(String(d)); s.close(); })));"
                "console.log(cp.execSync('echo child').toString().trim()); })")
        result = support.run("node", "-e", code)
        self.assertEqual((result.returncode, sorted(result.stdout.split())),
                         (0, ["42", "child", "page"]), result.stderr)

    def test_java(self):
        if not has("javac"):
            self.skipTest("javac is not installed")
        code = ("public class A { public static void main(String[] a) throws Exception {"
                "Thread t = new Thread(() -> System.out.println(6 * 7)); t.start(); t.join(); } }")
        result = support.run("/bin/sh", "-c", "cat > A.java && java A.java", input=code)
        self.assertEqual((result.returncode, result.stdout), (0, "42\n"), result.stderr)

    def test_perl_and_awk(self):
        self.assertEqual(support.run("perl", "-e", "print 6*7").stdout, "42")
        self.assertEqual(support.run("awk", "BEGIN { print 6*7 }").stdout, "42\n")


@unittest.skipUnless(shutil.which("script"), "needs script")
class CallersTerminal(unittest.TestCase):
    def test_the_workload_gets_one_of_its_own(self):
        command = f"{support.MSP} run {' '.join(support.limits())} -- tty"
        result = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True,
                                stdin=subprocess.DEVNULL, text=True, timeout=30, check=False)
        self.assertIn("/dev/pts/0", result.stdout)  # script also echoes the end of its input


if __name__ == "__main__":
    unittest.main()
