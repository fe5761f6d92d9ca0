# SPDX-License-Identifier: Apache-2.0
"""A tree of the host's files as an image has them: a few programs with their libraries, python, and
as many other files as make a layer of the usual size. Owners are root's, as in any image."""
import os
import re
import stat
import subprocess
import tarfile

PYTHON = os.path.realpath("/usr/bin/python3")
PROGRAMS = ("/bin/true", "/bin/false", "/bin/cat", "/bin/sh", "/usr/bin/python3")
LINKS = ("bin", "lib", "lib64", "sbin")
MOUNT_POINTS = ("dev", "etc", "home/agent", "proc", "run", "sys", "tmp", "workspace")
LIBRARY = "/usr/lib/" + os.path.basename(PYTHON)
MORE = ("/usr/share/perl", "/usr/include", "/usr/lib/gcc", "/usr/share/doc")
BYTES = 82 << 20


def libraries(programs):
    """The paths of what the dynamic loader needs for them."""
    result = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"(/\S+\.so\S*)", result.stdout)))


def under_usr(path):
    """The path without the root's links to /usr."""
    first, _, rest = path.lstrip("/").partition("/")
    return f"usr/{first}/{rest}" if first in LINKS and os.path.islink("/" + first) else path.lstrip("/")


def files_below(folder):
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "dist-packages"))
        for name in sorted(names):
            path = os.path.join(top, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def gather():
    """[(name in the image, path of the host's file)], at least BYTES in all."""
    chosen = {under_usr(path): path for path in (*PROGRAMS, *libraries(PROGRAMS))}
    total = sum(os.path.getsize(path) for path in chosen.values())
    for folder in (LIBRARY, *MORE):
        for path in files_below(folder):
            if folder != LIBRARY and total >= BYTES:
                return sorted(chosen.items())
            chosen[path.lstrip("/")] = path
            total += os.path.getsize(path)
    return sorted(chosen.items())


def add(tar, name, path=None, **fields):
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = 0o755, 1_000_000_000
    for key, value in fields.items():
        setattr(info, key, value)
    if path is None:
        tar.addfile(info)
        return
    status = os.stat(path)
    info.mode, info.size = stat.S_IMODE(status.st_mode), status.st_size
    with open(path, "rb") as file:
        tar.addfile(info, file)


def write_layer(path, files, is_lowest):
    """An archive of these files; the lowest layer has the links and the mount points too."""
    known = set()
    with tarfile.open(path, "w") as tar:
        for name in MOUNT_POINTS if is_lowest else ():
            add(tar, name, type=tarfile.DIRTYPE)
        for name in LINKS if is_lowest else ():
            add(tar, name, type=tarfile.SYMTYPE, linkname="usr/" + name)
        for name, source in files:
            parts = name.split("/")[:-1]
            for folder in ("/".join(parts[:count]) for count in range(1, len(parts) + 1)):
                if folder not in known:
                    known.add(folder)
                    add(tar, folder, type=tarfile.DIRTYPE)
            add(tar, name, source)


def layers(folder, files, count):
    """The bytes of so many layers, the files dealt to them."""
    found = []
    for number in range(count):
        path = os.path.join(folder, "layer.tar")
        write_layer(path, files[number::count], number == 0)
        with open(path, "rb") as file:
            found.append(file.read())
        os.unlink(path)
    return found
