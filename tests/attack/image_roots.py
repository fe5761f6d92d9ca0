#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same acts in sandboxes whose root is an image, read-only and writable, as the agent and as root:
each is refused as in the host's own tree. All of a profile's acts share one sandbox."""
import os
import shutil
import tempfile
import unittest

import evidence  # noqa: F401  (the path to the tests' own modules)
import image_store
import probes

setUpModule = probes.needs_ordinary_user

PROFILES = """\
profiles:
  - {name: read, extends: image, image: "distro:1"}
  - {name: own, extends: read, root: writable}
  - {name: super, extends: read, user: root}
  - {name: both, extends: own, user: root}
  - {name: pretending, extends: both, pretend: [ownership]}
"""
NAMESPACES = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
EVERYWHERE = {
    **{f"unshare {flag:#x}": (("unshare", hex(flag)), ("EPERM",)) for flag in NAMESPACES},
    **{f"clone {flag:#x}": (("clone", hex(flag)), ("EPERM",)) for flag in NAMESPACES},
    **{name: ((name,), ("EPERM",)) for name in (
        "setns", "sethostname", "chroot", "open-tree", "userfaultfd", "aio", "ldt", "vmsplice", "secret-memory",
        "fanotify", "personality", "seccomp-listener", "name-to-handle", "renice", "file-capability",
        "rename-whiteout", "capabilities", "securebits", "new-privileges", "merge-pages")},
    **{f"own {name}": ((name, "own"), ("EPERM",)) for name in ("sethostname", "chroot", "mount", "fsopen")},
    "clone3": (("clone3", "0"), ("ENOSYS",)),
    "unknown calls": (("unknown-calls",), ("ENOSYS",)),
    "fchmodat2": (("setid", "fchmodat2"), ("ENOSYS",)),
    "packet filter": (("packet-filter", "26"), ("EPERM",)),
    "remount": (("remount", "/usr"), ("EPERM",)),
    "seize": (("seize", "1"), ("EPERM",)),
    "see init": (("see-init",), ("ENOENT",)),
    "see its descriptors": (("see-init-descriptors",), ("ENOENT",)),
    "be first": (("is-first",), ("ESRCH",)),
    "see interfaces": (("see-interfaces",), ("ENODEV", "ENXIO")),
    "descriptors": (("descriptors",), ("EBADF",)),
    "the host's accounts": (("stat", "/etc/shadow"), ("ENOENT",)),
    "special files": (("find-special", "/"), ("ENOENT",)),
    "another user": (("setuid", "65534"), ("EINVAL", "EPERM")),
}
# The answer is 0, and nothing is done: integration/image_profiles.py looks at what follows.
PRETENDED = {("pretending", "another user")}
WRITABLE = ("/tmp", "/dev/shm", "/home/agent", "/workspace")
OWN_TREE = ("/bin", "/etc", "/lib", "/lib64", "/opt", "/root", "/srv", "/usr", "/var", "/home")


class Images(probes.Attack):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=probes.scratch())
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        state = os.path.join(cls.folder, "state")
        os.mkdir(state, 0o700)
        cls.store = image_store.Store(state)
        cls.layer = cls.store.layer("distro")
        image_store.fill_distro(cls.layer)
        cls.store.keep("distro:1", [cls.layer])
        config = os.path.join(cls.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(PROFILES)
        cls.options = ("--standalone", "--config", config)
        cls.variables = {**os.environ, "MSP_STATE_DIR": state}

    def acts(self, profile, acts, without=None, more=()):
        options = (*self.options, "--profile", profile, *more)
        return probes.in_one_sandbox(acts, without, options=options, env=self.variables)

    def one(self, profile, *act, without=None, more=()):
        return self.acts(profile, [act], without, more)[0]

    def test_every_act_is_refused(self):
        for profile in ("read", "own", "super", "both", "pretending"):
            acts = {name: act for name, act in EVERYWHERE.items() if (profile, name) not in PRETENDED}
            outcomes = self.acts(profile, [act for act, _ in acts.values()])
            for (name, (_, errors)), outcome in zip(acts.items(), outcomes):
                with self.subTest(profile=profile, act=name):
                    self.assert_refused(outcome, *errors)

    def test_they_are_not_without_two_layers(self):
        """The control: the same acts, where two layers are off."""
        outcomes = dict(zip(EVERYWHERE, self.acts("both", [act for act, _ in EVERYWHERE.values()],
                                                  "capabilities-seccomp")))
        for name in ("setns", "sethostname", "chroot", "capabilities", "own chroot", "clone3", "aio",
                     "userfaultfd", "name-to-handle", "personality", *(f"unshare {flag:#x}" for flag in NAMESPACES[:4])):
            with self.subTest(act=name):
                if outcomes[name].word != "succeeded":
                    self.assertNotIn(outcomes[name].error, probes.FILTER_ERRORS, outcomes[name])

    def test_nothing_but_ones_own_is_written(self):
        for profile, places in (("read", WRITABLE), ("super", WRITABLE), ("own", WRITABLE + OWN_TREE),
                                ("both", WRITABLE + OWN_TREE), ("pretending", WRITABLE + OWN_TREE)):
            with self.subTest(profile=profile):
                text = self.one(profile, "write-anywhere", "/", *places).text
                found = {line for line in text.splitlines() if " /" in line and not line.startswith("file /proc/")}
                self.assertEqual(found, set(), text)

    def test_what_is_shown_is_read_only_in_a_writable_root(self):
        shown = tempfile.mkdtemp(dir=probes.scratch())
        with open(os.path.join(shown, "mark"), "w", encoding="ascii") as file:
            file.write("shown")
        more = ("--ro", shown + ":/usr/shown")
        self.assert_refused(self.one("both", "open-write", "/usr/shown/mark", more=more), "EROFS", "EACCES")
        self.assert_succeeded(self.one("both", "open-write", "/usr/shown/mark", more=more,
                                       without="landlock-readonly"))

    def test_the_layers_cannot_be_reached(self):
        path = os.path.join(self.layer, "etc/issue")
        self.assert_refused(self.one("both", "host-file", path), "ENOENT", "EACCES")
        self.assert_succeeded(self.one("both", "host-file", path, without="landlock-root"))


if __name__ == "__main__":
    unittest.main()
