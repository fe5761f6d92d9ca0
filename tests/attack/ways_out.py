#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ways out of ways_out_rows.py, each tried in one sandbox with hosts: none of their packets comes to
the world beyond the machine. The control does the same beside the sandbox, with the rights of the
network's owner: a row counts if its packets come there, or its act succeeds."""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import network_support  # noqa: E402
import support  # noqa: E402
import ways_out_rows as table  # noqa: E402
from config_support import WithFolder  # noqa: E402
from network_support import INSIDE, NAMES, OTHER, OWN, SERVER  # noqa: E402

AT_ONCE = 24
V6 = "2001:db8:5::"
SECONDARY = "5.6.7.77"  # of this machine, beside OWN
NAMES.update({
    "mapped.example.org": ["::ffff:127.0.0.1"],
    "mapped-private.example.org": [f"::ffff:{INSIDE}"],
    "nat64.example.org": ["64:ff9b::a4d:707"],
    "nat64-metadata.example.org": ["64:ff9b::a9fe:a9fe"],
    "metadata.example.org": ["169.254.169.254"],
    "alias-private.example.org": ["=private.example.org"],
    "alias-metadata.example.org": ["=metadata.example.org"],
    "six-to-four.example.org": ["2002:a4d:707::1"],
    "unique-local.example.org": ["fd00::7"],
    "link-local.example.org": ["169.254.7.7"],
    "zero.example.org": ["0.0.0.0"],
    "broadcast.example.org": ["255.255.255.255"],
    "shared.example.org": ["100.64.7.7"],
    "alibaba.example.org": ["100.100.100.200"],
    "secondary.example.org": [SECONDARY],
    "mapped-secondary.example.org": [f"::ffff:{SECONDARY}"],
    "nat64-own.example.org": [f"64:ff9b::{OWN}"],
    "isatap-own.example.org": [f"2a00:1234::200:5efe:{OWN}"],
    "any-local.example.org": ["5.9.7.7"],
    "moving.example.org": [[SERVER], [INSIDE]],
    "turning.example.org": [[SERVER], ["169.254.169.254"]],
})
CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts: ["{table.WEB}:80,443", "*.{table.WILD}:80", {OTHER}:8080, moving.example.org:80,
      turning.example.org:80, {", ".join(f"{name}.example.org:80" for name in table.LED)}]
"""
# Rows whose act says itself that it has succeeded.
BY_RESULT = (table.opened, table.listens, table.option, table.device, table.route, table.call,
             table.enter, table.writes)
MARK = re.compile(rb"way(\d{3})out")
FEWEST = 300  # rows with a control: fewer, and this machine shows too little


def seen_path():
    return os.path.join(network_support.folder(), "seen")


def see(number):
    with open(seen_path(), "a", encoding="ascii") as file:
        file.write(f"{number}\n")


def seen():
    with open(seen_path(), encoding="ascii") as file:
        return {int(line) for line in file}


def read_frame(frame):
    """The numbers of the rows that this frame is of. For a host that moves only a frame to the address
    that it must not come to counts."""
    kind, = struct.unpack_from(">H", frame, 12)
    found = {int(number) for number in MARK.findall(frame)}
    target = None
    if kind == 0x0800 and len(frame) >= 38:
        target = socket.inet_ntoa(frame[30:34])
        at = 14 + 4 * (frame[14] & 15)
        if frame[23] in (6, 17, 33, 132, 136):
            found.add(struct.unpack_from(">H", frame, at + 2)[0] - table.PORT)
    elif kind == 0x86DD and len(frame) >= 58 and frame[20] in (6, 17):
        found.add(struct.unpack_from(">H", frame, 56)[0] - table.PORT)
    return {number for number in found if 0 <= number <= len(table.ROWS) and
            (number == len(table.ROWS) or table.ROWS[number][1] != table.often or target != SERVER)}


def catch_frames():
    """In the servers' namespace: each address is here, and each frame is read."""
    for words in (["addr", "add", f"{V6}8/64", "dev", "srv0", "nodad"],
                  ["route", "add", f"{OWN}/32", "dev", "srv0", "table", "local"],
                  ["route", "add", "local", "0.0.0.0/0", "dev", "lo", "table", "local"],
                  ["-6", "route", "add", f"{V6}1/128", "dev", "srv0", "table", "local"],
                  ["-6", "route", "add", "local", "::/0", "dev", "lo", "table", "local"]):
        subprocess.run(["ip", *words], check=True)
    ports = {row[3] for row in table.ROWS if row[1] in (table.tcp, table.ask_at) and len(row) > 3}
    listeners = [socket.create_server(("0.0.0.0", port))
                 for port in ports - {None, *network_support.PORTS, 443}]
    listeners += [socket.create_server(("::", port), family=socket.AF_INET6) for port in (53, 80)]
    for listener in listeners:
        threading.Thread(target=take, args=(listener,), daemon=True).start()
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind(("srv0", 3))

    def read():
        while True:
            frame, address = wire.recvfrom(1 << 16)
            if address[2] != socket.PACKET_OUTGOING:
                for number in read_frame(frame):
                    see(number)
    threading.Thread(target=read, daemon=True).start()


def take(listener):
    """Read what comes over each connection, and see its mark."""
    while True:
        connection = listener.accept()[0] if listener.type != socket.SOCK_DGRAM else listener

        def read(connection=connection):
            while data := connection.recv(4096):
                for number in MARK.findall(data):
                    see(int(number))
        if connection is listener:
            read()
        threading.Thread(target=read, daemon=True).start()


def run_rows(numbers, words=(), device="up0"):
    """Do the rows in a place; the numbers of those that say that they have succeeded."""
    place = {"resolver": SERVER, "device": device, "at_once": AT_ONCE, "rows": numbers}
    result = subprocess.run([*words, sys.executable, "-B", table.__file__, json.dumps(place)],
                            check=True, capture_output=True, text=True, timeout=120)
    return json.loads(result.stdout.splitlines()[-1])


def control():
    """As the machine's root: its own listeners, and each row beside a sandbox. Rows that would change
    the machine are done in a network of their own."""
    for words in (["addr", "add", f"{V6}1/64", "dev", "up0", "nodad"],
                  ["addr", "add", f"{SECONDARY}/24", "dev", "up0"],
                  ["route", "add", "local", "5.9.0.0/16", "dev", "lo"],
                  ["-6", "route", "add", "default", "via", f"{V6}8"]):
        subprocess.run(["ip", *words], check=True)
    table.writes(None, "", 0, "/proc/sys/net/ipv4/ping_group_range", "0 0")
    listeners = [socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True)]
    for kind, more in ((socket.SOCK_STREAM, ""), (socket.SOCK_DGRAM, "-datagram"),
                       (socket.SOCK_SEQPACKET, "-packet")):
        listeners.append(socket.socket(socket.AF_UNIX, kind))
        listeners[-1].bind("\0ways-out" + more)
        if kind != socket.SOCK_DGRAM:
            listeners[-1].listen()
    for listener in listeners:
        threading.Thread(target=take, args=(listener,), daemon=True).start()
    with open(seen_path(), "w", encoding="ascii"):
        pass
    by_result = [number for number, row in enumerate(table.ROWS) if row[1] in BY_RESULT]
    run_rows([number for number in range(len(table.ROWS)) if number not in by_result])
    changed = run_rows(by_result, ["unshare", "--net", "--uts", "--mount", "--pid", "--fork",
                                   "--mount-proc", "sh", "-c", "ip link add own0 type veth peer name "
                                   "own1; ip link set own0 up; exec \"$@\"", "sh"], device="own0")
    time.sleep(0.5)
    with open(os.path.join(network_support.folder(), "control"), "w", encoding="ascii") as file:
        json.dump(sorted(seen() - set(by_result)) + changed, file)
    with open(seen_path(), "w", encoding="ascii"):
        pass


class WaysOut(WithFolder):
    def test_none_leads_out(self):
        with open(os.path.join(network_support.folder(), "control"), encoding="ascii") as file:
            controlled = set(json.load(file))
        whats = [row[0] for row in table.ROWS]
        self.assertEqual(len(whats), len(set(whats)), "a row is there twice")
        without = [what for number, what in enumerate(whats) if number not in controlled]
        print(f"{len(controlled)} ways out, and not here: {', '.join(without)}", file=sys.stderr)
        self.assertGreaterEqual(len(controlled), FEWEST)
        config = self.write(CONFIG)
        place = {"resolver": "198.18.0.1", "device": "eth0", "at_once": AT_ONCE,
                 "rows": list(range(len(table.ROWS)))}
        with open(table.__file__, encoding="utf-8") as file:
            code = file.read()
        # The last connection is allowed: its mark has to come, after those of all others.
        sentinel = len(table.ROWS)
        last = f"tcp(None, 'way{sentinel:03}out', 0, WEB, 80)\n"
        code = code.partition("\nif __name__")[0] + f"\nmain()\nWAIT_S = 20\n{last}"
        result = self.run_msp("python3", "-c", code, json.dumps(place), options=("--profile", "net"),
                              MSP_CONFIG=config)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(support.wait_until(lambda: sentinel in seen()), "the servers saw nothing at all")
        time.sleep(0.2)
        out = (seen() - {sentinel} | set(json.loads(result.stdout.splitlines()[-1]))) & controlled
        self.assertEqual([whats[number] for number in sorted(out)], [])


network_support.STARTS.append(catch_frames)
network_support.CONTROLS.append(control)

if __name__ == "__main__":
    network_support.main()
