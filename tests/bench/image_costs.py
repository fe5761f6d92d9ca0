# SPDX-License-Identifier: Apache-2.0
"""Images: how long a command takes to run in one, beside the default profile, podman with the same
image, and crun and bwrap on its unpacked tree; how that depends on its layers and on a root that can
be written; and how long an import takes, beside others that unpack the same."""
import os
import shutil
import subprocess

import groups
import image_tree
import peers
import programs

TRUE = ["/bin/true"]
PYTHON = ["/usr/bin/python3", "-c", "print(1)"]
DEFAULT = "msp run, default profile"
IMAGE = "msp run, an image"
WRITABLE = "msp run, an image, its root writable"
FEW, MANY = "msp run, an image of 2 layers", "msp run, an image of 30 layers"
PODMAN, CRUN, BWRAP = "podman run of it", "crun, on its tree", "bwrap, on its tree"
IMPORT, UMOCI, BSDTAR = "msp image import", "umoci unpack", "bsdtar"
PROFILES = """profiles:
  - {name: one, extends: image, image: "one:1"}
  - {name: writable, extends: image, image: "one:1", root: writable}
  - {name: few, extends: image, image: "few:1"}
  - {name: many, extends: image, image: "many:1"}
"""
SLOW_EVERY = 8  # podman takes as long as all others together


class Images:
    """The images, and msp with them in a state directory of its own."""

    def __init__(self, context):
        self.context = context
        self.folder = os.path.join(context.place, "images")
        os.mkdir(self.folder)
        self.left_out = {}
        self.state = os.path.join(self.folder, "state")
        self.config = self.path("config.yaml")
        self.make()

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def environment(self, state=None):
        return {**programs.ENVIRONMENT, "HOME": self.folder, "MSP_STATE_DIR": state or self.state,
                "MSP_CONFIG": self.config}

    def make(self):
        import images_support  # of the integration tests, which must know where the programs are

        os.mkdir(self.state, 0o700)
        with open(self.config, "w", encoding="ascii") as file:
            file.write(PROFILES)
        files = image_tree.gather()
        for name, count in (("one", 1), ("few", 2), ("many", 30)):
            image = images_support.Image(*image_tree.layers(self.folder, files, count),
                                         compression="+gzip" if count == 1 else "", Cmd=TRUE,
                                         Env=["PATH=/usr/bin:/bin"])
            images_support.write_directory(self.path(name), image.oci("1"))
            self.msp("image", "import", self.path(name), name + ":1")
            if count == 1:
                images_support.write_archive(self.path("one.tar"), image.docker("one:1"))
                self.layer = max((os.path.join(self.path(name), "blobs/sha256", digest)
                                  for digest in os.listdir(self.path(name, "blobs/sha256"))),
                                 key=os.path.getsize)
                self.tree = self.path("tree")
                os.mkdir(self.tree)
                with open(self.path("tree.tar"), "wb") as file:
                    file.write(image.layers[0])
                subprocess.run(["tar", "-x", "-f", self.path("tree.tar"), "-C", self.tree], check=True)

    def msp(self, *words):
        programs.spawn([self.context.support.MSP, *words], self.environment())

    def run(self, profile, command):
        support = self.context.support
        argv = [support.MSP, "run", *support.limits(), "--standalone", f"--profile={profile}", "--",
                *command]
        return lambda: programs.spawn(argv, self.environment())

    # --- others ---------------------------------------------------------------------------------

    def others(self, command):
        """{name: way}; what cannot run here is left out, with its reason."""
        found = {}
        for name, make in ((PODMAN, self.podman), (CRUN, self.crun), (BWRAP, self.bwrap)):
            program = name.split()[0].strip(",")
            if not shutil.which(program, path=peers.SEARCH):
                self.left_out[name] = "not installed"
                continue
            try:
                with programs.deadline(60):
                    found[name] = make(command)
                    found[name]()
            except (programs.Failed, OSError, subprocess.SubprocessError) as problem:
                found.pop(name, None)
                self.left_out[name] = f"does not work here: {problem}"[:300]
        return found

    def podman(self, command):
        """Without a second map of users the account is the image's root, and all files are its own."""
        runc = shutil.which("runc", path=peers.SEARCH)  # crun refuses hosts with both kinds of cgroups
        words = [shutil.which("podman", path=peers.SEARCH), "--log-level=error",
                 "--storage-driver=overlay", *(["--runtime", runc] if runc else [])]
        environment = self.context.peer_environment()
        subprocess.run([*words, "load", "-q", "-i", self.path("one.tar")], env=environment, check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)
        argv = [*words, "run", "--rm", "--network=none", "--read-only", "--cap-drop=all",
                "--security-opt=no-new-privileges", "--log-driver=none", "--pull=never",
                "localhost/one:1", *command]
        return lambda: programs.spawn(argv, environment)

    def crun(self, command):
        return peers.Oci("crun", self.context, root=self.tree).way(command)

    def bwrap(self, command):
        return peers.Words(peers.bwrap(self.context, root=self.tree), self.context).way(command)

    # --- groups ---------------------------------------------------------------------------------

    def launch(self, name, title, command, rounds):
        ways = {"bare": lambda: programs.spawn(command), DEFAULT: self.run("default", command),
                IMAGE: self.run("one", command), WRITABLE: self.run("writable", command),
                FEW: self.run("few", command), MANY: self.run("many", command)}
        ours = [IMAGE, WRITABLE, MANY]
        ways |= self.others(command)
        series = groups.take_turns(ways, rounds, pause=0.004, every={PODMAN: SLOW_EVERY})
        return groups.Group(name, title, "us", series, base=DEFAULT, bases={MANY: FEW}, ours=ours,
                            left_out=dict(self.left_out))

    def unpacking(self):
        """Each time into a new directory, with nothing else to be written to the disk. All are removed
        at the end: ext4 looks for free inodes among those that were freed in the last minutes, which
        takes longer than the unpacking."""
        count = 0

        def fresh(act):
            def way():
                nonlocal count
                count += 1
                place = self.path(f"unpacked-{count}")
                os.mkdir(place, 0o700)
                os.sync()
                return act(place)
            return way

        def umoci(place):
            return programs.spawn([shutil.which("umoci", path=peers.SEARCH), "unpack", "--rootless",
                                   "--image", self.path("one") + ":1", os.path.join(place, "bundle")],
                                  self.context.peer_environment())

        def bsdtar(place):
            return programs.spawn([shutil.which("bsdtar", path=peers.SEARCH), "-x", "-f", self.layer,
                                   "-C", place])

        ways = {IMPORT: fresh(lambda place: programs.spawn(
            [self.context.support.MSP, "image", "import", self.path("one"), "one:1"],
            self.environment(place)))}
        left_out = {}
        for name, program, act in ((UMOCI, "umoci", umoci), (BSDTAR, "bsdtar", bsdtar)):
            if shutil.which(program, path=peers.SEARCH):
                ways[name] = fresh(act)
            else:
                left_out[name] = "not installed"
        series = groups.take_turns(ways, self.context.rounds(15, 2), warm=0)
        size = sum(os.path.getsize(path) for path in image_tree.files_below(self.tree)) >> 20
        return groups.Group("image-import", f"An image of one layer of {size} MiB, unpacked", "us",
                            series, base=BSDTAR if BSDTAR in ways else "", ours=[IMPORT],
                            left_out=left_out)

    def close(self):
        subprocess.run(["chmod", "-R", "u+rwX", self.folder], check=True)
        shutil.rmtree(self.folder)


def images(context):
    made = Images(context)
    try:
        return [made.launch("image", "`/bin/true` in an image", TRUE, context.rounds(200, 40)),
                made.launch("image-python", "`print(1)` in python in an image", PYTHON,
                            context.rounds(60, 16)),
                made.unpacking()]
    finally:
        made.close()
