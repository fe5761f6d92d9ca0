/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of refusals, with the built-in profiles.
 */
#include "frontend/denials.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/ipc/ipc_done.h"
#include "common/text/names.h"
#include "frontend/denial_hints.h"
#include "support.h"

static struct builtin builtin;
static struct ipc_execution_done done;
static struct denial_views views;

static void open_plan(void)
{
	builtin = builtin_open();
	memset(&done, 0, sizeof(done));
}

static void close_plan(void)
{
	builtin_close(&builtin);
}

TestSuite(denials, .init = open_plan, .fini = close_plan);

static void refuse(uint32_t layer, uint32_t number, uint64_t argument, uint32_t count)
{
	const struct denial denial = {
		.layer = layer, .number = number, .argument = argument, .count = count
	};

	memcpy(done.denials + done.denials_size, &denial, sizeof(denial));
	done.denials_size += (uint32_t)sizeof(denial);
}

static const char *lines_under(const char *profile)
{
	static char lines[DENIALS_TEXT_MAX];

	denials_describe(&builtin.plan, profile, &done, &views);
	denials_put_lines(&views, lines);
	return lines;
}

Test(denials, nothing_is_nothing)
{
	cr_assert_str_eq(lines_under("default"), "");
	cr_assert_eq(views.count, 0);
}

Test(denials, what_no_profile_allows)
{
	refuse(DENIAL_SECCOMP, SYS_mount, 0, 2);
	cr_assert_str_eq(lines_under("default"),
			 "denied: mount (2 times) by seccomp: the file tree is fixed before a "
			 "workload starts (group mount; no profile can allow it)");
	cr_expect_str_eq(views.items[0].layer, "seccomp");
	cr_expect_str_eq(views.items[0].operation, "mount");
	cr_expect_eq(views.items[0].count, 2);
}

Test(denials, what_another_profile_may_allow)
{
	refuse(DENIAL_SECCOMP, SYS_socket, 2, 1);
	(void)lines_under("strict");
	cr_expect_str_eq(views.items[0].operation, "socket");
	cr_expect_str_eq(views.items[0].target, "", "refused whatever the argument was");
	cr_expect(strstr(views.items[0].rule, "group network is not allowed (strict.yaml:") ==
			  views.items[0].rule,
		  "%s", views.items[0].rule);
	cr_expect_str_eq(views.items[0].remedy,
			 "seccomp: {add: [network]} in the operator's profile");
}

Test(denials, what_is_refused_for_its_argument)
{
	refuse(DENIAL_SECCOMP, SYS_socket, 40, 1);
	refuse(DENIAL_SECCOMP, SYS_ioctl, 0x5412, 1);
	(void)lines_under("default");
	cr_expect_str_eq(views.items[0].target, "argument 1 = 0x28");
	cr_expect_str_eq(views.items[0].rule, "the condition on socket");
	cr_expect_not_null(strstr(views.items[0].reason, "unix without datagrams, IPv4 and IPv6"));
	cr_expect_str_eq(views.items[1].target, "argument 2 = 0x5412");
}

Test(denials, limits)
{
	refuse(DENIAL_MEMORY, 0, 0, 1);
	refuse(DENIAL_PIDS, 0, 0, 12);
	refuse(DENIAL_DISK, 0, 0, 1);
	(void)lines_under("strict");
	cr_expect_str_eq(views.items[0].layer, "limits");
	cr_expect_str_eq(views.items[0].rule, "limits: memory: 512 MiB");
	cr_expect_str_eq(views.items[1].rule, "limits: pids: 64");
	cr_expect_eq(views.items[1].count, 12);
	cr_expect_str_eq(views.items[2].operation, "disk");
}

Test(denials, two_lines_are_the_most)
{
	const char *lines;
	const char *second;

	for (uint32_t number = 0; number < DENIALS_MAX; number++)
		refuse(DENIAL_SECCOMP, SYS_mount + number, 0, UINT32_MAX);
	lines = lines_under("default");
	second = strchr(lines, '\n');
	cr_assert_not_null(second);
	cr_expect_null(strchr(second + 1, '\n'));
	cr_expect_not_null(strstr(second, "; and 18 more kinds"));
	cr_expect_eq(strcmp(second + strlen(second) - 19, "; and 18 more kinds"), 0);
}

Test(denials, a_service_without_a_network_is_the_reason)
{
	static const char line[] = "the service has no network, so no host can be reached; 'msp "
				   "doctor' has the remedy";
	char hints[DENIALS_TEXT_MAX];

	done = (struct ipc_execution_done){ .verdict = VERDICT_EXITED, .exit_code = 6 };
	denials_describe(&builtin.plan, "default", &done, &views);
	cr_expect_str_eq(views.unreached, "");
	done.is_offline = 1;
	denials_describe(&builtin.plan, "default", &done, &views);
	cr_expect_str_eq(views.unreached, line);
	denials_put_hints(&views, hints);
	cr_expect_eq(strncmp(hints + 1, line, sizeof(line) - 1), 0, "%s", hints);
	done.exit_code = 0; /* it needed none */
	denials_describe(&builtin.plan, "default", &done, &views);
	cr_expect_str_eq(views.unreached, "");
}

Test(denials, without_a_plan_there_are_still_numbers)
{
	static char lines[DENIALS_TEXT_MAX];
	const struct plan none = { 0 };

	refuse(DENIAL_SECCOMP, 165, 0, 1);
	refuse(DENIAL_MEMORY, 0, 0, 1);
	denials_describe(&none, "default", &done, &views);
	cr_assert_eq(views.count, 2);
	cr_expect_str_eq(views.items[0].operation, "system call 165");
	denials_describe(NULL, "default", &done, &views);
	cr_assert_eq(views.count, 2);
	denials_put_lines(&views, lines);
	cr_expect_not_null(strstr(lines, "denied: system call 165 by seccomp"));
	(void)lines_under("no such profile");
	cr_expect_str_eq(views.items[0].operation, "system call 165");
}

Test(denials, records_that_cannot_be_are_left_out)
{
	refuse(DENIAL_COUNT, 0, 0, 1);
	cr_expect_str_eq(lines_under("default"), "");
	done.denials_size = 0;
	refuse(DENIAL_SECCOMP, SYS_mount, 0, 1);
	done.denials_size--;
	cr_expect_str_eq(lines_under("default"), "");
}

/* The run whose output is judged; a test sets its command. */
static struct hint_source source;

/* Return the lines that a model reads. */
static const char *hints_of(const char *text)
{
	static char lines[DENIALS_TEXT_MAX];

	source.plan = &builtin.plan;
	source.profile = source.profile ? source.profile : "default";
	source.exit_code = 1;
	source.tail = text;
	source.size = strlen(text);
	denials_describe(&builtin.plan, source.profile, &done, &views);
	denial_hints_add(&source, &views);
	denials_put_hints(&views, lines);
	return lines;
}

/* A number that the command has not is of a process that it started. */
Test(denials, a_process_of_the_host_is_named)
{
	static const char missing[] = "[nothing in this sandbox has process ID 1234; processes "
				      "outside of it cannot be seen]\n";

	source.command = "sleep 1; kill -9 1234";
	cr_expect_str_eq(hints_of("bash: line 1: kill: (1234) - No such process"), missing);
	cr_expect_str_eq(hints_of("bash: line 1: kill: (123) - No such process"), "");
	cr_expect_str_eq(hints_of("bash: line 1: kill: (34) - No such process"), "");
	source.command = "sleep 3; python3 -c 'import os; os.kill(1234, 9)'";
	cr_expect_str_eq(hints_of("ProcessLookupError: [Errno 3] No such process"), missing);
	source.command = "node -e 'process.kill(1234)'";
	cr_expect_str_eq(hints_of("Error: kill ESRCH\n    at process.kill (node:a:225:13)"),
			 missing);
	source.command = "gdb -batch -p 1234";
	cr_expect_str_eq(hints_of("ptrace: No such process."), missing);
	source.command = "kill $server";
	cr_expect_str_eq(hints_of("bash: line 1: kill: (7) - No such process"), "");
}

Test(denials, the_init_is_not_traced_under_any_profile)
{
	static const char init[] =
		"[sandbox: process 1 is the sandbox's own and cannot be traced]\n";

	source.profile = "python-dev";
	source.command = "strace -p 1";
	cr_expect_str_eq(
		hints_of("strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted"), init);
	source.profile = "default";
	refuse(DENIAL_SECCOMP, SYS_ptrace, 0, 1);
	source.command = "gdb -p 1 -batch";
	cr_expect_str_eq(hints_of("ptrace: Operation not permitted."), init);
	source.command = "gdb -p 12 -batch";
	cr_expect_str_eq(hints_of("ptrace: Operation not permitted."),
			 "[sandbox: ptrace is refused by this profile; python-dev allows it]\n");
}

Test(denials, a_failed_fetch_has_the_host_of_the_command)
{
	static const char failed[] = "not ok 1 - a\n  error: 'fetch failed'\n  name: 'TypeError'";

	cr_expect_str_eq(hints_of(failed),
			 "[this run has no network; only servers in the sandbox can be reached]\n");
	source.command = "echo 'fetch(\"https://example.org/\")' >a.test.js; node --test";
	cr_expect_str_eq(hints_of(failed),
			 "[sandbox: no network; example.org cannot be reached]\n");
	source.command = "echo 'fetch(\"http://localhost:81/\")' >a.js; node a.js";
	cr_expect_str_eq(hints_of(failed), "[nothing in this sandbox listens on localhost:81; "
					   "services of the host cannot be reached]\n");
	cr_expect_str_eq(hints_of("TypeError: fetch failed\n  [cause]: Error: other side closed"),
			 "");
}
