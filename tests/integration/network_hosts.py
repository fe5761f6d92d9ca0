#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sandboxes of a profile with hosts reach these, and nothing else."""
import json
import os
import sys
import time
import unittest

import network_support
import support
from cli_support import LIMITS, msp
from config_support import WithFolder
from network_support import INSIDE, OTHER, OWN, SERVER, asked

CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts:
      - web.example.org:80,443
      - "*.cdn.example.org:80"
      - private.example.org:80
      - inside.example.org:80 private
      - own.example.org:80
      - loop.example.org:80
      - many.example.org:80
      - gone.example.org:80
      - {OTHER}:8080
  - name: empty
    extends: default
    network: hosts
    hosts: []
"""
FETCH = """\
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode(), end="")
"""
CONNECT = """\
import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
    s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    print("answered" if s.recv(64).startswith(b"HTTP/1") else "closed")
except socket.gaierror as error:
    print("gaierror", error.errno)
except OSError as error:
    print(type(error).__name__)
"""


class WithHosts(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)

    def run_in(self, profile, *words, options=(), **variables):
        return self.run_msp(*words, options=("--profile", profile, *options),
                            MSP_CONFIG=self.config, **variables)

    def fetch(self, url, profile="net"):
        return self.run_in(profile, "python3", "-c", FETCH, url)

    def connect(self, host, port, profile="net"):
        result = self.run_in(profile, "python3", "-c", CONNECT, host, str(port))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip()


class Reached(WithHosts):
    def test_urllib(self):
        result = self.fetch("http://web.example.org/one")
        self.assertEqual((result.returncode, result.stdout), (0, "hello from the server\n"),
                         result.stderr)
        self.assertIn("80/one", asked("path"))


if __name__ == "__main__":
    network_support.main()
