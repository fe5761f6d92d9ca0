#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What hosts of a list cost: launches in a profile with hosts beside those without, and connections to
a host beside the same ones without msp. The host is a server in a network namespace of its own, since
msp never connects to a loopback; this file runs again inside of that (network_support.py)."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
import groups  # noqa: E402
import programs  # noqa: E402

PORT, TLS_PORT, TLS_HOST = 8090, 8443, "read.example.org"
HOSTS, LOOPBACK = "MCP run_command, with hosts", "MCP run_command, without"
ADDED = "a cold start with hosts, added"
INSIDE, DIRECT = "in a sandbox", "without msp"
KERNEL = "kernel, of a profile with hosts, more"
BURST, BATCH = 10, 25
TRUE = ["/bin/true"]
BWRAP = ["bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib",
         "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs",
         "/tmp", "--unshare-all", "--die-with-parent", "/bin/true"]
PROFILES = """sandboxes: {most: 1024}
profiles:
  - name: web
    description: a host
    extends: default
    network: hosts
    hosts: ["%s:%d"]
    limits: {connections: 1024, connection_rate: 100000, open_files: 4096}
  - name: read
    description: a host whose requests msp-http reads
    extends: default
    network: hosts
    hosts: ["%s:%d https"]
"""


def network(context):
    """The groups, as the file measures them inside."""
    with tempfile.TemporaryDirectory(prefix="msp-bench-tools-", dir="/var/tmp") as tools:
        os.chmod(tools, 0o755)  # a sandbox is shown it
        given = {"place": context.memory, "tool": shutil.copy(context.tool("network"), tools),
                 "tls": shutil.copy(context.tool("tls"), tools),
                 "rounds": context.rounds(60, 12), "bytes": context.rounds(1 << 30, 1 << 28)}
        result = subprocess.run([sys.executable, "-B", os.path.abspath(__file__), json.dumps(given)],
                                env={**os.environ, **programs.ENVIRONMENT,
                                     "PATH": programs.ENVIRONMENT["PATH"] + ":/usr/sbin:/sbin"},
                                capture_output=True, text=True, check=False)
    if result.returncode == 77:
        return []  # no network namespace can be made here
    if result.returncode != 0:
        raise programs.Failed(result.stderr[-400:])
    return groups.from_json(json.loads(result.stdout.splitlines()[-1]))


# --- inside --------------------------------------------------------------------------------------

def nanoseconds(words):
    result = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if result.returncode != 0:
        raise programs.Failed(result.stderr)
    return int(result.stdout)


class Place:
    """Two servers of msp, whose default profile has hosts or none."""

    def __init__(self, given, support, address, stack):
        import network_support

        self.given, self.support, self.address = given, support, address
        self.bundle = network_support.BUNDLE
        self.config = os.path.join(given["place"], "network.yaml")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(PROFILES % (address, PORT, TLS_HOST, TLS_PORT))
        os.environ["MSP_CONFIG"] = self.config
        self.servers = {name: stack.enter_context(contextlib.closing(programs.serve(
            support, *options))) for name, options in (
                (HOSTS, ("--default-profile=web",)), (LOOPBACK, ()))}

    def launches(self):
        ways = {name: lambda server=server: server.run(argv=TRUE)
                for name, server in self.servers.items()}
        series = groups.take_turns(ways, 4 * self.given["rounds"], pause=0.03)
        return groups.Group("network", "Launch of `/bin/true` where the profile has hosts", "us", series,
                            base=LOOPBACK, ours=[HOSTS])

    def cold(self):
        """So many back to back that the pool has none left, and what each takes more."""
        def together(way):
            return lambda: sum(way() for _ in range(BURST)) / BURST
        ways = {name: together(lambda server=server: server.run(argv=TRUE))
                for name, server in self.servers.items()}
        ways["bwrap"] = together(lambda: programs.spawn(["/usr/bin/bwrap", *BWRAP[1:]]))
        series = groups.take_turns(ways, self.given["rounds"], pause=0.2)
        series[ADDED] = [with_hosts - without for with_hosts, without in zip(
            series[HOSTS], series[LOOPBACK])]
        return groups.Group("network-cold", f"{BURST} launches back to back where the profile has hosts",
                            "us", series, base="bwrap", ours=[ADDED])

    def client(self, *words, tool="network", profile="web"):
        """{name: nanoseconds}: the same client in a sandbox and without one."""
        tools = os.path.dirname(self.given["tool"])
        inside = [self.support.MSP, "run", "--standalone", *self.support.limits(), "--profile=" + profile,
                  "--ro", tools + ":/tools", "--", "/tools/" + tool, *words]
        return {INSIDE: lambda: nanoseconds(inside),
                DIRECT: lambda: nanoseconds([os.path.join(tools, tool), *words])}

    def connections(self):
        found = []
        for name, title, mode, count in (
                ("network-answer", "A connection and its first answer", "answers", 300),
                ("network-many", "1,000 connections at once, each with an answer", "many", 1000)):
            found.append(self.times(name, title, self.client(mode, self.address, str(PORT), str(count))))
        size = self.given["bytes"]
        found.append(self.rates("network-stream", f"{size >> 20} MiB from a host",
                                self.client("stream", self.address, str(PORT), str(size)), size))
        return found

    def requests(self):
        """A host whose requests msp-http reads: both ways verify its certificate."""
        def client(mode, count):
            return self.client(mode, TLS_HOST, str(TLS_PORT), self.bundle, str(count), tool="tls",
                               profile="read")
        size = self.given["bytes"] // 4
        return [self.times("network-request", "A TLS connection and a request that msp reads",
                           client("requests", 100)),
                self.rates("network-bulk", f"{size >> 20} MiB in an answer that msp reads",
                           client("bulk", size), size)]

    def times(self, name, title, ways):
        series = groups.take_turns({key: lambda way=way: way() / 1000 for key, way in ways.items()},
                                   max(self.given["rounds"] // 4, 5), warm=1)
        return groups.Group(name, title, "us", series, base=DIRECT, ours=[INSIDE])

    def rates(self, name, title, ways, size):
        series = groups.take_turns({key: lambda way=way: size / way() * 1000
                                    for key, way in ways.items()},
                                   max(self.given["rounds"] // 12, 5), warm=1)
        return groups.Group(name, title, "MB/s", series, base=DIRECT, ours=[INSIDE], rate=True)

    def memory(self):
        """kB of the kernel for each of BATCH sandboxes, more than without hosts."""
        import scale

        class Reading:
            support = self.support

            @staticmethod
            def meter(_):
                return None
        found = []
        for _ in range(3):
            taken = {}
            for name, profile in ((HOSTS, "web"), (LOOPBACK, "default")):
                server = self.servers[name]
                before = scale.memory_below(Reading, server.process.pid)
                made = [programs.id_in(server.tool("create_sandbox", profile=profile)[0])
                        for _ in range(BATCH)]
                for one in made:
                    server.run(sandbox=one, argv=TRUE)
                after = scale.memory_below(Reading, server.process.pid)
                taken[name] = sum(after.values()) - sum(before.values())
                for one in made:
                    server.tool("destroy_sandbox", sandbox=one)
            found.append((taken[HOSTS] - taken[LOOPBACK]) / BATCH)
        return groups.Group("network-memory", "Memory of the kernel for a sandbox with hosts", "kB",
                            {KERNEL: found})


def measure(given):
    import network_support
    import support

    with contextlib.ExitStack() as stack:
        os.environ["MSP_STATE_DIR"] = stack.enter_context(tempfile.TemporaryDirectory(
            prefix="msp-bench-", dir=given["place"]))
        place = Place(given, support, network_support.SERVER, stack)
        found = [place.launches(), place.cold(), *place.connections(), *place.requests(), place.memory()]
    print(json.dumps(groups.to_json(found)))


def widen_ports():
    """Leave room for the connections of all rounds: each keeps its port for a minute."""
    for name, value in (("ip_local_port_range", "1024 65000"), ("tcp_max_tw_buckets", "1024")):
        with open(f"/proc/sys/net/ipv4/{name}", "w", encoding="ascii") as file:
            file.write(value)


def main():
    import network_support

    given = json.loads(sys.argv[1])
    # It ends with the one that starts it, which holds a pipe to us.
    place = network_support.folder
    for words in (lambda: [given["tool"], "serve", str(PORT)],
                  lambda: [given["tls"], "serve", str(TLS_PORT), os.path.join(place(), "certificate.pem"),
                           os.path.join(place(), "key.pem")]):
        network_support.STARTS.append(lambda words=words: subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *words()]))
    network_support.HOSTS[TLS_HOST] = None  # its server is none of the module's
    network_support.CONTROLS.append(widen_ports)
    network_support.main(lambda: measure(given))


if __name__ == "__main__":
    sys.exit(main())
