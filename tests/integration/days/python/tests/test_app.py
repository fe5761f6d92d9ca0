# SPDX-License-Identifier: Apache-2.0
import asyncio
import concurrent.futures
import multiprocessing
import socket
import sqlite3
import subprocess
import sys
import unittest

from app.main import say, square


class App(unittest.TestCase):
    def test_package(self):
        self.assertEqual(say(), "hello from a package")

    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            self.assertEqual(sum(pool.map(square, range(100))), 328350)

    def test_processes(self):
        with multiprocessing.Pool(8) as pool:
            self.assertEqual(sum(pool.map(square, range(100))), 328350)

    def test_child(self):
        code = "import sys; sys.exit(int(sys.stdin.read()))"
        result = subprocess.run([sys.executable, "-c", code], input=b"7", check=False)
        self.assertEqual(result.returncode, 7)

    def test_loopback(self):
        async def talk():
            async def answer(reader, writer):
                writer.write((await reader.readline()).upper())
                writer.close()

            server = await asyncio.start_server(answer, "127.0.0.1", 0, family=socket.AF_INET)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello\n")
            line = await reader.readline()
            writer.close()
            server.close()
            return line

        self.assertEqual(asyncio.run(talk()), b"HELLO\n")

    def test_database(self):
        with sqlite3.connect("/tmp/day.db") as database:
            database.execute("create table day (step text)")
            database.execute("insert into day values ('test')")
            self.assertEqual(database.execute("select step from day").fetchall(), [("test",)])
