/* SPDX-License-Identifier: Apache-2.0
 *
 * What is made of the last lines of an error output, with the built-in profiles.
 */
#include "hint_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/ipc/ipc_done.h"
#include "common/text/names.h"

TestSuite(denial_hints, .init = open_plan, .fini = close_plan);

/* A name that is missing in a directory of the sandbox's own; the host may have it. */
static void expect_note(const char *text, const char *path)
{
	judge(text);
	cr_expect_eq(views.count, 0, "%s", text);
	cr_expect_str_empty(views.other, "%s", text);
	cr_expect(strncmp(views.note, path, strlen(path)) == 0, "%s: %s", text, views.note);
}

Test(denial_hints, of_many_programs)
{
	expect_one("touch: cannot touch '/usr/x': Read-only file system\n", "mounts", "create",
		   "/usr/x");
	expect_one("OSError: [Errno 30] Read-only file system: '/etc/passwd'", "mounts", "write",
		   "/etc/passwd");
	expect_one("sh: 1: cannot create /usr: Read-only file system", "mounts", "write", "/usr");
	expect_one("/bin/sh: 1: cannot create /etc/x: Read-only file system", "mounts", "create",
		   "/etc/x");
	expect_one("rm: cannot remove '/etc/passwd': Read-only file system\n", "mounts", "delete",
		   "/etc/passwd");
	expect_one("mkdir: cannot create directory \342\200\230/usr/x\342\200\231: Read-only file "
		   "system",
		   "mounts", "create", "/usr/x");
	expect_one("error:  cannot create f\n        Read-only file system\n", "mounts", "write",
		   "");
	expect_one("cat: /etc/shadow: No such file or directory", "mounts", "read", "/etc/shadow");
	expect_one("open /root/x: no such file or directory", "mounts", "read", "/root/x");
	expect_one(
		"sh: 1: /tmp/../etc: oops\nls: cannot access \"/root\": No such file or directory",
		"mounts", "read", "/root");
}

Test(denial_hints, of_the_network)
{
	expect_one("curl: (6) Could not resolve host: example.org", "network", "connect",
		   "example.org");
	expect_one("fatal: unable to access 'https://github.com/a/': Could not resolve host: "
		   "github.com",
		   "network", "connect", "github.com");
	expect_one("socket.gaierror: [Errno -3] Temporary failure in name resolution", "network",
		   "connect", "any host");
	expect_one("connect to 192.0.2.1: Network is unreachable", "network", "connect",
		   "192.0.2.1");
	expect_one("curl: (7) Failed to connect to 2001:db8::1 port 80: Couldn't connect to server",
		   "network", "connect", "2001:db8::1");
	expect_one("dial tcp: lookup proxy.golang.org on [::1]:53: no such host", "network",
		   "connect", "proxy.golang.org");
	expect_one("curl: (6) Could not resolve host: sh.rustup.rs", "network", "connect",
		   "sh.rustup.rs");
}

Test(denial_hints, hosts_are_no_classes_and_no_files)
{
	expect_one("NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object>: "
		   "[Errno -2] Name or service not known')",
		   "network", "connect", "any host");
	expect_one("java.net.SocketException: Network is unreachable", "network", "connect",
		   "any host");
	expect_one("../crypto/bio/bio_addr.c:746:Name or service not known", "network", "connect",
		   "any host");
	expect_one("main.rs:3: Network is unreachable", "network", "connect", "any host");
	source.command = "python3 -c 'urlopen(\"https://example.org/\")'";
	expect_one("urlopen error [Errno -2] Name or service not known", "network", "connect",
		   "example.org");
}

Test(denial_hints, of_package_managers)
{
	static const char pip[] = "ERROR: No matching distribution found for requests";

	expect_one(pip, "network", "connect", "packages");
	expect_one("npm error request to https://registry.npmjs.org/x failed: cache mode is "
		   "'only-if-cached'",
		   "network", "connect", "registry.npmjs.org");
	/* the coordinates of a package are no host */
	expect_one("[ERROR] Plugin org.apache.maven.plugins:maven-jar-plugin:2.4 or one of its "
		   "dependencies could not be resolved: Unknown host repo.maven.apache.org: Name "
		   "or service not known -> [Help 1]",
		   "network", "connect", "repo.maven.apache.org");
	expect_one("Could not resolve com.google.guava:guava:33.0.0-jre. Network is unreachable: "
		   "192.0.2.1:443",
		   "network", "connect", "192.0.2.1");
	expect_one("[ERROR] Plugin org.apache.maven.plugins:maven-jar-plugin:2.4 or one of its "
		   "dependencies could not be resolved: Cannot access central "
		   "(https://repo.maven.apache.org/maven2) in offline mode and the artifact "
		   "org.apache.maven.plugins:maven-jar-plugin:jar:2.4 has not been downloaded",
		   "network", "connect", "repo.maven.apache.org");
	expect_one("[ERROR] No plugin found for prefix 'x' in the plugin groups "
		   "[org.apache.maven.plugins] available from the repositories [local "
		   "(/home/agent/.m2/repository), central (https://repo.maven.apache.org/maven2)]",
		   "network", "connect", "repo.maven.apache.org");
	source.command = "pip install --no-index requests";
	expect_nothing(pip);
}

Test(denial_hints, one_view_stands_for_the_network)
{
	judge("[Errno -2] Name or service not known\nENOTFOUND example.org\n"
	      "getaddrinfo EAI_AGAIN example.com\nfatal: Network is unreachable\n");
	cr_assert_eq(views.count, 1);
	cr_expect_eq(views.items[0].count, 4);
	cr_expect_str_eq(views.items[0].target, "example.org");
	cr_expect_str_eq(views.items[0].operation, "connect");
}

Test(denial_hints, silence_is_judged_by_program_and_exit_code)
{
	source.command = "wget -q https://example.org/x";
	source.exit_code = 4;
	cr_expect_str_eq(hints_of(""), "[sandbox: no network; example.org cannot be reached]\n");
	cr_expect_str_eq(hints_of(" \n"), "[sandbox: no network; example.org cannot be reached]\n");
	cr_expect_str_eq(hints_of("wget: out of ideas"), "");
	source.exit_code = 5;
	cr_expect_str_eq(hints_of(""), "");
	source.exit_code = 4;
	source.command = "wget -q http://localhost:81/";
	cr_expect_str_eq(hints_of(""), "[nothing in this sandbox listens on localhost:81; services "
				       "of the host cannot be reached]\n");
	source.command = "echo wget; exit 4";
	cr_expect_str_eq(hints_of(""), "");
	source.command = "./wget https://example.org/x";
	cr_expect_str_eq(hints_of(""), "");
}

Test(denial_hints, of_what_ran_out_of_time_only_the_network_is_said)
{
	source.is_timeout = true;
	cr_expect_str_eq(hints_of("WARNING: Retrying: [Errno -2] Name or service not known\n"),
			 "[sandbox: no network; only the sandbox's own loopback can be reached]\n");
	cr_expect_str_eq(hints_of("cat: /etc/shadow: No such file or directory\n"), "");
	cr_expect_str_eq(hints_of(""), "");
	source.command = "timeout 8 npx --yes cowsay hi";
	cr_expect_str_eq(
		hints_of(""),
		"[sandbox: no network; packages cannot be downloaded here; the operator can "
		"offer the profile node-net]\n");
	source.is_timeout = false;
	cr_expect_str_eq(hints_of(""), "");
	source.exit_code = 124; /* timeout(1) stopped it */
	cr_expect_str_eq(
		hints_of(""),
		"[sandbox: no network; packages cannot be downloaded here; the operator can "
		"offer the profile node-net]\n");
}

/* A test that failed shows the words that it compares; without a comparison they are an error. */
Test(denial_hints, words_that_a_test_compares_are_no_error)
{
	cr_expect_str_neq(hints_of("x: Operation not permitted"), "");
	expect_nothing("AssertionError: 'Operation not permitted' not found in 'ok'");
	expect_nothing("    a_test.go:3: got: operation not permitted");
	cr_expect_str_neq(hints_of("- Network is unreachable"), "");
	expect_nothing("AssertionError: 'a' != 'b'\n- Network is unreachable\n+ No route to host");
	expect_nothing("code: 'ERR_ASSERTION'\n  + 'connect ENETUNREACH'");
	cr_expect_str_eq(hints_of("    a_test.go:3: dial tcp 192.0.2.1:80: network is unreachable"),
			 "[sandbox: no network; 192.0.2.1 cannot be reached]\n");
}

Test(denial_hints, the_package_database_and_accounts_are_not_here)
{
	static const char database[] = "[sandbox: /var/lib/dpkg/status is not visible here]\n";

	cr_expect_str_eq(hints_of("dpkg-query: package 'bash' is not installed"), database);
	cr_expect_str_eq(hints_of("x: error: no alternatives for editor"),
			 "[sandbox: /var/lib/dpkg/alternatives is not visible here]\n");
	cr_expect_str_eq(hints_of("KeyError: \"getpwnam(): name not found: 'db'\""),
			 "[sandbox: one user only; the host's accounts are not here]\n");
	cr_expect_str_eq(hints_of("id: 'postgres': no such user"),
			 "[sandbox: one user only; the host's accounts are not here]\n");
	cr_expect_str_eq(hints_of("seteuid: Invalid argument"),
			 "[sandbox: no root rights here, and none can be had]\n");
	expect_nothing("login failed: 'postgres': no such user");
	expect_nothing("package 'left-pad' is not installed");
}

Test(denial_hints, a_missing_program_is_no_missing_file)
{
	source.is_tool = true;
	cr_expect_str_neq(hints_of("FileNotFoundError: [Errno 2] No such file or directory: 'x'"),
			  "");
	cr_expect_str_eq(hints_of("  File \"subprocess.py\", line 1955, in _execute_child\n"
				  "FileNotFoundError: [Errno 2] No such file or directory: 'x'"),
			 "");
}

Test(denial_hints, of_services_and_ports)
{
	static const char bind[] = "PermissionError: [Errno 13] Permission denied";

	cr_expect_str_eq(hints_of("Cannot connect to the Docker daemon at "
				  "unix:///var/run/docker.sock. Is the docker daemon running?"),
			 "[sandbox: /var/run/docker.sock is not visible here; services of the host "
			 "cannot be reached]\n");
	cr_expect_str_eq(hints_of("Failed to connect to bus: Host is down"),
			 "[sandbox: no system services here (systemd, D-Bus)]\n");
	cr_expect_str_eq(hints_of(bind), "");
	source.command = "python3 -c 's.bind((\"\", 80))'";
	cr_expect_str_eq(hints_of(bind), "");
	cr_expect_str_eq(hints_of("PermissionError: [Errno 13] Permission denied: '/tmp/x'"),
			 "[not the sandbox: its policy allows /tmp/x; look at the file's mode]\n");
	source.profile = "strict";
	cr_expect_str_eq(hints_of("listen EACCES: permission denied 0.0.0.0:8080"), "");
}

Test(denial_hints, facts_of_every_sandbox)
{
	static const struct {
		const char *text, *hint;
	} cases[] = {
		{ "sysctl: permission denied on key \"vm.swappiness\"", "kernel settings" },
		{ "chown: changing ownership of '/tmp/x': Operation not permitted", "one user" },
		{ "chown: changing ownership of 'x': Invalid argument", "one user only" },
		{ "mount: /mnt: must be superuser to use mount.", "no root rights" },
		{ "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (2: No such file "
		  "or directory)\nE: Unable to read /etc/apt/x (2: No such file or directory)",
		  "system packages" },
		{ "Could not access KVM kernel module: No such file or directory", "/dev/kvm is" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *hints = hints_of(cases[i].text);

		cr_expect_not_null(strstr(hints, cases[i].hint), "%s", hints);
		cr_expect_eq(strchr(hints, '\n'), hints + strlen(hints) - 1, "one line: %s", hints);
	}
}

Test(denial_hints, a_probed_call_is_no_reason)
{
	const struct denial numa = { .layer = DENIAL_SECCOMP,
				     .number = SYS_get_mempolicy,
				     .count = 1 };
	const struct denial lock = { .layer = DENIAL_SECCOMP, .number = SYS_mlock, .count = 1 };
	const struct denial mount = { .layer = DENIAL_SECCOMP, .number = SYS_mount, .count = 1 };

	report_denial(&numa);
	cr_expect_str_eq(hints_of(""), "");
	cr_expect_str_eq(hints_of("x: Operation not permitted"), "");
	cr_expect_str_eq(hints_of("get_mempolicy: Operation not permitted"),
			 "[sandbox: get_mempolicy is refused in every profile]\n");
	report_denial(&lock);
	cr_expect_str_eq(hints_of("gpg: can't open 'a': Permission denied"), "");
	cr_expect_str_eq(hints_of("x: Operation not permitted"),
			 "[sandbox: this use of mlock is refused in every profile]\n");
	report_denial(&mount);
	cr_expect_str_eq(hints_of(""), "[sandbox: mount is refused in every profile]\n");
	cr_expect_str_eq(hints_of("1 test failed: expected 2, got 3"), "");
}

Test(denial_hints, of_the_users_files_and_the_workspace)
{
	static const char home[] = "cat: /home/user/x: No such file or directory";
	static const char name[] = "cat: nope: No such file or directory";

	cr_expect_str_eq(hints_of(home), "[sandbox: /home/user/x is not visible here]\n");
	source.is_tool = true;
	cr_expect_str_eq(hints_of(home), "[sandbox: the user's files are not here; for a project: "
					 "create_sandbox with workspace, then pass sandbox]\n");
	cr_expect_str_eq(hints_of(name), "[/workspace/nope does not exist; this run had no sandbox "
					 "argument, so /workspace was empty]\n");
	cr_expect_str_eq(hints_of("fatal: not a git repository"),
			 "[this run had no sandbox argument, so /workspace was empty]\n");
	cr_expect_str_eq(hints_of("a.c:1:10: fatal error: x.h: No such file or directory"), "");
	source.is_persistent = true;
	cr_expect_str_eq(hints_of(home), "[sandbox: /home/user/x is not visible here; a workspace "
					 "is at /workspace]\n");
	cr_expect_str_eq(hints_of(name), "");
	cr_expect_str_eq(hints_of("fatal: not a git repository"), "");
	cr_expect_str_eq(hints_of("fatal: not a git repository: /workspace/.git/worktrees/a"), "");
	cr_expect_str_eq(hints_of("fatal: not a git repository: /srv/p/.git/worktrees/a"),
			 "[sandbox: the worktree's .git names a path of the user's machine; a "
			 "sandbox of that worktree has it]\n");
	source.profile = "strict"; /* it keeps no files */
	source.is_persistent = false;
	cr_expect_str_eq(hints_of(home), "[sandbox: /home/user/x is not visible here]\n");
}

Test(denial_hints, of_files_with_another_owner)
{
	static const char line[] = "bash: src/a: Value too large for defined data type";

	cr_expect_str_eq(hints_of(line), "");
	source.is_persistent = true;
	cr_expect_str_eq(hints_of(line), "[sandbox: src/a has another owner or group on the host; "
					 "ask the user to chown it]\n");
	cr_expect_str_eq(hints_of("Error: EOVERFLOW: open '/workspace/b'"),
			 "[sandbox: /workspace/b has another owner or group on the host; ask the "
			 "user to chown it]\n");
	cr_expect_str_eq(hints_of("stat: '/usr/x': Value too large for defined data type"), "");
}

Test(denial_hints, none_is_long)
{
	char path[200], text[2000];

	source.is_tool = true;
	for (size_t size = 1; size < 190; size += 7) {
		memset(path, 'x', size);
		path[size] = '\0';
		(void)snprintf(text, sizeof(text),
			       "cat: /var/%s: No such file or directory\n"
			       "touch: cannot touch '/usr/%s': Read-only file system\n"
			       "psql: socket \"/run/%s\" failed: No such file or directory\n"
			       "cat: %s: No such file or directory\n"
			       "curl: (6) Could not resolve host: %s.org\n",
			       path, path, path, path, path);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			const char *hints = hints_of(line);

			cr_expect_leq(strlen(hints), 131, "%s", hints);
			cr_expect_neq(strlen(hints), 0, "%s", line);
			cr_expect_not_null(strstr(hints, "]\n"), "%s", hints);
		}
	}
}

Test(denial_hints, what_the_policy_allows_is_not_the_sandbox)
{
	expect_note("cat: /workspace/missing: No such file or directory", "/workspace/missing");
	expect_note("cat: missing: No such file or directory", "/workspace/missing");
	expect_note("touch: cannot touch './a/b': No such file or directory", "/workspace/a/b");
	expect_note("ls: cannot access '/usr/x': No such file or directory",
		    "/usr/x is missing, or");
	expect_other("sh: 1: /workspace/script: Permission denied", "/workspace/script");
}

Test(denial_hints, what_it_cannot_know_it_does_not_say)
{
	expect_nothing("");
	expect_nothing("exit status 1\nsomething else went wrong in /etc/passwd\n");
	expect_nothing("Permission denied");
	expect_nothing("cat: secret: Permission denied");
	expect_nothing("bind /tmp/x: Permission denied");
	expect_nothing("No such file or directory");
	expect_nothing("RuntimeError: could not resolve import of module.name");
	expect_nothing("FileNotFoundError: nothing here");
	expect_nothing("cat: ../x: No such file or directory");
}

Test(denial_hints, nothing_of_it_is_shown_that_a_terminal_would_obey)
{
	expect_nothing("cat: /etc/\033[2Jx: No such file or directory");
	expect_nothing("cat: '/etc/\xff': No such file or directory");
	expect_nothing("cat: /etc/\302\233x: No such file or directory");
}

Test(denial_hints, the_same_is_counted_and_kinds_are_bounded)
{
	judge("a: /etc/x1: No such file or directory\nb: /etc/x1: No such file or directory\n");
	cr_assert_eq(views.count, 1);
	cr_expect_eq(views.items[0].count, 2);
	judge("a: /etc/1: No such file or directory\na: /etc/2: No such file or directory\n"
	      "a: /etc/3: No such file or directory\na: /etc/4: No such file or directory\n"
	      "a: /etc/5: No such file or directory\na: /etc/6: No such file or directory\n"
	      "a: /etc/7: No such file or directory\na: /etc/8: No such file or directory\n");
	cr_expect_eq(views.count, DENIAL_HINTS_MAX);
}

Test(denial_hints, what_was_counted_stays_and_weighs_more_than_what_was_tried)
{
	const struct denial probed = { .layer = DENIAL_SECCOMP, .number = 105, .count = 1 };
	const struct denial memory = { .layer = DENIAL_MEMORY, .count = 1 };
	char lines[DENIALS_TEXT_MAX];

	report_denial(&probed); /* setuid */
	judge("touch: cannot touch '/usr/x': Read-only file system\n");
	cr_assert_eq(views.count, 2);
	denials_put_lines(&views, lines);
	cr_expect(strncmp(lines, "denied (inferred): create /usr/x by mounts: ", 44) == 0, "%s",
		  lines);
	judge("cat: /workspace/missing: No such file or directory");
	cr_expect_str_not_empty(views.note);
	report_denial(&memory);
	judge("Cannot allocate memory\ncat: /workspace/missing: No such file or directory");
	cr_expect_eq(views.count, 1, "it is one and the same limit");
	cr_expect_not(views.items[0].is_inferred);
	cr_expect_str_empty(views.note, "a limit was met");
}

Test(denial_hints, when)
{
	cr_expect(denial_hints_apply(&done));
	done.exit_code = 0;
	cr_expect_not(denial_hints_apply(&done));
	done.verdict = VERDICT_SIGNALLED;
	cr_expect(denial_hints_apply(&done));
	done.verdict = VERDICT_TIMEOUT;
	cr_expect(denial_hints_apply(&done));
	done.verdict = VERDICT_MEMORY;
	cr_expect_not(denial_hints_apply(&done));
	done = (struct ipc_execution_done){ .exit_code = 1, .stage = STAGE_EXEC };
	cr_expect_not(denial_hints_apply(&done));
}

/* Programs word one refusal in many ways; the policy is the judge of each. */
Test(denial_hints, of_other_words_for_the_same)
{
	static const struct {
		const char *command, *text, *hint;
	} cases[] = {
		{ "sqlite3 x", "Error: unable to open database \"/usr/share/a.db\": unable to open",
		  "/usr/share/a.db cannot be written" },
		{ "zip",
		  "zip I/O error: Read-only file system\nCould not create (/usr/local/a.zip)",
		  "/usr/local/a.zip cannot be written" },
		{ "mkdir '/srv/app'", "Could not create directory: No such file or directory",
		  "the user's files are not here" },
		{ "f", "Can't connect to local server through socket '/run/mysqld/mysqld.sock' (2)",
		  "/run/mysqld/mysqld.sock is not visible" },
		{ "f", "Unknown server host 'db.example.org' (-2)", "db.example.org cannot" },
		{ "f", "RTNETLINK answers: Operation not permitted", "no root rights" },
		{ "f", "this must be run as root", "no root rights" },
		{ "f", "-e:1:in `kill': Operation not permitted (Errno::EPERM)", "only processes" },
		{ "grep -q x /home/user/f", "", "the user's files are not here" },
	};

	source.is_tool = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *hints;

		source.command = cases[i].command;
		hints = hints_of(cases[i].text);
		cr_expect_not_null(strstr(hints, cases[i].hint), "%s: %s", cases[i].text, hints);
	}
}

Test(denial_hints, words_of_a_programs_own)
{
	static const char *const texts[] = {
		"Operation not permitted by the test double",
		"the tree has no root node; it must be root",
		"the root user must not be null",
		"a.c:1:2: error: #error must be root",
		"    assert open(\"cfg\").read() == \"must be root\"",
		"got \"connection refused\", want \"x\"",
		"cannot open display case 7",
		"payment.service: invoice not found",
		"namespace a: permission b is missing",
		"could not find file descriptor for /api/users",
		"cannot connect to the past",
		"raise Errno::EACCES: Permission denied - upload 443",
	};

	source.command = "prog --times 20";
	source.is_tool = true;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect_nothing(texts[i]);
}

/* Many programs print their errors on their output. A comparison shows files there. */
Test(denial_hints, of_an_output)
{
	static const char failed[] = "Unable to connect to 192.0.2.1:80 (Network is unreachable)";
	static const char diff[] = "-open /etc/passwd: Read-only file system\n+must be run as root";

	source.output = failed;
	source.output_size = strlen(failed);
	expect_one("", "network", "connect", "192.0.2.1");
	expect_one("touch: cannot touch '/usr/x': Read-only file system", "mounts", "create",
		   "/usr/x");
	source.output = diff;
	source.output_size = strlen(diff);
	expect_nothing("");
}

Test(denial_hints, any_bytes)
{
	char text[HINT_BYTES];
	uint32_t state = 1;

	for (int round = 0; round < 40; round++) {
		static const char parts[][28] = { "/",
						  ": ",
						  "'",
						  "\n",
						  "Permission denied",
						  "No such file or directory",
						  "\"",
						  "\0x",
						  "a.b",
						  "could not resolve",
						  " ",
						  "/etc",
						  ".." };
		size_t used = 0;

		while (used < sizeof(text) - 32) {
			state = state * 1664525U + 1013904223U;
			const char *part = parts[(state >> 8) % (sizeof(parts) / sizeof(parts[0]))];
			const size_t size = strlen(part) + 1;

			memcpy(text + used, part, size);
			used += size - (state >> 20) % 2;
		}
		denials_describe(&builtin.plan, "default", &done, &views);
		source = (struct hint_source){ .plan = &builtin.plan,
					       .profile = "default",
					       .cwd = "/",
					       .command = "grep x /etc/hosts /home/user/x",
					       .tail = round % 2 ? text : "",
					       .size = round % 2 ? used : 0,
					       .output = text,
					       .output_size = used };
		denial_hints_add(&source, &views);
		cr_assert_leq(views.count, DENIAL_HINTS_MAX);
	}
}
