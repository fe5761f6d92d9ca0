# SPDX-License-Identifier: Apache-2.0
"""Fresh roots of Debian, to install a package in.

A root is a tmpfs that exists only in a mount namespace, beside the machine's files and not below
them: it ends with its last process, so no cleanup ever walks through one. The test itself also has
a mount and a PID namespace of its own, and deletes its folder only while no mount is below it."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

OUTER = "MSP_PACKAGES_OUTER"
PREFIX = "/var/tmp/msp-packages-"
MARK = "/root-of-a-package-test"
WEEK = 7 * 24 * 60 * 60

# The new root is the tmpfs on /mnt; the machine's files leave the namespace before the command
# starts. It is no chroot, because the kernel makes no user namespace in one.
ENTER = """
tar=$1 files=$2; shift 2
mount -t tmpfs -o mode=755,size=4G root /mnt
tar -C /mnt -xf "$tar"
cp "$files"/* /mnt/tmp/
cp /etc/resolv.conf /mnt/etc/resolv.conf
cd /mnt
: >".$MARK"
mount -t proc proc proc
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -sf pts/ptmx dev/ptmx
mkdir machine
pivot_root . machine
exec chroot . sh -euc 'umount -l /machine; rmdir /machine; exec "$@"' sh "$@"
"""


def enter_namespaces():
    """Start this program again in a mount and a PID namespace."""
    own = os.readlink("/proc/self/ns/mnt")
    outer = os.environ.get(OUTER)
    if outer == own:
        sys.exit("roots: no mount namespace was made")
    if outer is None:
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                               "--kill-child", "--mount-proc", sys.executable, "-B", *sys.argv],
                   {**os.environ, OUTER: own})


def mounts_below(folder):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        points = [line.split()[4].encode().decode("unicode_escape") for line in file]
    return [point for point in points if (point + "/").startswith(folder + "/")]


def make_folder():
    folder = tempfile.mkdtemp(prefix=PREFIX, dir="/")
    os.chmod(folder, 0o755)
    return folder


def remove_folder(folder):
    """Delete what make_folder() made, if it is no way to other files."""
    if not folder.startswith(PREFIX) or os.path.realpath(folder) != folder:
        raise ValueError(f"{folder} is no folder of this test")
    if mounts_below(folder):
        raise ValueError(f"nothing is deleted: mounts are below {folder}: {mounts_below(folder)}")
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


def make_tar(suite, packages, cache):
    """The root of a suite with some packages as a tar file, at most a week old."""
    name = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    path = os.path.join(cache, f"{suite}-{name}.tar")
    if not os.path.exists(path) or os.path.getmtime(path) < time.time() - WEEK:
        os.makedirs(cache, exist_ok=True)
        folder = make_folder()
        try:
            made = os.path.join(folder, "root.tar")
            subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase",
                            "--include=" + ",".join(packages), "--aptopt=APT::Sandbox::User \"root\"",
                            "--aptopt=Acquire::Languages \"none\"",
                            # A root that a crash cut off is made again.
                            "--dpkgopt=force-unsafe-io", suite, made], check=True,
                           env={**os.environ, "TMPDIR": folder}, stdin=subprocess.DEVNULL)
            shutil.move(made, path)
        finally:
            remove_folder(folder)
    return path


def run_in(tar, files, *command, output=None):
    """Run a command as root of a fresh root that has the files of the folder `files` in /tmp."""
    subprocess.run(["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                    "--kill-child", "env", f"MARK={MARK}", "sh", "-euc", ENTER, "sh", tar, files,
                    *command], stdin=subprocess.DEVNULL, stdout=output, check=True)
