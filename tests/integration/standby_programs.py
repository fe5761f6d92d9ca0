# SPDX-License-Identifier: Apache-2.0
"""Small programs that each look at something that a way of starting an interpreter could change:
what it was started with, how it reads its code, how it ends, what it leaves. Nothing here is a
test. Each prints the same whenever and wherever it runs."""

_LINES = r"""
print(1)
print("ä€😀")
print("no newline", end="")
print("a\tb\x00c\x7f")
print(ascii("\ud800"))
print("\ud800")
print(*range(5000))
print("x" * 300000)
import sys; print(sys.argv)
import sys; print(sys.orig_argv)
import sys; print(sys.path)
import sys; print(sys.flags)
import sys; print(sys.executable, sys.prefix, sys.base_prefix)
import sys; print(sorted(sys.modules))
import sys; print(sys.warnoptions, sys._xoptions, sys.dont_write_bytecode)
import sys; print(sys.getrecursionlimit(), sys.getswitchinterval())
import sys; print(sys.stdout.encoding, sys.stderr.errors, sys.stdin.encoding)
import sys; print(sys.stdout.isatty(), sys.stdin.isatty(), sys.stderr.line_buffering)
import sys; print(sys.stdout.fileno(), sys.stdout.write_through, sys.stdin.mode)
import sys; print(sys.meta_path, list(sys.path_importer_cache))
import sys; print(sys.getfilesystemencoding(), sys.getdefaultencoding())
import sys; print(sys.gettrace(), sys.getprofile(), sys.exc_info())
print(__name__, __file__, __doc__, __spec__, __package__, __loader__.__class__, __builtins__)
print(sorted(globals()))
print(sorted(dir()), sorted(vars()))
"docstring"; print(__doc__)
import os; print(sorted(os.environ.items()))
import os; print(os.getcwd(), os.path.abspath(__file__))
import os; print(os.getuid(), os.getgid(), os.getgroups(), os.umask(0o22))
import os; print(sorted(os.listdir("/proc/self/fd")))
import os; print([os.readlink(f"/proc/self/fd/{n}").split(":")[0] for n in range(3)])
import os; print(os.getppid(), os.getpgrp() == os.getpid(), os.getpriority(os.PRIO_PROCESS, 0))
import os; print(os.sched_getaffinity(0) == os.sched_getaffinity(os.getppid()))
import os; print(os.sched_getscheduler(0))
import os; print(os.stat(__file__).st_size, oct(os.stat(__file__).st_mode), os.stat(__file__).st_nlink)
import os; print(oct(os.stat(os.path.dirname(__file__)).st_mode), os.listdir(os.path.dirname(__file__)))
import os; print(open("/proc/self/cmdline").read().split("\0"))
import os; print(open("/proc/self/comm").read())
import os; print([l for l in open("/proc/self/status") if l.startswith(("Cap", "NoNew", "Seccomp", "Sig", "Shd", "Uid", "Gid", "Threads", "NSpgid:", "Umask", "TracerPid"))][:9])
import os; print([l for l in open("/proc/self/status") if l.startswith(("SigBlk", "SigIgn", "SigCgt", "SigPnd"))])
print(open(__file__).read())
print(open(__file__, "rb").read().hex())
import linecache; print(linecache.getlines(__file__))
import inspect, sys; print(inspect.getsource(sys.modules["__main__"]))
import resource; print([resource.getrlimit(n) for n in range(16)])
import signal; print([signal.getsignal(n) for n in (1, 2, 13, 14, 15, 17)])
import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())
import threading; print(threading.active_count(), threading.current_thread().name)
import gc; print(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())
import locale; print(locale.getlocale(), locale.getpreferredencoding())
import site; print(site.ENABLE_USER_SITE, site.getuserbase())
import time; print(time.tzname)
import atexit; atexit.register(print, "at exit")
import atexit, os; atexit.register(os._exit, 9)
import sys; sys.exit()
import sys; sys.exit(3)
import sys; sys.exit(256 + 4)
import sys; sys.exit("a message")
import sys; sys.exit([1, 2])
raise SystemExit(5)
raise KeyboardInterrupt
raise ValueError("a value")
raise ValueError from KeyError("k")
1 / 0
undefined
import no_such_module
from os import no_such_name
assert False, "why"
print("before"
x = = 1
  print("indented")
return 1
"unterminated
f(
print(1);; print(2)
0777
nonlocal x
from __future__ import no_such_feature
from __future__ import annotations; print(annotations)
eval("1 +")
exec("raise ValueError", {})
compile("a b", "other.py", "exec")
import os; os._exit(7)
import os; os.abort()
import os; os.kill(os.getpid(), 9)
import os; os.kill(os.getpid(), 15)
import os, signal; signal.raise_signal(signal.SIGSEGV)
import os, signal; signal.signal(15, lambda *a: print("caught")); os.kill(os.getpid(), 15)
import signal, os; signal.alarm(1); signal.pause()
import os; print(os.fork() == 0 and os._exit(0) or os.wait()[1])
import os; os.execv("/bin/echo", ["echo", "another"])
import os; os.close(1); print("nowhere")
import os; os.close(2); raise ValueError
import os; os.write(2, b"raw\xff\xfe\n")
import sys; print("error", file=sys.stderr); print("out")
import sys; sys.stdout.write("a"); sys.stderr.write("b"); sys.stdout.write("c")
import subprocess; print(subprocess.run(["sh", "-c", "echo $0 $HOME; exit 4"], capture_output=True))
import subprocess, sys; print(subprocess.run([sys.executable, "-c", "import sys; print(sys.flags)"], capture_output=True).stdout)
import subprocess, sys; print(subprocess.run([sys.executable, __file__ + "x"], capture_output=True).returncode)
import multiprocessing as m; m.set_start_method("fork"); q = m.SimpleQueue(); p = m.Process(target=q.put, args=(3,)); p.start(); p.join(); print(q.get())
import concurrent.futures as c; print(list(c.ThreadPoolExecutor(2).map(abs, [-1, -2])))
import asyncio; print(asyncio.run(asyncio.sleep(0, "slept")))
import socket; a, b = socket.socketpair(); a.send(b"x"); print(b.recv(9))
import socket; socket.create_connection(("192.0.2.1", 9), 1)
import ctypes; print(ctypes.sizeof(ctypes.c_long))
import os; os.mount if hasattr(os, "mount") else print("no mount")
import os; os.unshare(0x10000000) if hasattr(os, "unshare") else print("no unshare")
import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.unshare(0x10000000), ctypes.get_errno())
import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.ptrace(16, 1, 0, 0), ctypes.get_errno())
open("/etc/passwd", "a")
open("/nowhere/file", "w")
open("made", "w").write("made\n")
open("made", "a").write("more\n"); print(open("made").read())
import os; os.mkdir("folder"); os.symlink("../made", "folder/link"); print(os.listdir("folder"))
import os; open(os.path.expanduser("~/at home"), "w").write("x"); print(os.listdir(os.path.expanduser("~")))
import os; os.remove(__file__); print(os.path.exists(__file__)); raise ValueError
open(__file__, "w").write("print('changed')"); print("as it was"); raise ValueError
open(__file__, "a").write("\nprint('never')\n")
open("helper.py", "w").write("print('helper')"); import helper
import os, sys; open(os.path.dirname(__file__) + "/beside.py", "w").write("x = 4"); import beside; print(beside.x)
import runpy; runpy.run_path(__file__ + "/none")
import tempfile; print(tempfile.gettempdir())
import hashlib; print(hashlib.sha256(open(__file__, "rb").read()).hexdigest())
import pickle; print(pickle.loads(pickle.dumps({1: (2, [3])})))
class A: pass
print(type("B", (), {}).__module__, (lambda: 0).__code__.co_filename)
import warnings; warnings.warn("a warning")
import traceback; traceback.print_stack()
import faulthandler; print(faulthandler.is_enabled())
import tracemalloc; print(tracemalloc.is_tracing())
import code; print(code.interact.__name__)
input()
print(repr(__import__("sys").stdin.read()))
import pdb; pdb.set_trace()
import sys; sys.setrecursionlimit(60); f = lambda: f(); f()
x = [None] * (1 << 20); print(len(x))
#
pass
"""

_WHOLE = [
    "",
    "\n\n\n",
    "# -*- coding: latin-1 -*-\nprint('\u00e4')\n",
    "# -*- coding: nonsense -*-\nprint(1)\n",
    "\ufeffprint('with a mark')\n",
    "print(1)\r\nprint(2)\r\n",
    "#!/usr/bin/env python3\nprint('with a line for a shell')\n",
    "def f(n):\n    if n:\n        f(n - 1)\n    else:\n        raise KeyError('deep')\n\n\nf(4)\n",
    "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise OSError(2, 'two')\n",
    "async def f():\n    raise ExceptionGroup('all', [ValueError(1), KeyError(2)])\n\n\n"
    "import asyncio\nasyncio.run(f())\n",
    "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='other')\nt.start()\nt.join()\n"
    "print('alive')\n",
    "class D:\n    def __del__(self):\n        print('deleted')\n\n\nd = D()\n",
    "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\nraise ValueError\n",
    # Into a text: what it prints has the time that it took.
    "import io\nimport unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n"
    "        self.assertIn('main.py', __file__)\n\n\nprint(unittest.main(exit=False, argv=['t'], "
    "testRunner=unittest.TextTestRunner(io.StringIO())).result.wasSuccessful())\n",
    "import dataclasses\n\n\n@dataclasses.dataclass\nclass P:\n    x: int\n\n\nprint(P(1))\n",
    "x = 1\n" * 3000 + "raise ValueError('far down')\n",
    "print('a long file')\n" + "# filling\n" * 60000,
    "if True:\n\tprint('tab')\n        print('and blanks')\n",
    "match [1, 2]:\n    case [a, b]:\n        print(a, b)\n",
    "print('''\nmany\nlines\n''')\n",
    "print('the end has no newline')",
    "print(1)\n\x1aprint(2)\n",
    "def f():\n    yield 1\n    return 2\n\n\nprint(list(f()))\n",
    "import signal\nsignal.signal(signal.SIGALRM, lambda *a: 1 / 0)\nsignal.setitimer(0, 0.01)\n"
    "signal.pause()\n",
]

PROGRAMS = [line + "\n" for line in _LINES.strip("\n").split("\n")] + _WHOLE
