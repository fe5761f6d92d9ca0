# SPDX-License-Identifier: Apache-2.0
"""Images in a state directory, written without msp-image: layers are made of this machine's files."""
import hashlib
import os
import shutil
import stat
import struct
import subprocess

PROGRAMS = ("/bin/cat", "/bin/ls", "/bin/rm", "/bin/touch", "/bin/mkdir", "/usr/bin/id", "/usr/bin/stat", "/bin/sleep",
            "/bin/readlink")
DIRECTORIES = ("etc", "tmp", "proc", "dev", "root", "home", "var/lib", "usr/bin", "usr/lib", "usr/lib64")


def libraries(program):
    """The files that a program is loaded with, and itself."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    words = [word for line in listed.splitlines() for word in line.split() if word.startswith("/")]
    return [program, *words]


def put_program(layer, program, at=None):
    """Copy a program, to `at` in the layer, with its libraries at their own paths."""
    for name in libraries(program):
        inside = at if at and name == program else name
        target = layer + inside
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.lexists(target):
            shutil.copy2(os.path.realpath(name), target)


def put_file(layer, inside, text="", mode=0o644):
    path = layer + inside
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def put_whiteout(layer, inside):
    os.makedirs(os.path.dirname(layer + inside), exist_ok=True)
    os.mknod(layer + inside, stat.S_IFCHR | 0o600, os.makedev(0, 0))


def put_opaque(layer, inside):
    os.makedirs(layer + inside, exist_ok=True)
    os.setxattr(layer + inside, "user.overlay.opaque", b"y")


def fill_distro(layer):
    """A tree like Debian's, of programs of this machine."""
    for name in DIRECTORIES:
        os.makedirs(os.path.join(layer, name))
    for name in ("bin", "lib", "lib64"):
        os.symlink(f"usr/{name}", os.path.join(layer, name))
    for program in PROGRAMS:
        put_program(layer, os.path.realpath(program))
    put_program(layer, os.path.realpath("/bin/dash"), "/usr/bin/dash")
    os.symlink("dash", layer + "/usr/bin/sh")
    os.symlink("/proc/mounts", layer + "/etc/mtab")
    put_file(layer, "/etc/issue", "distro\n")
    put_file(layer, "/etc/resolv.conf", "the image's\n")


class Store:
    """The directory `images` of a state directory."""

    def __init__(self, state):
        self.path = os.path.join(state, "images")
        for part in ("", "layers", "manifests", "names"):
            os.makedirs(os.path.join(self.path, part), mode=0o700, exist_ok=True)

    def layer(self, name):
        """The directory of a new, empty layer."""
        path = os.path.join(self.path, "layers", hashlib.sha256(name.encode()).hexdigest())
        os.mkdir(path, 0o755)
        return path

    def keep(self, name, layers, cwd="/", environment=(), entrypoint=(), command=()):
        """Make an image of layers, the lowest first, under a name. Returns its digest."""
        texts = b"".join(text.encode() + b"\0" for text in (cwd, *environment, *entrypoint, *command))
        head = struct.pack("=8s8I", b"msp" b"image", 1, 0, len(layers), len(environment), len(entrypoint),
                           len(command), len(texts), 0)
        kept = b"".join(bytes.fromhex(os.path.basename(layer)) + struct.pack("=2Q", 0, 0) for layer in layers)
        bytes_ = head + kept + texts
        digest = hashlib.sha256(bytes_).hexdigest()
        self.write(os.path.join("manifests", digest), bytes_)
        self.write(os.path.join("names", name.replace("/", "%")), digest.encode() + b"\n")
        return digest

    def remove(self, name):
        os.unlink(os.path.join(self.path, "names", name.replace("/", "%")))

    def write(self, part, content):
        path = os.path.join(self.path, part)
        with open(path + ".new", "wb") as file:
            file.write(content)
        os.rename(path + ".new", path)
