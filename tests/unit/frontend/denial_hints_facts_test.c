/* SPDX-License-Identifier: Apache-2.0
 *
 * What an output says and a fact contradicts, and hints that hold without a fact.
 */
#include "hint_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/text/names.h"

TestSuite(denial_hints_facts, .init = open_plan, .fini = close_plan);

/* A full disk and a fork that a cgroup refuses have their counts, so that the words prove nothing.
 */
Test(denial_hints_facts, of_limits)
{
	const struct denial disk = { .layer = DENIAL_DISK, .count = 1 };

	expect_nothing("dd: writing to '/tmp/x': No space left on device");
	expect_nothing("Error: ENOSPC: System limit for number of file watchers reached");
	expect_nothing("Cannot allocate memory");
	source.peak_bytes = (uint64_t)1 << 40;
	expect_one("Cannot allocate memory", "limits", "memory", "");
	source.is_counted = true;
	expect_nothing("sh: 1: Cannot fork: Resource temporarily unavailable");
	expect_nothing("java.lang.OutOfMemoryError: unable to create native thread");
	source.is_counted = false;
	expect_one("java.lang.OutOfMemoryError: unable to create native thread", "limits",
		   "processes", "");
	report_denial(&disk);
	judge("dd: writing to '/tmp/x': No space left on device");
	cr_assert_eq(views.count, 1);
	cr_expect_str_eq(views.items[0].hint,
			 "a file system of the sandbox is full; remove files or write less");
	report_denial(NULL);
	expect_one("sh: 1: Cannot fork: Resource temporarily unavailable", "limits", "processes",
		   "");
	expect_one("OSError: [Errno 24] Too many open files: '/x'", "limits", "open files", "");
	expect_nothing("BlockingIOError: [Errno 11] Resource temporarily unavailable");
	source.command = "ulimit -n 5; x";
	expect_nothing("x: Too many open files");
}

Test(denial_hints_facts, of_the_size_of_a_file)
{
	static const char line[] =
		"[sandbox: a file can have at most 1024 MiB; write smaller ones]\n";

	cr_expect_str_eq(hints_of("bash: line 1: 12 File size limit exceeded dd of=x"), line);
	cr_expect_str_eq(hints_of("OSError: [Errno 27] File too large"), line);
	cr_expect_str_eq(hints_of("Error: EFBIG: file too large, write"), line);
	cr_expect_str_eq(hints_of("413 file too large"), "");
	cr_expect_str_eq(hints_of(""), "");
	source.exit_code = 153; /* by SIGXFSZ, as a shell says it */
	cr_expect_str_eq(hints_of(""), line);
	cr_expect_str_eq(hints_of("make: *** [Makefile:2: all] Error 153"), line);
}

Test(denial_hints_facts, of_keys_and_displays)
{
	static const char keys[] = "[sandbox: the user's signing keys are not here; "
				   "git -c commit.gpgsign=false goes without]\n";
	static const char display[] = "[sandbox: no display here]\n";

	cr_expect_str_eq(hints_of("error: gpg failed to sign the data:\n"
				  "fatal: failed to write commit object"),
			 keys);
	cr_expect_str_eq(hints_of("error: cannot run gpg: No such file or directory\n"
				  "error: gpg failed to sign the data"),
			 keys);
	cr_expect_str_eq(hints_of("gpg: signing failed: No secret key"), keys);
	cr_expect_str_eq(hints_of("error: gpg failed to sign the data\n"
				  "error: unable to sign the tag"),
			 keys);
	source.command = "git tag -s v1 -m x";
	cr_expect_str_eq(hints_of("error: gpg failed to sign the data\n"
				  "error: unable to sign the tag"),
			 "[sandbox: the user's signing keys are not here; git tag -a goes "
			 "without]\n");
	source.command = "git commit -m x";
	cr_expect_str_eq(hints_of("fatal: failed to write commit object"), "");
	cr_expect_str_eq(hints_of("qt.qpa.xcb: could not connect to display :0"), display);
	cr_expect_str_eq(hints_of("_tkinter.TclError: couldn't connect to display \":0\""),
			 display);
	cr_expect_str_eq(hints_of("Can't connect to X11 window server using ':0' as the value"),
			 display);
	cr_expect_str_eq(hints_of("java.awt.HeadlessException: \nNo X11 DISPLAY variable was set"),
			 display);
	cr_expect_str_eq(hints_of("Xlib.error.DisplayNameError: Bad display name \"\""), display);
	cr_expect_str_eq(hints_of("KeyError: 'DISPLAY'"), display);
	cr_expect_str_eq(hints_of("[GLFW] X11: The DISPLAY environment variable is missing"),
			 display);
	cr_expect_str_eq(hints_of("pygame.error: No available video device"), display);
	cr_expect_str_eq(hints_of("the order has no display name"), "");
}

/* The control of each is the line without the mark. */
Test(denial_hints_facts, remarks_of_tests_and_logs_are_no_reason)
{
	static const struct {
		const char *before, *text, *behind;
	} cases[] = {
		{ "", "touch: cannot touch '/usr/x': Read-only file system", " (expected)" },
		{ "", "cat: /root/x: No such file or directory", " (as expected)" },
		{ "simulated failure: ", "Network is unreachable", "" },
		{ "", "OSError: [Errno 24] Too many open files", " (simulated)" },
		{ "mock error: ", "curl: (6) Could not resolve host: example.org", "" },
		{ "ok 3 - says ", "mount: must be superuser to use mount", "" },
		{ "    \u2713 handles ", "cat: /root/x: No such file or directory", "" },
		{ "--- PASS: ", "mkdir /usr/x: read-only file system", "" },
		{ "2026-01-01 10:00:00 INFO retry: ", "Network is unreachable", "" },
		{ "[DEBUG] ", "connect to 192.0.2.1: Network is unreachable", "" },
		{ "time=1 level=info msg=\"", "dial tcp 192.0.2.1:80: network is unreachable",
		  "\"" },
		{ "should fail: ", "x: Operation not permitted", "" },
	};
	char line[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_str_neq(hints_of(cases[i].text), "", "%s", cases[i].text);
		(void)snprintf(line, sizeof(line), "%s%s%s", cases[i].before, cases[i].text,
			       cases[i].behind);
		cr_expect_str_eq(hints_of(line), "", "%s", line);
	}
	cr_expect_str_neq(hints_of("unexpected error: mkdir /usr/x: read-only file system"), "");
	cr_expect_str_neq(hints_of("ERROR retry: Network is unreachable"), "");
}

/* The sandbox would have said otherwise, so that the line is about another machine. */
Test(denial_hints_facts, an_error_that_the_policy_does_not_give_is_not_explained)
{
	expect_nothing("open /etc/shadow: Permission denied");
	expect_nothing("open /etc/shadow: Permission denied (expected)");
	expect_nothing("cat: /root/.ssh/id_rsa: Permission denied");
	expect_nothing("touch: cannot touch '/usr/x': Permission denied");
	expect_nothing("write /tmp/x: No space left on device (simulated)");
	expect_other("cat: /tmp/x: Permission denied", "/tmp/x");
}
