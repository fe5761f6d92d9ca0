# SPDX-License-Identifier: Apache-2.0
"""Kernels for virtual machines: a Debian package, fetched and not installed. Nothing here is a test.

What a machine needs of it is kept in a small package under ~/.cache/msp (MSP_NODE_CACHE)."""
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients"))
import packages  # noqa: E402  (a folder of its own)

META = "linux-image-amd64"
WANTED = re.compile(r"boot/vmlinuz-|modules\.builtin$|/(?:virtio(?:_ring|_pci\w*|_console)?|netfs|"
                    r"fscache|9p(?:net(?:_virtio)?)?)\.ko")


class Missing(Exception):
    """There is no QEMU, or no kernel can be fetched."""


def archive(members):
    """The ar archive that a Debian package is, of (name, bytes)."""
    data = b"!<arch>\n"
    for name, content in members:
        data += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name.encode(), 0, 0, 0, b"100644", len(content))
        data += content + b"\n" * (len(content) % 2)
    return data


def package(files, compression="", name="data.tar"):
    """A package with these files, {path: bytes}."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:" + compression) as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    ending = "." + compression if compression else ""
    return archive([("debian-binary", b"2.0\n"), (name + ending, data.getvalue())])


def _fetch(folder):
    """The package of Debian's kernel, in a folder."""
    try:
        depends = subprocess.run(["apt-cache", "depends", META], capture_output=True, text=True,
                                 check=True, timeout=60).stdout
        name = re.search(r"Depends: (linux-image-\S+)", depends).group(1)
        subprocess.run(["apt-get", "download", name], cwd=folder, check=True, timeout=300,
                       capture_output=True)
    except (OSError, AttributeError, subprocess.SubprocessError) as error:
        raise Missing(f"no package of {META} can be fetched: {error}") from error
    return os.path.join(folder, next(name for name in os.listdir(folder) if name.endswith(".deb")))


def kernel_files():
    """{path: bytes} of a kernel and the modules that a machine needs."""
    with tempfile.TemporaryDirectory(prefix="msp-kernel-") as folder:
        unpacked = os.path.join(folder, "files")
        try:
            subprocess.run(["dpkg-deb", "-x", _fetch(folder), unpacked], check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise Missing(f"the kernel's package cannot be unpacked: {error}") from error
        found = {}
        for top, _, names in os.walk(unpacked):
            for name in names:
                path = os.path.relpath(os.path.join(top, name), unpacked)
                if WANTED.search(path):
                    with open(os.path.join(top, name), "rb") as file:
                        found[path] = file.read()
        return found


def kernel_package():
    """The path of a small package with a kernel, made now if it is not there. Raises Missing."""
    if not shutil.which("qemu-system-x86_64"):
        raise Missing("QEMU is not installed: ./dev setup installs it")
    base = packages.base()
    path = os.path.join(base, "kernel.deb")
    if not os.path.exists(path):
        content = package(kernel_files())
        try:
            os.makedirs(base, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=base, delete=False) as file:
                file.write(content)
            os.replace(file.name, path)
        except OSError as error:
            raise Missing(f"{base} cannot hold a kernel: {error}") from error
    return path
