# SPDX-License-Identifier: Apache-2.0
"""Measuring as an ordinary account when root starts it: nobody runs msp as root. What only root may
read of processes, the account's process asks for over a socket."""
import json
import os
import socket
import sys

import context


def run_as(entry, place, work):
    """What `work` returns in a child that is this account, or its parent's for None. `place` becomes
    the account's. `work` is given a function that reads the memory of processes."""
    if entry:
        give_to(entry, place)
        keep_packages(entry)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    out = os.path.join(place, "result.json")
    pid = os.fork()
    if pid == 0:
        ours.close()
        os._exit(run_child(entry, place, out, lambda: work(lambda pids: ask(theirs, pids))))
    theirs.close()
    answer(ours)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        raise context.Missing("measuring ended early")
    with open(out, encoding="ascii") as file:
        return json.load(file)


def run_child(entry, place, out, work):
    try:
        if entry:
            become(entry, place)
        result = work()
        with open(out, "w", encoding="ascii") as file:
            json.dump(result, file)
        return 0
    except (Exception, SystemExit, KeyboardInterrupt) as problem:  # the parent cleans up
        print(f"bench: {problem!r}", file=sys.stderr)
        return 1


def give_to(entry, place):
    for folder, _, names in os.walk(place):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.chown(path, entry.pw_uid, entry.pw_gid)


def keep_packages(entry):
    """Give the account, which has no home, the place for packages that ./dev test gives it."""
    kept = f"/var/tmp/msp-test-packages-{os.getuid()}"
    os.makedirs(kept, mode=0o755, exist_ok=True)
    if os.path.islink(kept) or os.stat(kept).st_uid != os.getuid():
        raise context.Missing(f"{kept} is somebody else's: remove it")
    folder = os.path.join(kept, "node")
    os.makedirs(folder, exist_ok=True)
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    os.environ.setdefault("MSP_NODE_CACHE", folder)
    os.environ.setdefault("MSP_KERNEL_CACHE", folder)


def become(entry, place):
    os.setgroups([])
    os.setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid)
    os.setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid)
    os.environ.update(HOME=place, USER=entry.pw_name, LOGNAME=entry.pw_name)
    os.chdir(place)


def ask(channel, pids):
    channel.send(json.dumps(pids).encode())
    return json.loads(channel.recv(64))


def answer(channel):
    """Until the other end is closed."""
    while question := channel.recv(1 << 20):
        channel.send(json.dumps(context.read_pss(json.loads(question))).encode())
    channel.close()
