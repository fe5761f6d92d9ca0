#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that the host executes under a name of the project's own choice: links of the host and its
git configuration lead to them. A hostile workload changes one; an apply must not bring it over
unasked. Each case has its control: a harmless twin beside it is applied."""
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
from persistent_support import PersistentCase, git, msp  # noqa: E402  (a folder of its own)

EVIL = "#!/bin/sh\necho evil > ran\n"


class Case(PersistentCase):
    profile = ()
    ignored = ()  # the option that brings ignored files

    def setUp(self):
        super().setUp()
        self.home = os.path.join(os.path.dirname(self.project), "home")
        os.mkdir(self.home)
        before = {name: os.environ.get(name) for name in ("HOME", "XDG_CONFIG_HOME")}
        self.addCleanup(lambda: [os.environ.update({name: value}) if value is not None
                                 else os.environ.pop(name, None)
                                 for name, value in before.items()])
        os.environ["HOME"] = self.home
        os.environ.pop("XDG_CONFIG_HOME", None)
        self.put("control", "before\n")

    def link(self, path, target):
        path = os.path.join(self.project, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)

    def config(self, text, path=".gitconfig", folder=None):
        path = os.path.join(folder or self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def attack(self, *names, script=""):
        """Change these files and the harmless twin in a new sandbox, and apply."""
        sandbox = self.create(*self.profile)
        self.sh(sandbox, "cd /workspace; echo after > control; " + "; ".join(
            f"mkdir -p $(dirname {name}); rm -f {name}; "
            f"printf '#!/bin/sh\\necho evil > ran\\n' > {name}; chmod 755 {name}"
            for name in names) + script)
        return sandbox, msp("apply", sandbox, *self.ignored, code=None)

    def assert_held(self, *names, script=""):
        before = {name: self.get(name) if os.path.isfile(os.path.join(self.project, name))
                  else None for name in names}
        sandbox, result = self.attack(*names, script=script)
        self.assertEqual(self.get("control"), b"after\n", "the control: the rest is applied")
        for name in names:
            path = os.path.join(self.project, name)
            with self.subTest(name=name):
                self.assertEqual(self.get(name) if os.path.isfile(path) else None, before[name])
                self.assertIn(name, result.stdout + result.stderr)
        msp("apply", sandbox, "--held", *self.ignored)
        for name in names:
            self.assertEqual(self.get(name), EVIL.encode(), "the word of a person brings it")

    def assert_link_held(self, held, free, *files):
        """Neither the link nor anything else runs before a person's word; a twin is applied."""
        sandbox = self.create(*self.profile)
        self.sh(sandbox, f"cd /workspace; mkdir evil; ln -s evil {held}; ln -s evil {free}; " +
                "; ".join(f"mkdir -p evil/$(dirname {name}); printf '#!/bin/sh\ntouch ran\n' > "
                          f"evil/{name}; chmod 755 evil/{name}" for name in files))
        result = msp("apply", sandbox, code=1)
        self.assertFalse(os.path.lexists(os.path.join(self.project, held)), result.stdout)
        self.assertTrue(os.path.islink(os.path.join(self.project, free)), result.stdout)
        return sandbox

    def commit(self):
        """True: the hook ran."""
        git(self.project, "commit", "--allow-empty", "-qm", "message")
        return os.path.exists(os.path.join(self.project, "ran"))

    def assert_applied(self, *names):
        _, result = self.attack(*names)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in names:
            self.assertEqual(self.get(name), EVIL.encode())


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class HostLinks(Case):
    """T29: the host's own links of such names lead to a file of the project."""

    def setUp(self):
        super().setUp()
        git(self.project, "init", "-q")
        self.put("scripts/pc", "#!/bin/sh\ntrue\n", mode=0o755)

    def test_an_absolute_link_into_the_project(self):
        """What is at stake, with everything held applied: git runs it at the next commit."""
        self.link(".git/hooks/pre-commit", os.path.join(self.project, "scripts/pc"))
        self.assert_held("scripts/pc")
        git(self.project, "commit", "-q", "--allow-empty", "-m", "x")
        self.assertTrue(os.path.exists(os.path.join(self.project, "ran")), "the control")

    def test_chains_and_ways_back(self):
        self.link(".git/hooks/pre-commit", "../../a/b")
        self.link("a", "c")
        self.put("c/keep", "x")
        self.link("c/b", "../../project/scripts/./x/../pc")
        self.put("scripts/x/keep", "x")
        self.assert_held("scripts/pc", "c/b")

    def test_a_link_in_a_directory_that_a_link_leads_to(self):
        shutil.rmtree(os.path.join(self.project, ".git/hooks"))
        self.link(".git/hooks", "../dev/hooks")
        self.link("dev/hooks/pre-push", os.path.join(self.project, "scripts/pc"))
        self.assert_held("scripts/pc", "dev/hooks/pre-commit")

    def test_many_names_hide_none(self):
        for number in range(400):
            self.put(f".git/hooks/{number}.sample", "")
        self.link(".git/hooks/pre-commit", "../../scripts/pc")
        self.assert_held("scripts/pc")

    def test_a_link_above_a_hook_that_is_not_there(self):
        self.link(".git/hooks/pre-commit", "../../own/deep/pc")
        sandbox = self.assert_link_held("own", "owned", "deep/pc")
        self.assertFalse(self.commit())
        msp("apply", sandbox, "--held")
        self.assertTrue(self.commit(), "the control: with a word the attack succeeds")

    def test_a_link_above_a_name_of_the_table(self):
        self.assert_link_held(".yarn", "yarn", "releases/yarn.cjs")

    def test_a_link_into_a_tree_where_links_are_free(self):
        self.put(".mspignore", "node_modules/\n")
        sandbox = self.create()
        self.sh(sandbox, "cd /workspace; mkdir node_modules; ln -s /etc node_modules/a; "
                         "ln -s node_modules/a docs; ln -s scripts control2")
        msp("apply", sandbox, "--ignored", code=1)
        self.assertEqual([os.path.lexists(os.path.join(self.project, name))
                          for name in ("docs", "control2", "node_modules/a")],
                         [False, True, True])

    def test_a_link_elsewhere_holds_nothing(self):
        self.link(".git/hooks/pre-commit", "/usr/bin/true")
        self.assert_applied("scripts/pc")


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Configuration(Case):
    """T29: files of the project that the host's configuration of git names."""

    def setUp(self):
        super().setUp()
        git(self.project, "init", "-q")

    def assert_named(self, text, *names, **place):
        place.setdefault("path", ".gitconfig")
        self.config(text, **place)
        self.assert_held(*names)

    def own(self, text, *names):
        self.assert_named(self.get(".git/config").decode() + text, *names,
                          path=".git/config", folder=self.project)

    def test_hooks_elsewhere(self):
        """What is at stake, with everything held applied: git runs it at the next commit."""
        self.own("[core]\n\thooksPath = .hooks2\n", ".hooks2/pre-commit")
        git(self.project, "commit", "-q", "--allow-empty", "-m", "x")
        self.assertTrue(os.path.exists(os.path.join(self.project, "ran")), "the control")

    def test_the_users_hooks(self):
        self.assert_named("[core] HooksPath = ./tools/hooks # all\n", "tools/hooks/pre-push")

    def test_a_link_above_hooks_that_are_not_there(self):
        self.config(self.get(".git/config").decode() + "[core]\n\thooksPath = own/hooks\n",
                    path=".git/config", folder=self.project)
        sandbox = self.assert_link_held("own", "owned", "hooks/pre-commit")
        self.assertFalse(self.commit())
        msp("apply", sandbox, "--held")
        self.assertTrue(self.commit(), "the control: with a word the attack succeeds")

    def test_what_a_status_runs(self):
        self.own("[core]\n\tfsmonitor = ./tools/monitor -v\n", "tools/monitor")

    def test_filters_and_drivers(self):
        self.own('[filter "x"]\n\tclean = python3 clean.py %f\n\tsmudge = "sh \\"./my/smudge\\""\n'
                 '\tprocess = ! cd tools && sh run/it\n'
                 '[diff "y"]\n\ttextconv = awk -f text/conv.awk\n\tcommand = ./x/diff\n'
                 '[merge "z"]\n\tdriver = tools/merge --out=%A %O\n',
                 "clean.py", "my/smudge", "run/it", "text/conv.awk", "x/diff", "tools/merge")

    def test_other_commands(self):
        self.assert_named('[alias]\n\tdeploy = "!f() { $(git rev-parse --show-toplevel)/ops/deploy; '
                          '}; f"\n[credential]\n\thelper = !./ops/secret\n'
                          '[sequence]\n\teditor = ./ops/edit\n[gpg]\n\tprogram = ops/sign\n'
                          '[new-one "x"]\n\tunheardOf = ./ops/future\n',
                          "ops/deploy", "ops/secret", "ops/edit", "ops/sign", "ops/future")

    def test_by_the_projects_own_path(self):
        self.assert_named(f"[core]\n\tsshCommand = {self.project}/tools/ssh\n", "tools/ssh")

    def test_by_the_home(self):
        os.symlink(self.project, os.path.join(self.home, "code"))
        self.assert_named("[core]\n\teditor = ~/code/tools/edit --wait\n", "tools/edit")

    def test_included_files(self):
        self.config("[core]\n\tpager = ./tools/pager\n", path="more/deep")
        self.config("[include]\n\tpath = deep\n[includeIf \"gitdir:/nowhere/\"] path = ~/third\n",
                    path="more/conditions")
        self.config("[core]\n\taskPass = ./tools/ask\n", path="third")
        self.own(f"[include]\n\tpath = {self.home}/more/conditions\n\tpath = ../shared.gitconfig\n",
                 "tools/pager", "tools/ask", "shared.gitconfig")

    def test_the_other_places(self):
        os.environ["XDG_CONFIG_HOME"] = os.path.join(self.home, "xdg")
        self.config("[core]\n\tpager = ./tools/a\n", path="xdg/git/config")
        self.config("[core]\n\tpager = ./tools/b\n", path=".config/git/config")
        self.config("[core]\n\tpager = ./tools/c\n", path=".git/config.worktree",
                    folder=self.project)
        self.config("ref: refs/heads/main\n", path=".git/modules/a/b/HEAD", folder=self.project)
        self.config("[core]\n\tworktree = ../../../../sub\n\thooksPath = hooks2\n",
                    path=".git/modules/a/b/config", folder=self.project)
        os.mkdir(os.path.join(self.project, "sub"))
        self.config("ref: refs/heads/main\n", path=".git/worktrees/x/HEAD", folder=self.project)
        self.config("[core]\n\tpager = ./tools/d\n", path=".git/worktrees/x/config.worktree",
                    folder=self.project)
        self.assert_held("tools/a", "tools/b", "tools/c", "tools/d", "sub/hooks2/pre-commit")

    def test_a_repository_above_and_one_elsewhere(self):
        above = os.path.dirname(self.project)
        shutil.rmtree(os.path.join(self.project, ".git"))
        git(above, "init", "-q")
        self.config("[core]\n\thooksPath = project/ours\n", path=".git/config", folder=above)
        self.assert_held("ours/pre-commit")
        shutil.rmtree(os.path.join(above, ".git"))
        os.makedirs(os.path.join(self.home, "store/worktrees/p"))
        self.put(".git", f"gitdir: {self.home}/store/worktrees/p\n")
        self.config("../..\n", path="store/worktrees/p/commondir")
        self.config("[core]\n\tfsmonitor = theirs/monitor\n", path="store/config")
        os.makedirs(os.path.join(self.home, "store/hooks"))
        os.symlink(os.path.join(self.project, "dev/hook"),
                   os.path.join(self.home, "store/hooks/pre-commit"))
        self.assert_held("theirs/monitor", "dev/hook")

    def test_it_is_read_anew(self):
        """A sandbox that has been looked at before the user changes his configuration."""
        sandbox = self.create()
        self.sh(sandbox, "cd /workspace; mkdir late; echo x > late/pre-commit")
        self.assertIn("late/pre-commit", msp("diff", sandbox).stdout)
        self.config("[core]\n\thooksPath = late\n")
        self.assertEqual(msp("apply", sandbox, code=1).stdout.count("by itself"), 2)

    def test_too_much_to_read(self):
        self.config("#" * (2 << 20) + "\n[core]\n\thooksPath = nowhere\n")
        _, result = self.attack("main.c")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(self.get("control"), b"before\n")

    def test_what_names_nothing_holds_nothing(self):
        self.config("[user]\n\tname = src\n[alias]\n\tst = !git status src ./lib && git push origin main\n"
                    "[core]\n\tpager = less -R\n\tfsmonitor = true\n\thooksPath = /usr/share/hooks\n"
                    "[safe]\n\tdirectory = src\n[branch \"main\"]\n\tremote = origin\n"
                    "[remote \"origin\"]\n\turl = ./lib\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n")
        self.put("src/keep", "x")
        self.put("lib/keep", "x")
        self.assert_applied("src/main.c", "lib/main.c", "tools/x", "scripts/pc", "less/x")


class WaysOut(Case):
    """Links that a sandbox makes: a program of the host writes or reads where they lead."""

    def links(self, *made):
        """Make them and the control; what of them is there after an apply, and what it said."""
        sandbox = self.create()
        self.sh(sandbox, "cd /workspace; echo after > control; mkdir -p a/b; " + "; ".join(
            f"ln -sfn '{target}' {name}" for name, target in made))
        result = msp("apply", sandbox, code=None)
        self.assertEqual(self.get("control"), b"after\n", "the control: the rest is applied")
        return {name for name, _ in made if os.path.islink(os.path.join(self.project, name))}, \
            result.stdout + result.stderr

    def test_out_of_the_project(self):
        """Absolute, beyond the root, to a neighbour, and through the host's own link."""
        self.link("host", "/opt")
        there, text = self.links(("x1", "/etc/passwd"), ("x2", "../secret"), ("x3", "host/x"),
                                 ("a/x4", "../../y"), ("x5", self.project + "2"),
                                 ("x6", self.home + "/.ssh/id"))
        self.assertEqual(there, set(), text)
        self.assertEqual(text.count("it leads out of the project"), 6, text)

    def test_through_links_of_the_same_apply(self):
        """By its text x stays inside; by way of the other link it leads beside the project."""
        there, text = self.links(("a/b/c", "../.."), ("x", "a/b/c/../../secret"))
        self.assertEqual(there, {"a/b/c"}, text)

    def test_inside(self):
        there, text = self.links(("x1", "control"), ("a/x2", "../control"), ("x3", "./a/b"),
                                 ("x4", self.project + "/control"), ("x5", "not/there"))
        self.assertEqual(there, {"x1", "a/x2", "x3", "x4", "x5"}, text)

    def test_by_the_projects_own_path_to_what_is_held(self):
        there, text = self.links(("x1", self.project + "/.envrc"))
        self.assertEqual(there, set(), text)


class Ranks(Case):
    """T33: obeyed by itself is held always, what somebody starts by the operator's choice, and
    trees that the host's rules ignore never."""

    def hold_tools(self, word="@tools"):
        path = os.path.join(self.home, "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("profiles:\n  - name: careful\n    extends: default\n"
                       f"    lasting: {{hold: [\"{word}\"]}}\n")
        os.environ["MSP_CONFIG"] = path
        self.profile = ("--profile", "careful")
        self.addCleanup(os.environ.pop, "MSP_CONFIG", None)

    def test_tools_are_marked(self):
        sandbox, result = self.attack("build.rs")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("build.rs  (executed when its tool is started)", result.stdout)

    def test_tools_wait_where_the_operator_says_so(self):
        self.hold_tools()
        self.assert_held("build.rs", "eslint.config.mjs", "sub/.venv/bin/python")

    def test_rules_of_the_sandbox_lift_nothing(self):
        self.hold_tools()
        self.assert_held("build.rs", "node_modules/x/.vscode/tasks.json",
                         script="; printf 'build.rs\\nnode_modules/\\n' > .gitignore")

    def test_trees_that_are_ignored(self):
        self.put(".mspignore", "node_modules/\n.envrc\n.vscode/\n")
        self.ignored = ("--ignored",)
        self.assert_applied("node_modules/x/.vscode/tasks.json", "node_modules/x/CLAUDE.md",
                            "node_modules/x/.github/workflows/ci.yml")

    def test_names_that_are_ignored(self):
        self.put(".gitignore", "node_modules/\n.envrc\n.vscode/\n")
        self.ignored = ("--ignored",)
        self.assert_held(".envrc", ".vscode/tasks.json", "node_modules/.envrc")

    def bring(self, path, rule, code):
        """Apply a rule of a sandbox; True: the host has it."""
        sandbox = self.create(*self.profile)
        self.sh(sandbox, f"cd /workspace; mkdir -p $(dirname {path}); echo '{rule}' > {path}")
        result = msp("apply", sandbox, code=code)
        self.ignored = ("--ignored",)
        return os.path.exists(os.path.join(self.project, path)), result.stdout

    def test_in_two_steps(self):
        """An apply brings the rule, unasked, and the next one what the rule would lift."""
        self.assertTrue(self.bring(".gitignore", "src/\nvendor/\nnode_modules/", 0)[0])
        self.assert_held("src/.vscode/tasks.json", "src/.envrc", "vendor/x/.vscode/tasks.json",
                         "node_modules/x/CLAUDE.md")

    def test_tools_in_two_steps(self):
        """Rules for msp alone wait for a word themselves, wherever they are."""
        self.hold_tools()
        self.put("sub/keep", "x")
        for path in (".mspignore", "sub/.mspignore", ".MSPIGNORE"):
            with self.subTest(path=path):
                there, text = self.bring(path, "build.rs", 1)
                self.assertFalse(there)
                self.assertIn(path, text)
        self.assert_held("build.rs", "sub/build.rs")

    def test_rules_by_other_ways(self):
        """A person's rules say that build.rs is not ignored after all. They stay, however a sandbox
        changes them, and so do names that lead to new ones."""
        self.put(".git/info/exclude", "build.rs\nnode_modules/\n")
        self.put("node_modules/keep", "x")
        for script in ("rm .mspignore", "chmod 600 .mspignore", "mv .mspignore x",
                       "rm .mspignore; mkdir .mspignore; touch .mspignore/x",
                       "rm .mspignore; ln -s rules .mspignore; echo build.rs > rules",
                       "rm .mspignore; ln rules .mspignore", "mv rules .mspignore",
                       "echo build.rs > sub/.mspignore", "ln -s .mspignore link",
                       "echo build.rs > node_modules/.mspignore"):
            with self.subTest(script=script):
                self.put(".mspignore", "!build.rs\n")
                self.put("sub/keep", "x")
                self.put("rules", "build.rs\n")
                self.put("control", "before\n")
                sandbox = self.create()
                self.sh(sandbox, "cd /workspace; echo after > control; " + script)
                result = msp("apply", sandbox, "--ignored", code=1)
                self.assertEqual((self.get(".mspignore"), self.get("control")),
                                 (b"!build.rs\n", b"after\n"), result.stdout)
                self.assertEqual(os.stat(os.path.join(self.project, ".mspignore")).st_mode & 0o777,
                                 0o644)
                for path in ("sub/.mspignore", "node_modules/.mspignore", "link"):
                    self.assertFalse(os.path.lexists(os.path.join(self.project, path)), path)
        msp("apply", sandbox, "--ignored", "--held")
        self.assertEqual(self.get("node_modules/.mspignore"), b"build.rs\n", "the control")

    def test_the_host_s_own_rules(self):
        """The control: the same rule frees if a person wrote it, and another person's word takes
        it over."""
        self.hold_tools()
        self.put(".mspignore", "build.rs\n")
        self.ignored = ("--ignored",)
        self.assert_applied("build.rs", "sub/build.rs")
        self.assert_held("eslint.config.mjs")


    def test_dot_files_where_the_operator_says_so(self):
        """A name that no table has; a change of one that a person has agreed to waits again."""
        self.hold_tools("@dotfiles")
        self.put(".mspignore", ".cache/\n")
        self.put(".hadrc", "agreed\n")
        self.ignored = ("--ignored",)
        self.assert_held(".newrc", ".newtool/run", "sub/.newtool/run", ".hadrc")
        self.assert_applied(".cache/x/run", "newtool/run")


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class RulesInCommits(Case):
    def test_they_wait(self):
        git(self.project, "init", "-q")
        git(self.project, "commit", "-q", "--allow-empty", "-m", "first")
        for name, code, there in ((".mspignore", 1, False), (".gitignore", 0, True)):
            with self.subTest(name=name):
                sandbox = self.create()
                self.sh(sandbox, f"cd /workspace; echo build.rs > {name}; git add {name}; git -c "
                                 "user.name=a -c user.email=b commit -qm second; rm " + name)
                result = msp("apply", sandbox, ".git", code=code)
                self.assertEqual(name in result.stdout, not there, result.stdout)
                refs = git(self.project, "for-each-ref", "refs/msp")
                self.assertEqual(sandbox.encode() in refs, there)


class Unknown(Case):
    """New files of a kind that tools execute: they come, and are named."""

    def test_they_are_named(self):
        sandbox = self.create()
        self.sh(sandbox, "cd /workspace; echo after > control; mkdir .newtool bin; "
                         "touch .newtool/x bin/y a.c; echo '#!/bin/sh' > plain; "
                         "echo > z; chmod +x z")
        result = msp("diff", sandbox)
        self.assertIn("4 of a kind that tools execute: .newtool/x, bin/y, plain ...", result.stderr)
        self.assertEqual(msp("-q", "diff", sandbox).stderr, "")
        self.assertEqual(msp("diff", "--name-only", sandbox, cwd=self.project).stderr, "",
                         "for programs")
        marked = [line for line in msp("apply", sandbox).stdout.splitlines()
                  if line.endswith("(of a kind that tools execute)")]
        self.assertEqual([line.split()[1] for line in marked],
                         [".newtool/x", "bin/y", "plain", "z"])
        self.assertEqual(self.get("z"), b"\n", "it holds nothing")

    def test_what_the_host_has_had_is_not(self):
        self.put("bin/y", "x")
        sandbox = self.create()
        self.sh(sandbox, "cd /workspace; echo more > bin/y")
        self.assertNotIn("of a kind", msp("diff", sandbox).stderr)
        self.sh(sandbox, "cd /workspace; chmod +x bin/y")
        self.assertIn("1 of a kind that tools execute: bin/y", msp("diff", sandbox).stderr)


class Replaced(Case):
    """A held file stays where the directory above it is to go."""

    def setUp(self):
        super().setUp()
        self.put("sub/.envrc", "deny\n")
        self.put("sub/free", "x\n")

    def assert_stays(self, script):
        sandbox = self.create()
        self.sh(sandbox, "cd /workspace; echo after > control; " + script)
        msp("apply", sandbox, code=1)
        self.assertEqual(self.get("sub/.envrc"), b"deny\n")
        self.assertEqual(self.get("control"), b"after\n", "the control: the rest is applied")
        return sandbox

    def test_by_nothing(self):
        sandbox = self.assert_stays("rm -r sub")
        self.assertFalse(os.path.exists(os.path.join(self.project, "sub/free")), "the control")
        msp("apply", sandbox, "--held")
        self.assertFalse(os.path.exists(os.path.join(self.project, "sub")))

    def test_by_something_else(self):
        """Where another thing has its name nothing is applied before a word about the held file."""
        for script in ("rm -r sub; echo > sub", "mv sub other; ln -s other sub"):
            with self.subTest(script=script):
                self.put("control", "before\n")
                sandbox = self.create()
                self.sh(sandbox, "cd /workspace; echo after > control; " + script)
                msp("apply", sandbox, code=70)
                self.assertEqual((self.get("sub/.envrc"), self.get("control")),
                                 (b"deny\n", b"before\n"))
        msp("apply", sandbox, "--held")
        self.assertTrue(os.path.islink(os.path.join(self.project, "sub")), "the control")

    def test_by_another_name(self):
        self.assert_stays("mv sub other")
        self.assertFalse(os.path.exists(os.path.join(self.project, "other/.envrc")))


class Depth(Case):
    def test_deep_directories_take_no_time(self):
        """A directory of a held name with 1,900 in one another: without a bound it takes minutes,
        and in an emulated machine ten times as long."""
        seconds = 240 if os.environ.get("MSP_VM") else 60
        sandbox = self.create()
        self.sh(sandbox, "cd /workspace; echo after > control; "
                         "mkdir -p .vscode/$(printf 'a/%.0s' $(seq 1900)) ok/$(printf 'a/%.0s' "
                         "$(seq 50)); touch ok/$(printf 'a/%.0s' $(seq 50))control")
        msp("apply", sandbox, code=1, timeout=seconds)
        self.assertEqual(self.get("control"), b"after\n", "the control")
        self.assertEqual(self.get("ok/" + 50 * "a/" + "control"), b"", "the control")
        self.assertFalse(os.path.exists(os.path.join(self.project, ".vscode")))


if __name__ == "__main__":
    unittest.main()
