/* SPDX-License-Identifier: Apache-2.0
 *
 * What is made of the last lines of an error output, with the built-in profiles.
 */
#include "frontend/denial_hints.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/names.h"
#include "support.h"

static struct builtin builtin;
static struct ipc_execution_done done;
static struct denial_views views;

static void open_plan(void)
{
	builtin = builtin_open();
	memset(&done, 0, sizeof(done));
	done.exit_code = 1;
}

static void close_plan(void)
{
	builtin_close(&builtin);
}

TestSuite(denial_hints, .init = open_plan, .fini = close_plan);

static void judge(const char *text)
{
	denials_describe(&builtin.plan, "default", &done, &views);
	denial_hints_add(&builtin.plan, "default", NULL, text, strlen(text), &views);
}

static void expect_one(const char *text, const char *layer, const char *operation,
		       const char *target)
{
	judge(text);
	cr_assert_eq(views.count, 1, "%s: %u", text, views.count);
	cr_expect(views.items[0].is_inferred, "%s", text);
	cr_expect_str_eq(views.items[0].layer, layer, "%s", text);
	cr_expect_str_eq(views.items[0].operation, operation, "%s", text);
	cr_expect_str_eq(views.items[0].target, target, "%s", text);
	cr_expect_eq(views.items[0].count, 1, "%s", text);
	cr_expect_str_empty(views.other, "%s", text);
}

static void expect_nothing(const char *text)
{
	judge(text);
	cr_expect_eq(views.count, 0, "%s", text);
	cr_expect_str_empty(views.other, "%s: %s", text, views.other);
}

static void expect_other(const char *text, const char *path)
{
	judge(text);
	cr_expect_eq(views.count, 0, "%s", text);
	cr_expect(strncmp(views.other, "not the sandbox: ", 17) == 0, "%s", text);
	cr_expect_not_null(strstr(views.other, path), "%s: %s", text, views.other);
}

Test(denial_hints, of_many_programs)
{
	expect_one("touch: cannot touch '/usr/x': Read-only file system\n", "mounts", "create",
		   "/usr/x");
	expect_one("OSError: [Errno 30] Read-only file system: '/etc/passwd'", "mounts", "write",
		   "/etc/passwd");
	expect_one("/bin/sh: 1: cannot create /etc/x: Read-only file system", "mounts", "create",
		   "/etc/x");
	expect_one("Error: EROFS: read-only file system, open '/usr/a b'\n"
		   "rm: cannot remove '/etc/passwd': Read-only file system\n",
		   "mounts", "delete", "/etc/passwd");
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
}

Test(denial_hints, of_limits)
{
	expect_one("dd: writing to '/tmp/x': No space left on device", "limits", "disk", "");
	expect_one("sh: 1: Cannot fork: Resource temporarily unavailable", "limits", "processes",
		   "");
	expect_one("OSError: [Errno 24] Too many open files: '/x'", "limits", "open files", "");
	expect_one("Cannot allocate memory", "limits", "memory", "");
}

Test(denial_hints, what_the_policy_allows_is_not_the_sandbox)
{
	expect_other("cat: /workspace/missing: No such file or directory", "/workspace/missing");
	expect_other("cat: missing: No such file or directory", "/workspace/missing");
	expect_other("touch: cannot touch './a/b': No such file or directory", "/workspace/a/b");
	expect_other("sh: 1: /workspace/script: Permission denied", "/workspace/script");
}

Test(denial_hints, what_it_cannot_know_it_does_not_say)
{
	expect_nothing("");
	expect_nothing("exit status 1\nsomething else went wrong in /etc/passwd\n");
	expect_nothing("Permission denied");
	expect_nothing("cat: secret: Permission denied");
	expect_nothing("chown: changing ownership of '/tmp/x': Operation not permitted");
	expect_nothing("bind /tmp/x: Permission denied");
	expect_nothing("No such file or directory");
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

	memcpy(done.denials, &probed, sizeof(probed)); /* setuid */
	done.denials_size = sizeof(probed);
	judge("touch: cannot touch '/usr/x': Read-only file system\n");
	cr_assert_eq(views.count, 2);
	denials_put_lines(&views, lines);
	cr_expect(strncmp(lines, "denied (inferred): create /usr/x by mounts: ", 44) == 0, "%s",
		  lines);
	judge("cat: /workspace/missing: No such file or directory");
	cr_expect_str_not_empty(views.other);
	memcpy(done.denials, &memory, sizeof(memory));
	judge("Cannot allocate memory\ncat: /workspace/missing: No such file or directory");
	cr_expect_eq(views.count, 1, "it is one and the same limit");
	cr_expect_not(views.items[0].is_inferred);
	cr_expect_str_empty(views.other, "a limit was met");
}

Test(denial_hints, when)
{
	cr_expect(denial_hints_apply(&done));
	done.exit_code = 0;
	cr_expect_not(denial_hints_apply(&done));
	done.verdict = VERDICT_SIGNALLED;
	cr_expect(denial_hints_apply(&done));
	done.verdict = VERDICT_TIMEOUT;
	cr_expect_not(denial_hints_apply(&done));
	done = (struct ipc_execution_done){ .exit_code = 1, .stage = STAGE_EXEC };
	cr_expect_not(denial_hints_apply(&done));
}

Test(denial_hints, any_bytes)
{
	char text[HINT_BYTES];
	uint32_t state = 1;

	for (int round = 0; round < 2000; round++) {
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
		denial_hints_add(&builtin.plan, "default", "/", text, used, &views);
		cr_assert_leq(views.count, DENIAL_HINTS_MAX);
	}
}
