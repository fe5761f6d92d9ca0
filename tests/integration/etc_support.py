# SPDX-License-Identifier: Apache-2.0
"""A made-up /etc with packages' records, in a mount namespace of an ordinary user, and the rule of
docs/policy-files.md in a second spelling. Nothing here is a test."""
import fnmatch
import functools
import hashlib
import os
import re
import shutil
import stat

import support

STATUS, UCF = "/var/lib/dpkg/status", "/var/lib/ucf/hashfile"
# Of this machine's /etc, what programs need to find their libraries and the user.
NEEDED = ("passwd", "group", "nsswitch.conf", "ld.so.cache", "localtime")
ENTER = ('mount --bind "$MADE_UP/shm" /dev/shm && mount --bind "$MADE_UP/etc" /etc && '
         'mount --bind "$MADE_UP/dpkg" /var/lib/dpkg && exec setpriv --inh-caps=-all --ambient-caps=-all "$0" "$@"')


@functools.lru_cache(maxsize=None)
def exceptions(word):
    """The patterns of packages.def with this word, and their reasons."""
    with open(os.path.join(support.ROOT, "common", "plan", "packages.def"), encoding="ascii") as file:
        rows = re.findall(rf'^{word}\("([^"]+)", (.+)\)$', file.read(), re.M)
    if not rows:
        raise AssertionError(f"packages.def has no {word}")
    return dict(rows)


def matches(path, pattern):
    """As FNM_PATHNAME has it: no pattern matches across a slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def refused_for(path):
    """The reason of an exception for the path, or for a directory that it lies in; None: there is none."""
    parts = path.split("/")
    for pattern, reason in exceptions("OUT").items():
        if matches("/".join(parts[:pattern.count("/") + 1]), pattern):
            return reason
    return None


def records():
    """Path to the hashes that packages recorded."""
    hashes = {}
    try:
        with open(STATUS, encoding="utf-8", errors="surrogateescape") as file:
            found = re.findall(r"^ /etc/(.+?) ([0-9a-f]{32})(?: .*)?$", file.read(), re.M)
    except OSError:
        return hashes
    for path, digest in found:
        hashes.setdefault(path, set()).add(digest)
    if os.path.exists(UCF):
        with open(UCF, encoding="utf-8") as file:
            for digest, path in re.findall(r"^([0-9a-f]{32})  /etc/(.+)$", file.read(), re.M):
                hashes.setdefault(path, set()).add(digest)
    return hashes


def reason_of_file(path, hashes):
    """(is it in, why) for a regular file below /etc."""
    reason = refused_for(path)
    if reason:
        return False, reason
    if not os.stat("/etc/" + path).st_mode & stat.S_IROTH:
        return False, "not for everybody to read"
    for pattern, reason in exceptions("GENERATED").items():
        if matches(path, pattern):
            return True, reason
    if path not in hashes:
        return False, "no package recorded it"
    with open("/etc/" + path, "rb") as file:
        digest = hashlib.md5(file.read(), usedforsecurity=False).hexdigest()
    return (True, "unchanged") if digest in hashes[path] else (False, "changed")


def reason_of_link(path, shown):
    """The same for a symbolic link; `shown`: the files that are in."""
    top = path.split("/")[0]
    if refused_for(path):
        return False, refused_for(path)
    if "/" in path and not any(name.startswith(top + "/") for name in shown):
        return False, "no package has a file beside it"
    target = os.path.realpath("/etc/" + path)
    if not os.path.exists(target):
        return False, "it leads nowhere"
    if target.startswith("/etc/"):
        inner = target[len("/etc/"):]
        is_in = inner in shown or any(name.startswith(inner + "/") for name in shown)
        return is_in, "to a file that is " + ("in" if is_in else "out")
    is_in = target.startswith("/usr/") and not target.startswith("/usr/local/")
    return is_in, "to " + target


def judge():
    """Path below /etc of this machine to (is it in, why)."""
    hashes, verdicts, links = records(), {}, []
    for folder, folders, names in os.walk("/etc"):
        for name in folders + names:
            path = os.path.relpath(os.path.join(folder, name), "/etc")
            mode = os.lstat("/etc/" + path).st_mode
            if stat.S_ISLNK(mode):
                links.append(path)
            elif stat.S_ISREG(mode):
                verdicts[path] = reason_of_file(path, hashes)
    shown = {path for path, verdict in verdicts.items() if verdict[0]}
    verdicts.update((path, reason_of_link(path, shown)) for path in links)
    return verdicts


class MadeUp:
    """A made-up /etc in `folder`; `prefix` starts a command that sees it as /etc."""

    def __init__(self, folder):
        self.folder = folder
        self.status = "Package: made-up\nStatus: install ok installed\nConffiles:\n"
        os.makedirs(os.path.join(folder, "etc"))
        os.makedirs(os.path.join(folder, "dpkg"))
        os.makedirs(os.path.join(folder, "shm"))
        for name in NEEDED:
            if os.path.exists("/etc/" + name):
                shutil.copy("/etc/" + name, self.path(name))
        shutil.copytree("/etc/alternatives", self.path("alternatives"), symlinks=True)
        self.prefix = ("env", "MADE_UP=" + folder, "unshare", "--user", "--map-current-user",
                       "--keep-caps", "--mount", "--", "/bin/sh", "-c", ENTER)

    def path(self, name):
        return os.path.join(self.folder, "etc", name)

    def write(self, name, content, mode=0o644):
        """A file that no package recorded."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)
        os.chmod(self.path(name), mode)

    def record(self, name, content):
        digest = hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()
        self.status += f" /etc/{name} {digest}\n"

    def install(self, name, content):
        """A package's file."""
        self.write(name, content)
        self.record(name, content)

    def link(self, name, target):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        os.symlink(target, self.path(name))

    def finish(self):
        """As dpkg does: a new file in the place of the old one."""
        path = os.path.join(self.folder, "dpkg", "status")
        with open(path + "-new", "w", encoding="utf-8") as file:
            file.write(self.status + "\n")
        os.rename(path + "-new", path)
