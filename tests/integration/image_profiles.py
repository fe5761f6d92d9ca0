#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sandboxes whose root is an image: their own programs, layers over one another, and what each keeps."""
import _ctypes
import json
import os
import subprocess
import unittest

import image_store
import support
from cli_support import LIMITS, msp
from config_support import WithFolder

PROFILES = """\
profiles:
  - name: read
    extends: image
    image: "distro:1"
  - {name: own, extends: read, root: writable}
  - {name: super, extends: read, user: root}
  - {name: both, extends: own, user: root}
  - {name: pretending, extends: both, pretend: [ownership]}
  - {name: lower, extends: image, image: "lower:1"}
  - {name: bare, extends: image, image: bare}
"""


# Each call, its answer, and the state afterwards.
PRETENDED = r"""
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
open('/workspace/f', 'w').close()
os.chmod('/workspace/f', 0o640)
file = os.open('/workspace/f', os.O_RDONLY)
def state():
    s = os.stat('/workspace/f')
    caps = int(next(l for l in open('/proc/self/status') if l.startswith('CapEff')).split()[1], 16)
    ids = *os.getresuid(), *os.getresgid()
    return f"{s.st_uid}:{s.st_gid} {oct(s.st_mode & 0o7777)} ids {' '.join(map(str, ids))} groups {os.getgroups()} caps {caps}"
def act(name, *words):
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(w) if isinstance(w, int) else w for w in words])
    answer = 0 if result == 0 else errno.errorcode[ctypes.get_errno()]
    print(name, answer, state())
path = b'/workspace/f'
act('chown', 92, path, 1, 1), act('fchown', 93, file, 1, 1), act('lchown', 94, path, 1, 1)
act('fchownat', 260, -100, path, 1, 1, 0)
act('setresuid', 117, 1, 1, 1), act('setresgid', 119, 1, 1, 1)
act('back', 117, 33, 33, 33), act('setresgid', 119, 33, 33, 33), act('setresuid', 117, 1000, 1000, 1000)
act('chown', 92, path, 1000, 1000), act('chown', 92, path, 33, -1)
act('setuid', 105, 1), act('setgid', 106, 1), act('setreuid', 113, 1, 1), act('setregid', 114, 1, 1)
act('setgroups', 116, 0, 0), act('setfsuid', 122, 1)
act('chmod', 90, path, 0o4755), act('fchmod', 91, file, 0o2755), act('fchmodat', 268, -100, path, 0o6755)
"""


def fill_python(layer):
    """The interpreter, as an image for Python has it: away from the host's place, behind links."""
    real = os.path.realpath("/usr/bin/python3")
    image_store.put_program(layer, real, "/usr/local/lib/py/python")
    os.makedirs(layer + "/usr/local/bin", exist_ok=True)
    os.symlink("/usr/local/lib/py/python", layer + "/usr/local/bin/python3")
    for library in image_store.libraries(_ctypes.__file__)[1:]:
        image_store.put_program(layer, library)


class WithImages(WithFolder):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)
        self.store = image_store.Store(self.state)
        lowest, upper, python = (self.store.layer(name) for name in ("lowest", "upper", "python"))
        image_store.fill_distro(lowest)
        os.symlink(os.path.basename(lowest), self.state + "/lowest")
        for name in ("gone", "covered/one", "covered/two", "kept"):
            image_store.put_file(lowest, f"/opt/{name}", name + "\n")
        fill_python(python)
        image_store.put_whiteout(upper, "/opt/gone")
        image_store.put_opaque(upper, "/opt/covered")
        image_store.put_file(upper, "/opt/covered/three", "three\n")
        self.store.keep("lower:1", [lowest])
        self.store.keep("distro:1", [lowest, python, upper], cwd="/srv/app",
                        environment=["FROM=image", "TERM=image", "PATH=/usr/local/bin:/bin"],
                        entrypoint=["/bin/sh", "-c"], command=["echo of the image; pwd"])
        bare = self.store.layer("bare")
        image_store.put_program(bare, os.path.realpath("/bin/cat"), "/cat")
        self.store.keep("bare:latest", [bare])
        self.config = self.write(PROFILES)

    def environment(self, **more):
        return super().environment(MSP_STATE_DIR=self.state, MSP_CONFIG=self.config, **more)

    def shell(self, profile, script):
        return self.run_msp("sh", "-c", script, options=("--profile", profile))

    def says(self, profile, script):
        result = self.shell(profile, script)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def command(self, *words):
        """msp with other words, in the same world."""
        return msp(*words, env=self.environment())


class Root(WithImages):
    def test_it_is_the_images_with_what_the_profile_makes(self):
        self.assertEqual(self.says("read", "cat /etc/issue; ls /usr/local; cat /etc/hostname; readlink /etc/mtab"),
                         "distro\nbin\nlib\nsandbox\n../proc/self/mounts\n")
        self.assertIn("no network", self.says("read", "cat /etc/resolv.conf"))
        self.assertNotIn("include", self.says("read", "ls /usr"))
        self.assertEqual(self.says("read", "echo x > /dev/null; echo x > /tmp/a; echo x > /workspace/b; cat /tmp/a"),
                         "x\n")

    def test_layers_hide_what_they_remove(self):
        self.assertEqual(self.says("read", "ls /opt /opt/covered"),
                         "/opt:\ncovered\nkept\n\n/opt/covered:\nthree\n")
        self.assertEqual(self.says("lower", "ls /opt /opt/covered"),
                         "/opt:\ncovered\ngone\nkept\n\n/opt/covered:\none\ntwo\n")

    def test_a_read_only_root(self):
        result = self.shell("read", "touch /etc/new; touch /opt/new; rm /opt/kept; ls /opt")
        self.assertEqual(result.stderr.count("Read-only file system"), 3, result.stderr)
        self.assertIn("kept", result.stdout)

    def test_a_writable_root_is_each_sandboxs_own(self):
        change = "rm /opt/kept; echo mine > /etc/issue; touch /usr/bin/new; mkdir /var/lib/new; cat /etc/issue; ls /opt"
        self.assertEqual(self.says("own", change), "mine\ncovered\n")
        self.assertEqual(self.says("own", "cat /etc/issue; ls /opt /var/lib"),
                         "distro\n/opt:\ncovered\nkept\n\n/var/lib:\n")
        first = subprocess.Popen([support.MSP, "run", "--standalone", *LIMITS, "--profile=own", "--", "sh", "-c",
                                  "echo first > /etc/issue; echo; read go; cat /etc/issue"],
                                 env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(first.stdout.close)
        first.stdout.readline()
        self.assertEqual(self.says("own", "cat /etc/issue; echo second > /etc/issue"), "distro\n")
        self.assertEqual(first.communicate("\n", timeout=60)[0], "first\n")

    def test_the_layers_stay_as_they_are(self):
        before = self.listing()
        self.says("both", "rm -r /opt/*; echo mine > /etc/issue; touch /usr/bin/new")
        self.says("read", "ls /")
        self.assertEqual(self.listing(), before)

    def listing(self):
        return subprocess.run(["find", self.store.path, "-printf", "%P %y %m %s %T@\\n"], capture_output=True,
                              text=True, check=True).stdout

    def test_the_posture_is_proven(self):
        for profile in ("read", "own", "super", "both"):
            with self.subTest(profile=profile):
                result = self.run_msp("ls", "/", options=("--verbose", "--profile", profile))
                self.assertRegex(result.stderr, r"\d+ layers hold")
                self.assertNotRegex(result.stderr, "not tried:[^;]*landlock files")
                self.assertNotRegex(result.stderr, "not tried:[^;]*read-only")


class User(WithImages):
    def test_root_is_shown_and_has_no_capability(self):
        for profile in ("super", "both"):
            with self.subTest(profile=profile):
                shown = self.says(profile, "id -u; id -g; stat -c %u /etc/issue; cat /proc/self/status")
                self.assertTrue(shown.startswith("0\n0\n0\n"), shown)
                for line in shown.splitlines():
                    if line.startswith("Cap"):
                        self.assertEqual(int(line.split()[1], 16), 0, line)
                self.assertEqual(shown.count("\nCap"), 5)

    def test_the_agent_is_the_default(self):
        self.assertEqual(self.says("read", "id -u"), "1000\n")

    def test_root_can_do_nothing_of_roots(self):
        script = ("import ctypes, os\n"
                  "libc = ctypes.CDLL(None, use_errno=True)\n"
                  "def act(name, result):\n"
                  "    print(name, 'done' if result == 0 else os.strerror(ctypes.get_errno()))\n"
                  "act('mount', libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))\n"
                  "act('chroot', libc.chroot(b'/tmp'))\n"
                  "act('unshare', libc.unshare(0x10000000))\n"
                  "act('setuid', libc.setresuid(1000, 1000, 1000))\n"
                  "act('hostname', libc.sethostname(b'x', 1))\n"
                  "act('chown', libc.chown(b'/workspace', 1, 1))\n"
                  "act('device', libc.mknod(b'/tmp/null', 0o020666, 0x103))\n")
        said = self.python("both", script)
        self.assertEqual(len(said.splitlines()), 7)
        self.assertNotIn("done", said)
        # The control of test_ownership_is_pretended.
        said = self.python("both", PRETENDED)
        answers = [line.split()[1] for line in said.splitlines()]
        self.assertEqual(answers, 15 * ["EINVAL"] + ["EPERM", "0"] + 3 * ["EPERM"], said)

    def test_ownership_is_pretended(self):
        said = self.python("pretending", PRETENDED)
        lines = said.splitlines()
        self.assertEqual([line.split()[1] for line in lines], 20 * ["0"], said)
        # Nothing has changed: owner, group, mode, ids, groups, file system ids, capabilities.
        state = "0:0 0o640 ids 0 0 0 0 0 0 groups [] caps 0"
        self.assertEqual({line.split(" ", 2)[2] for line in lines}, {state}, said)
        shown = self.says("pretending", "id -u; cat /proc/self/status")
        for line in shown.splitlines():
            if line.startswith(("Uid:", "Gid:")):
                self.assertEqual(line.split()[1:], ["0"] * 4)
            if line.startswith("Cap"):
                self.assertEqual(int(line.split()[1], 16), 0, line)

    def python(self, profile, script):
        """What a script says in the image's Python with this machine's library."""
        home = os.path.dirname(os.__file__)
        self.config = self.write(PROFILES + f"""\
  - name: with-library
    extends: {profile}
    environment: [PYTHONHOME=/python]
    files:
      - {{at: /python/lib/{os.path.basename(home)}, kind: bind, from: {home}}}
    landlock:
      - {{path: /python, rights: [read, execute]}}
""")
        result = self.run_msp("python3", "-c", script, options=("--profile", "with-library"))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout


class Configuration(WithImages):
    def test_command_directory_and_variables(self):
        result = msp("run", "--standalone", *LIMITS, "--profile=read", env=self.environment())
        self.assertEqual((result.stdout, result.returncode), ("of the image\n/srv/app\n", 0), result.stderr)
        self.assertEqual(self.says("read", "echo $FROM $TERM $PATH; pwd"), "image dumb /usr/local/bin:/bin\n/srv/app\n")
        self.assertEqual(self.says("lower", "echo $PATH; pwd"),
                         "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n/workspace\n")
        result = msp("run", "--standalone", *LIMITS, "--profile=lower", env=self.environment())
        self.assertEqual(result.returncode, 64)
        self.assertIn("a command is missing", result.stderr)

    def test_an_image_that_is_missing(self):
        self.config = self.write(PROFILES + "  - {name: none, extends: image, image: 'absent:3'}\n")
        absent = "the image 'absent:3' is not in the store; 'msp image pull' or 'msp image import' brings it\n"
        self.assertEqual(self.says("read", "echo used"), "used\n")
        result = self.shell("none", "true")
        self.assertEqual(result.returncode, 64)
        self.assertEqual(result.stderr, "msp: run: the profile 'none' cannot be used: " + absent)
        result = self.command("create", "--profile", "read", "--name=box")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.store.remove("distro:1")
        result = self.command("exec", *LIMITS, "box", "--", "true")
        self.assertEqual(result.returncode, 64)
        self.assertIn("the profile 'read' cannot be used: the image 'distro:1' is not in the store", result.stderr)
        result = self.command("destroy", "box")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.command("profile", "check")
        self.assertEqual(result.returncode, 78)
        self.assertRegex(result.stderr, r"config.yaml:\d+: profile none cannot be used: the image 'absent:3'")

    def test_an_image_that_does_not_fit_takes_its_profile_alone(self):
        """What an image says of itself is a stranger's, and no mistake of the configuration."""
        lower = os.path.join(self.store.path, "layers", os.readlink(self.state + "/lowest"))
        wide = self.store.layer("wide")
        for number in range(70):
            os.mkdir(f"{wide}/d{number}")
        for layers, said, says in (([lower], {"cwd": "/../../.."}, "its working directory"),
                                   ([lower], {"environment": ["A=" + "x" * 40000]}, "its variables and the profile's"),
                                   ([lower, wide], {}, "too many files in its root")):
            with self.subTest(says=says):
                self.store.keep("lower:1", layers, **said)
                result = self.shell("lower", "echo y")
                self.assertEqual((result.returncode, result.stdout), (64, ""), result.stderr)
                self.assertRegex(result.stderr, f"the profile 'lower' cannot be used: .*{says}")
                self.assertEqual(self.says("read", "echo y"), "y\n")
        self.store.keep("lower:1", [lower])
        self.assertEqual(self.says("lower", "echo y"), "y\n")

    def test_a_digest_is_whole(self):
        """An image can be made whose digest begins as one wants, so a part of one pins nothing."""
        digest = self.store.keep("pinned:1", [os.path.join(self.store.path, "layers", os.readlink(self.state + "/lowest"))])
        for word, is_usable in ((f"sha256:{digest}", True), ("pinned:1", True), (f"sha256:{digest[:12]}", False),
                                (f"sha256:{digest[:63]}", False), (digest[:12], False), (digest, False)):
            with self.subTest(word=word):
                self.config = self.write(PROFILES + f"  - {{name: pin, extends: image, image: '{word}'}}\n")
                result = self.shell("pin", "echo y")
                if is_usable:
                    self.assertEqual((result.returncode, result.stdout), (0, "y\n"), result.stderr)
                else:
                    self.assertEqual((result.returncode, result.stdout), (64, ""), result.stderr)
                    self.assertRegex(result.stderr, "expected a name, or sha256: and all 64 digits|is not in the store")
                self.assertEqual(self.says("read", "echo y"), "y\n")

    def test_files_and_links_in_the_place_of_directories(self):
        """An image that has a link or a file where the profile needs a directory is told so, and other
        profiles run; a link to a directory may be on the way."""
        for at, target, is_usable in (("/tmp", "var/tmp", False), ("/workspace", "/var", False), ("/tmp", None, False),
                                      ("/home/agent", "/var", False), ("/home", "/nowhere", False),
                                      ("/etc", None, False), ("/home", "var", True), ("/etc/hosts", "/nowhere", True)):
            with self.subTest(at=at, target=target):
                name = f"{at}{target}{is_usable}"
                layer = self.store.layer(name)
                if target:
                    os.makedirs(os.path.dirname(layer + at), exist_ok=True)
                    os.symlink(target, layer + at)
                else:
                    image_store.put_file(layer, at)
                lower = [os.path.join(self.store.path, "layers", os.readlink(self.state + "/lowest"))]
                self.store.keep("lower:1", [*lower, layer])
                result = self.shell("lower", "echo x > /tmp/x; echo y")
                if is_usable:
                    self.assertEqual((result.returncode, result.stdout), (0, "y\n"), result.stderr)
                    continue
                self.assertEqual((result.returncode, result.stdout), (64, ""), result.stderr)
                self.assertIn(f"the image 'lower:1' has a file or a link at {at}, where the profile needs a directory",
                              result.stderr)
                self.assertEqual(self.says("read", "echo y"), "y\n")

    def test_clients_are_told_of_a_missing_image(self):
        self.config = self.write(PROFILES + "  - {name: none, extends: image, image: 'absent:3'}\n")
        server = self.serve()
        for tool, words in (("run_command", {"command": "true"}), ("create_sandbox", {})):
            with self.subTest(tool=tool):
                said = support.text_of(server.call(tool, profile="none", **words))
                self.assertIn('The profile "none" cannot be used: the image \'absent:3\' is not in the store; ', said)
                self.assertNotIn("no profile", said)
                self.assertNotIn("strict", said)
                said = support.text_of(server.call(tool, profile="other", **words))
                self.assertIn('"other", but must be one of: default, ', said)
                self.assertIn("strict", said)
                self.assertNotIn("absent:3", said)
        said = self.refused_serve("--default-profile=none")
        self.assertIn("the profile 'none' cannot be used: the image 'absent:3' is not in the store", said)
        self.assertNotIn("no profile", said)

    def test_keys_that_do_not_fit(self):
        for line, expected in (("{name: x, extends: default, root: writable}", "expected image beside it"),
                               ("{name: x, extends: read, root: rw}", "expected read-only or writable"),
                               ("{name: x, extends: read, user: 0}", "expected agent or root"),
                               ("{name: x, extends: read, pretend: [ownership]}", "expected user: root beside"),
                               ("{name: x, extends: pretending, user: agent}", "or pretend: []"),
                               ("{name: x, extends: super, pretend: [root]}", "expected ownership"),
                               ("{name: x, extends: super, pretend: [ownership, ownership]}", "given twice"),
                               ("{name: x, extends: super, pretend: ownership}", "expected a list"),
                               ("{name: x, extends: image}", "missing; expected the name of an image")):
            with self.subTest(line=line):
                self.config = self.write(PROFILES + f"  - {line}\n")
                result = self.shell("read", "true")
                self.assertEqual(result.returncode, 78)
                self.assertIn(expected, result.stderr)

    def test_the_base_profile_itself_runs_nothing(self):
        result = self.shell("image", "true")
        self.assertEqual(result.returncode, 64)
        self.assertIn("there is no profile 'image'", result.stderr)

    def test_a_new_import_is_seen_and_a_kept_plan_is_used(self):
        self.assertEqual(self.says("read", "cat /etc/issue"), "distro\n")
        cache = os.path.join(self.folder, "home/.cache/msp")
        slot = os.path.join(cache, os.listdir(cache)[0])
        first = os.stat(slot)
        self.says("read", "cat /etc/issue")
        self.assertEqual(os.stat(slot).st_ino, first.st_ino)
        newer = self.store.layer("newer")
        image_store.fill_distro(newer)
        image_store.put_file(newer, "/etc/issue", "newer\n")
        self.store.keep("distro:1", [newer])
        self.assertEqual(self.says("read", "cat /etc/issue"), "newer\n")

    def test_an_image_in_use_cannot_be_removed(self):
        first = subprocess.Popen([support.MSP, "run", "--standalone", *LIMITS, "--profile=read", "--", "sh", "-c",
                                  "echo; read go; cat /etc/issue"], env=self.environment(), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(first.stdout.close)
        first.stdout.readline()
        result = self.command("image", "remove", "distro:1")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("is used by a running msp", result.stderr)
        self.assertEqual(first.communicate("\n", timeout=60)[0], "distro\n")
        result = self.command("image", "remove", "distro:1")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_languages_are_those_of_the_profile(self):
        server = self.serve()
        text = json.dumps(server.call("run_code", language="sh", code="cat /etc/issue", profile="read"))
        self.assertIn("distro", text)
        text = json.dumps(server.call("run_code", language="perl", code="print 1", profile="read"))
        self.assertIn("not installed", text)
        self.assertIn("python, sh", text)
        tools = {tool["name"]: tool for tool in server.request("tools/list")["tools"]}
        language = tools["run_code"]["inputSchema"]["properties"]["language"]
        self.assertIn("sh", language["enum"], "of the default profile")
        self.assertIn("perl", language["enum"], "the control: an image has none")
        lines = language["description"].splitlines()
        self.assertIn("Of profile read: python, sh", lines)
        self.assertIn("Of profile bare: none", lines)
        self.assertFalse([line for line in lines if "default" in line or "profile image" in line], lines)

    def test_an_image_without_a_shell(self):
        result = self.run_msp("/cat", "/etc/hostname", options=("--profile", "bare"))
        self.assertEqual((result.stdout, result.returncode), ("sandbox\n", 0), result.stderr)
        server = self.serve()
        text = json.dumps(server.call("run_command", command="cat /etc/hostname", profile="bare"))
        self.assertIn("no shell", text)
        self.assertIn("argv", text)


class Persistent(WithImages):
    def create(self, profile, *words):
        result = self.command("create", "--profile", profile, *words, "--name=box")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.addCleanup(self.command, "destroy", "--yes", "box")

    def inside(self, script):
        result = self.command("exec", *LIMITS, "box", "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_writable_root_is_kept(self):
        self.create("own")
        self.inside("rm /opt/kept; echo mine > /etc/issue; echo x > /usr/local/new; echo y > ~/z")
        self.assertEqual(self.inside("cat /etc/issue /usr/local/new ~/z; ls /opt"), "mine\nx\ny\ncovered\n")
        self.assertEqual(self.says("own", "cat /etc/issue"), "distro\n")

    def test_a_cold_sandbox_holds_its_image(self):
        self.create("own")
        self.inside("echo mine > /etc/issue")
        result = self.command("image", "remove", "distro:1")
        self.assertEqual(result.returncode, 75, result.stderr)
        self.assertRegex(result.stderr, "is that of the persistent sandbox 'box', by its profile own: 'msp destroy box'")
        self.assertEqual(self.inside("cat /etc/issue"), "mine\n")
        result = self.command("image", "remove", "lower:1")  # the control: no sandbox has that one
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.command("destroy", "box").returncode, 0)
        # The processes of the sandbox may end after the command.
        self.assertTrue(support.wait_until(lambda: self.command("image", "remove", "distro:1").returncode == 0, 20))

    def test_checkpoints_of_a_root(self):
        self.create("both")
        self.inside("echo one > /etc/issue")
        result = self.command("checkpoint", "box")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.inside("echo two > /etc/issue; rm -r /opt/covered")
        result = self.command("rollback", "box", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.inside("cat /etc/issue; ls /opt"), "one\ncovered\nkept\n")

    def test_a_workspace_over_an_image(self):
        project = os.path.join(self.folder, "home/project")
        os.makedirs(project)
        with open(project + "/file", "w", encoding="utf-8") as file:
            file.write("of the host\n")
        self.create("read", f"--workspace={project}")
        self.assertEqual(self.inside("cat /workspace/file; echo changed > /workspace/file"), "of the host\n")
        result = self.command("diff", "box")
        self.assertIn("+changed", result.stdout, result.stderr)


class Explained(WithImages):
    def explain(self, operation, profile="read"):
        result = subprocess.run([os.path.join(support.BIN, "msp-policy"), "explain", "--config", self.config,
                                 "--images", self.store.path, profile, operation],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_reading_and_writing(self):
        self.assertIn("allowed", self.explain("read /usr/bin/sh"))
        self.assertIn("EROFS", self.explain("write /etc/issue"))
        self.assertIn("root: writable", self.explain("write /etc/issue"))
        self.assertIn("allowed", self.explain("write /etc/issue", "own"))


if __name__ == "__main__":
    unittest.main()
