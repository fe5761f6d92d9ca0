# SPDX-License-Identifier: Apache-2.0
"""Other launchers, each isolating about as much as it can with a sane profile: namespaces of its
own, the system's /usr read-only, nothing of the user's files, no network, and a system call filter
where it has one. One that is not installed, or does not pass its own check, is left out, with the
reason."""
import json
import os
import shlex
import shutil
import subprocess

import programs

SEARCH = "/usr/bin:/usr/local/bin:/usr/sbin:/usr/local/sbin:/sbin:/bin"
LINKS = ("bin", "sbin", "lib", "lib64")
ETC = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/localtime")
SECONDS = 20
DEFAULT = ("bwrap", "bwrap, seccomp")


def bwrap(context, filtered=False, root=None):
    """With the binds of the default profile, or a root of its own, and the default profile's filter."""
    words = ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
             "--setenv", "PATH", "/usr/bin:/bin", "--uid", "1000", "--gid", "1000",
             *(["--ro-bind", root, "/"] if root else ["--ro-bind", "/usr", "/usr"])]
    for name in () if root else LINKS:
        if os.path.islink("/" + name):
            words += ["--symlink", "usr/" + name, "/" + name]
    for path in () if root else ETC:
        if os.path.exists(path):
            words += ["--ro-bind", path, path]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm",
              "--tmpfs", "/home/agent", "--tmpfs", "/workspace", "--chdir", "/workspace"]
    return [*words, *(["--seccomp", str(programs.FILTER_FD)] if filtered else []), "--"]


def nsjail(context):
    words = [shutil.which("nsjail", path=SEARCH) or "nsjail", "-Mo", "-Q", "--disable_rlimits",
             "-R", "/usr", "-T", "/tmp", "-T", "/workspace", "-m", "none:/proc:proc:"]
    for name in LINKS:
        words += ["-s", f"usr/{name}:/{name}"]
    return [*words, "--cwd", "/workspace", "--seccomp_string",
            "POLICY a { KILL { ptrace, mount, umount, bpf } } USE a DEFAULT ALLOW", "--"]


def firejail(context):
    return [shutil.which("firejail", path=SEARCH) or "firejail", "--quiet", "--noprofile",
            "--net=none", "--private", "--private-dev", "--private-tmp", "--seccomp",
            "--caps.drop=all", "--nonewprivs", "--noroot", f"--blacklist={context.secret()}", "--"]


def minijail(context):
    return [shutil.which("minijail0", path=SEARCH) or "minijail0", "-U", "-m", "-M", "-p", "-v",
            "-e", "-l", "-N", "-n", "-r", "--"]


def isolate(context):
    return [shutil.which("isolate", path=SEARCH) or "isolate", "--silent", "--processes=16",
            "--run", "--"]


def landrun(context):
    return [shutil.which("landrun", path=SEARCH) or "landrun", "--rox", "/usr", "--rox", "/lib",
            "--rox", "/lib64", "--rox", "/bin", "--rw", "/dev/null", "--"]


def srt(context):
    settings = os.path.join(context.place, "srt.json")
    with open(settings, "w", encoding="ascii") as file:
        json.dump({"network": {"allowedDomains": [], "deniedDomains": []},
                   "filesystem": {"denyRead": ["/home", "/root", context.secret()],
                                  "allowWrite": ["/tmp"],
                                  "denyWrite": []}}, file)
    return [shutil.which("srt", path=SEARCH) or "srt", "--settings", settings, "-c"]


def podman(context):
    root = make_root(context, "podman-root")
    runc = shutil.which("runc", path=SEARCH)  # crun refuses hosts with both kinds of cgroups
    words = [shutil.which("podman", path=SEARCH) or "podman",
             *(["--runtime", runc] if runc else []), "run", "--rm", "--network=none",
             "--read-only", "--cap-drop=all", "--security-opt=no-new-privileges",
             "--log-driver=none", "--pull=never", "-v", "/usr:/usr:ro"]
    return [*words, "--rootfs", root]


def make_root(context, name):
    """A root with nothing but the way to /usr."""
    root = os.path.join(context.place, name)
    for folder in ("usr", "proc", "dev", "sys", "tmp", "etc", "run", "workspace"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    for link in LINKS:
        path = os.path.join(root, link)
        if not os.path.lexists(path):
            os.symlink("usr/" + link, path)
    return root


def make_bundle(context, name, command, root, uid, gid):
    """An OCI bundle for this command, with a root of its own or the host's /usr, that a user with these
    ids starts; its folder."""
    folder = os.path.join(context.place, name)
    make_root(context, os.path.join(name, "rootfs"))
    mounts = [("/proc", "proc", "proc", []), ("/tmp", "tmpfs", "tmpfs", ["nosuid", "nodev"]),
              ("/dev", "tmpfs", "tmpfs", ["nosuid", "mode=755"]),
              ("/workspace", "tmpfs", "tmpfs", ["nosuid", "nodev"]),
              *([] if root else [("/usr", "none", "/usr", ["rbind", "ro"])])]
    spec = {
        "ociVersion": "1.0.2", "hostname": "sandbox",
        "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": command,
                    "env": ["PATH=/usr/bin:/bin"], "cwd": "/workspace", "noNewPrivileges": True,
                    "capabilities": {"bounding": [], "effective": [], "permitted": []}},
        "root": {"path": root or "rootfs", "readonly": True},
        "mounts": [{"destination": where, "type": kind, "source": source, "options": options}
                   for where, kind, source, options in mounts],
        "linux": {"namespaces": [{"type": kind} for kind in
                                 ("user", "pid", "mount", "ipc", "uts", "network")],
                  "uidMappings": [{"containerID": 0, "hostID": uid, "size": 1}],
                  "gidMappings": [{"containerID": 0, "hostID": gid, "size": 1}],
                  "seccomp": {"defaultAction": "SCMP_ACT_ERRNO", "architectures":
                              ["SCMP_ARCH_X86_64"], "syscalls": [
                                  {"names": context.allowed_calls(), "action": "SCMP_ACT_ALLOW"}]}}}
    with open(os.path.join(folder, "config.json"), "w", encoding="ascii") as file:
        json.dump(spec, file)
    return folder


class OneKind(programs.Lines):
    """Starts commands where only one kind of cgroups is mounted: crun refuses a host that has both. They
    are root of a user namespace."""

    def __init__(self):
        super().__init__(["/usr/bin/unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c",
                          'mount -t tmpfs none /sys/fs/cgroup && exec /usr/bin/python3 -B "$0"',
                          os.path.join(os.path.dirname(os.path.abspath(__file__)), "starter.py")])

    def spawn(self, argv, environment):
        return float(self.ask(json.dumps([argv, environment]).encode() + b"\n")[0])


def has_both_cgroups():
    return os.path.isdir("/sys/fs/cgroup/unified")


class Oci:
    """crun or runc: the command is in the bundle, and each container has a name of its own."""

    def __init__(self, program, context, root=None):
        self.program, self.context, self.root, self.count = program, context, root, 0
        self.state = os.path.join(context.place, program + "-state")
        self.spawn = programs.spawn
        if program == "crun" and has_both_cgroups():
            self.spawn = OneKind().spawn
        os.makedirs(self.state, exist_ok=True)

    def way(self, command):
        name = f"{self.program}-{os.path.basename(command[0])}" + ("-image" if self.root else "")
        is_root = self.spawn is not programs.spawn
        folder = make_bundle(self.context, name, command, self.root, 0 if is_root else os.getuid(),
                             0 if is_root else os.getgid())
        words = [shutil.which(self.program, path=SEARCH) or self.program, "--root", self.state]
        if self.program == "crun":
            words += ["--cgroup-manager=disabled"]

        def run():
            self.count += 1
            return self.spawn([*words, "run", "--bundle", folder, f"{name}-{self.count}"],
                              self.context.peer_environment())
        return run


class Words:
    """A peer whose command line is words before the command."""

    def __init__(self, words, context, filtered=False):
        self.words, self.context, self.filtered = words, context, filtered

    def way(self, command):
        path = self.context.filter_path() if self.filtered else None
        return lambda: programs.spawn([*self.words, *command], self.context.peer_environment(),
                                      path)


class Shell(Words):
    """One that takes the command as a line for a shell."""

    def way(self, command):
        return super().way([shlex.join(command)])


MAKERS = {
    "bwrap": ("bwrap", lambda context: Words(bwrap(context), context)),
    "bwrap, seccomp": ("bwrap", lambda context: Words(bwrap(context, True), context, True)),
    "crun": ("crun", lambda context: Oci("crun", context)),
    "runc": ("runc", lambda context: Oci("runc", context)),
    "srt": ("srt", lambda context: Shell(srt(context), context)),
} | {name: (program, lambda context, make=make: Words(make(context), context))
     for name, program, make in (("nsjail", "nsjail", nsjail), ("podman", "podman", podman),
                                 ("firejail", "firejail", firejail),
                                 ("minijail", "minijail0", minijail),
                                 ("isolate", "isolate", isolate), ("landrun", "landrun", landrun))}


def checked(peer, secret):
    """The peer; Failed unless a command runs, its end is told, and a file of the user's is out of
    reach."""
    peer.way(["/bin/true"])()
    try:
        peer.way(["/bin/false"])()
    except programs.Failed:
        pass
    else:
        raise programs.Failed("a command that fails is said to succeed")
    try:
        peer.way(["/bin/cat", secret])()
    except programs.Failed:
        return peer
    raise programs.Failed("it shows the user's files")


class Peers:
    """Those of `names` that are installed and do what they shall."""

    def __init__(self, context, names=tuple(MAKERS)):
        self.context, self.left_out, self.peers = context, {}, {}
        for name in names:
            program, make = MAKERS[name]
            if not shutil.which(program, path=SEARCH):
                self.left_out[name] = "not installed"
                continue
            peer = self.attempt(name, lambda make=make: checked(make(context), context.secret()))
            if peer:
                self.peers[name] = peer

    def ways(self, command):
        """{name: what runs the command once}"""
        found = {name: peer.way(command) for name, peer in self.peers.items()}
        for name, way in list(found.items()):
            self.attempt(name, way)
            if name in self.left_out:
                del found[name], self.peers[name]
        return found

    def attempt(self, name, act):
        """What `act` returns; None when it fails, and then the reason is kept."""
        try:
            with programs.deadline(SECONDS):
                return act()
        except (programs.Failed, OSError, subprocess.SubprocessError) as problem:
            self.left_out[name] = f"does not work here: {problem}"[:300]
            return None
