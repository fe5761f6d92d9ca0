/* SPDX-License-Identifier: Apache-2.0
 *
 * What is decided of profiles that the product does not ship; of those that it ships,
 * tests/integration/explain.py compares each answer with a sandbox.
 */
#include "policy/decide/decide.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kernel.h"
#include "policy/write/compile.h"
#include "support.h"

static struct builtin builtin;
static struct decision decision;
static char lines[DECISION_TEXT_MAX];

static const char odd_profile[] =
	"profiles:\n"
	"- name: odd\n"
	"  extends: default\n"
	"  description: every corner\n"
	"  network: none\n"
	"  files:\n"
	"    - {at: /data, kind: bind, from: /usr}\n"
	"    - {at: /part, kind: bind, from: /usr/share}\n"
	"    - {at: /secret, kind: bind, from: /srv/secret}\n"
	"    - {at: /plain, kind: bind, from: /srv/plain, noexec: true, optional: true}\n"
	"    - {at: /closed, kind: directory, mode: 0600}\n"
	"    - {at: /closed/file, kind: file, text: x}\n"
	"    - {at: /unreadable, kind: file, text: x, mode: 0200}\n"
	"    - {at: /loop, kind: symlink, to: loop/x}\n"
	"    - {at: /up, kind: symlink, to: ../../tmp/./x}\n"
	"    - {at: /deep/down/there, kind: tmpfs, size: 1M, inodes: 1K, mode: 0500}\n"
	"    - {at: /narrow, kind: tmpfs, size: 1M, inodes: 1K, mode: 0700}\n"
	"    - {at: /half, kind: tmpfs, size: 1M, inodes: 1K, mode: 0700}\n"
	"    - {at: /usr/share/masked, kind: mask}\n"
	"  landlock:\n"
	"    - {path: /plain, rights: [read, execute]}\n"
	"    - {path: /deep, rights: [read, write, create]}\n"
	"    - {path: /narrow, rights: [read]}\n"
	"    - {path: /narrow/later, rights: [write]}\n"
	"    - {path: /half, rights: [read, create]}\n"
	"    - {path: /up, rights: [ioctl]}\n"
	"    - {path: /, rights: [list]}\n"
	"  seccomp:\n"
	"    allow: [basic, files, process, memory, network]\n"
	"    refuse: [openat]\n";

/* The same without a refused call. */
static char open_profile[sizeof(odd_profile)];

static void open_plan(void)
{
	struct policy_error error = { .text = "" };

	builtin = (struct builtin){ .policy = policy_new() };
	memcpy(open_profile, odd_profile, sizeof(odd_profile));
	memcpy(strstr(open_profile, "name: odd"), "name: od2", 9);
	memcpy(strstr(open_profile, "  refuse"), "  #     ", 8);
	cr_assert_eq(policy_add_builtin(builtin.policy, &error), 0, "%s", error.text);
	cr_assert_eq(
		policy_add(builtin.policy, "odd.yaml", odd_profile, strlen(odd_profile), &error), 0,
		"%s", error.text);
	cr_assert_eq(
		policy_add(builtin.policy, "od2.yaml", open_profile, strlen(open_profile), &error),
		0, "%s", error.text);
	cr_assert_eq(policy_compile(builtin.policy, &builtin.blob, &error), 0, "%s", error.text);
	cr_assert_eq(plan_open(builtin.blob.bytes, builtin.blob.size, &builtin.plan), 0);
}

static void close_plan(void)
{
	builtin_close(&builtin);
}

TestSuite(decide, .init = open_plan, .fini = close_plan);

static void ask(const char *name, const char *text)
{
	const int index = plan_profile_find(&builtin.plan, name);
	char problem[OPERATION_PROBLEM_MAX];
	struct operation operation;

	cr_assert_geq(index, 0, "%s", name);
	cr_assert_eq(operation_parse(text, &operation, problem), 0, "%s: %s", text, problem);
	cr_assert_eq(decide(&builtin.plan, plan_profile(&builtin.plan, (uint32_t)index), &operation,
			    &decision),
		     0);
	decision_print(&builtin.plan, &operation, &decision, lines);
	cr_assert_not_null(strchr(lines, '\n'));
	cr_assert_null(strchr(strchr(lines, '\n') + 1, '\n'), "more than two lines");
}

static void expect_answer(const char *name, const char *text, enum decision_answer answer,
			  const char *layer, int error)
{
	ask(name, text);
	cr_expect_eq(decision.answer, answer, "%s", lines);
	cr_expect_str_eq(decision.layer, layer, "%s", lines);
	cr_expect_eq(decision.error, error, "%s", lines);
}

#define expect_allowed(text) expect_answer("od2", text, DECISION_ALLOWED, "mounts", 0)
#define expect_conditional(text) expect_answer("od2", text, DECISION_CONDITIONAL, "mounts", 0)
#define expect_mounts(text, error) expect_answer("od2", text, DECISION_REFUSED, "mounts", error)
#define expect_landlock(text) expect_answer("od2", text, DECISION_REFUSED, "landlock", EACCES)
#define expect_absent(text) expect_answer("od2", text, DECISION_ABSENT, "mounts", ENOENT)

static void expect_text(const char *part)
{
	cr_expect_not_null(strstr(lines, part), "\"%s\" is not in: %s", part, lines);
}

/* What was printed, but for where the rule stands: built-in files change. */
static void expect_lines(const char *first, const char *second)
{
	char expected[DECISION_TEXT_MAX], place[256];

	(void)snprintf(place, sizeof(place), "(%s:%u)",
		       plan_string(&builtin.plan, decision.origin.file), decision.origin.line);
	(void)snprintf(expected, sizeof(expected), "%s\nrule: %s %s%s", first, second, place,
		       strstr(lines, place) != NULL ? strstr(lines, place) + strlen(place) : "");
	cr_expect_str_eq(lines, expected);
	cr_expect_neq(decision.origin.file, 0);
	cr_expect_gt(decision.origin.line, 0);
}

Test(decide, the_text)
{
	ask("default", "write /etc/passwd");
	expect_lines("refused: write /etc/passwd: read-only file system (EROFS)",
		     "files: /etc/passwd, file, read-only");
	expect_text("; remedy: in the operator's profile, files: [{at: /etc/passwd, kind: file, "
		    "text: ...}]");
	ask("default", "create /tmp/x");
	expect_lines("allowed: create /tmp/x", "files: /tmp, tmpfs");
	cr_expect_null(strstr(lines, "remedy"));
	ask("default", "read /usr/bin/env");
	expect_lines("allowed: read /usr/bin/env, if the host has it and its mode lets this user",
		     "files: /usr, bind");
	ask("default", "read /root/x");
	cr_expect_str_eq(lines,
			 "absent: read /root/x: no such file or directory (ENOENT)\n"
			 "rule: files: no entry makes /root; remedy: none: no profile can show "
			 "it");
	ask("default", "read /var/log/syslog");
	expect_text(
		"; remedy: in the operator's profile, files: [{at: /var/log/syslog, kind: bind, "
		"optional: true}] and landlock: [{path: /var/log/syslog, rights: [read]}]");
}

/* The entry of the profile that says it, not of the one that it extends. */
Test(decide, origins)
{
	ask("default", "create /tmp/x");
	cr_expect_str_eq(plan_string(&builtin.plan, decision.origin.file), "default.yaml");
	ask("strict", "create /tmp/x");
	cr_expect_str_eq(plan_string(&builtin.plan, decision.origin.file), "strict.yaml");
	ask("strict", "create /var/tmp/../tmp/x");
	cr_expect_str_eq(plan_string(&builtin.plan, decision.origin.file), "strict.yaml");
	ask("strict", "read /usr/x");
	cr_expect_str_eq(plan_string(&builtin.plan, decision.origin.file), "default.yaml");
	ask("od2", "read /data/x");
	expect_text("(od2.yaml:7)");
}

/* A rule is on an inode: the host's /usr is the same at /data. What lies above a bind is what is
 * above it in the sandbox. */
Test(decide, landlock_knows_directories_of_the_host_wherever_they_are)
{
	expect_conditional("read /data/x");
	expect_conditional("exec /data/x");
	expect_landlock("read /part/x");
	expect_landlock("read /secret/x");
	expect_text("landlock: at / there is list, but not read (od2.yaml:27)");
	expect_text(
		"remedy: in the operator's profile, landlock: [{path: /secret, rights: [read]}]");
	expect_conditional("list /secret");
	expect_conditional("list /secret/below");
	expect_landlock("exec /secret/x");
	expect_mounts("write /secret/x", EROFS);
	expect_mounts("write /secret", 0);
}

Test(decide, mounts_come_before_landlock)
{
	expect_mounts("exec /plain/x", EACCES);
	expect_text("/plain, bind, noexec");
	expect_conditional("read /plain/x");
	expect_mounts("write /plain/x", EROFS);
	expect_mounts("create /plain/x", EROFS);
	expect_text("files: [{at: /plain, kind: bind, access: writable}]");
	expect_mounts("delete /plain", EROFS);
}

Test(decide, rights_of_all_rules_on_the_way)
{
	expect_allowed("read /narrow/x");
	expect_landlock("write /narrow/x");
	expect_landlock("create /narrow/x");
	expect_text("there is read, but not create");
	expect_text("landlock: [{path: /narrow, rights: [read, create]}]");
	expect_landlock("delete /narrow/x");
	expect_landlock("exec /narrow/x");
	/* what was not there when the rules were made has none */
	expect_landlock("write /narrow/later");
	expect_landlock("write /narrow/later/x");
	/* creating opens what it made */
	expect_landlock("create /half/x");
	expect_text("but not write");
	expect_allowed("delete /half/x");
	/* the base's own directories have rules for what is mounted in them */
	expect_allowed("read /deep/down/there/x");
	expect_allowed("write /deep/down/there/x");
}

Test(decide, modes_of_the_plan)
{
	expect_mounts("create /deep/down/there/x", EACCES);
	expect_mounts("delete /deep/down/there/x", EACCES);
	expect_mounts("read /unreadable", EACCES);
	expect_mounts("read /closed/file", EACCES);
	expect_text("its mode lets nobody through");
	expect_mounts("read /closed/nothing", EACCES);
	expect_mounts("connect unix:/closed/file", EACCES);
}

Test(decide, links_and_dots)
{
	expect_mounts("read /loop", ELOOP);
	expect_mounts("read /loop/x", ELOOP);
	expect_mounts("delete /loop", EROFS);
	expect_mounts("create /loop", EEXIST);
	expect_allowed("read /up");
	expect_text("/tmp, tmpfs");
	expect_allowed("write /up/../y");
	expect_allowed("write /tmp/a/../../tmp/b");
	expect_allowed("write /../../tmp/b");
	expect_allowed("write /./tmp//b");
	expect_absent("read /tmp/../nothing");
	expect_absent("read /nothing/../tmp/x");
	expect_absent("read /nothing/.");
	expect_mounts("read /etc/passwd/..", ENOTDIR);
	expect_mounts("read /etc/passwd/.", ENOTDIR);
}

Test(decide, masks)
{
	expect_conditional("read /usr/share/masked");
	expect_absent("read /usr/share/masked/x");
	expect_absent("read /usr/share/masked/x/y");
	expect_conditional("read /usr/share/unmasked");
	expect_mounts("create /usr/share/masked/x", EROFS);
	/* the mask is at the place, not on what the host has there */
	expect_conditional("read /data/masked");
	expect_text("/data, bind");
}

Test(decide, seccomp_is_first)
{
	expect_answer("odd", "read /nothing", DECISION_REFUSED, "seccomp", EPERM);
	expect_text("seccomp: `refuse` takes it out of group files (odd.yaml:30)");
	expect_text("`refuse` without openat");
	expect_answer("odd", "delete /tmp/x", DECISION_ALLOWED, "mounts", 0);
	expect_answer("odd", "syscall openat", DECISION_REFUSED, "seccomp", EPERM);
	expect_answer("odd", "syscall 257", DECISION_REFUSED, "seccomp", EPERM);
	expect_answer("odd", "syscall 0257", DECISION_REFUSED, "seccomp", EPERM);
	expect_answer("odd", "syscall setsockopt", DECISION_REFUSED, "seccomp", EPERM);
	expect_text("in the operator's profile, seccomp: {add: [sockets]}");
	expect_answer("odd", "syscall mount", DECISION_REFUSED, "seccomp", EPERM);
	expect_text("remedy: none: no profile can allow it");
	expect_answer("odd", "syscall nothing_of_the_kind", DECISION_REFUSED, "seccomp", ENOSYS);
	expect_answer("odd", "syscall 1073741824", DECISION_REFUSED, "seccomp", 0);
	expect_text("kills its process");
	expect_answer("odd", "syscall clone", DECISION_CONDITIONAL, "seccomp", 0);
	expect_text("if its arguments keep to this: no new namespaces");
}

Test(decide, landlock_refuses_tcp_before_the_address_is_looked_at)
{
	expect_answer("od2", "connect 127.0.0.1:80", DECISION_REFUSED, "landlock", EACCES);
	expect_text("remedy: in the operator's profile, network: loopback");
	expect_answer("od2", "connect 192.0.2.1:80", DECISION_REFUSED, "landlock", EACCES);
	expect_answer("od2", "bind 80", DECISION_REFUSED, "landlock", EACCES);
	expect_answer("od2", "connect udp:192.0.2.1:80", DECISION_REFUSED, "network", ENETUNREACH);
	expect_answer("od2", "connect udp:127.0.0.1:80", DECISION_ALLOWED, "network", 0);
	expect_answer("od2", "connect nobody:80", DECISION_REFUSED, "network", 0);
	expect_answer("strict", "connect 127.0.0.1:80", DECISION_REFUSED, "seccomp", EPERM);
	expect_text("in the operator's profile, network: loopback and seccomp: {add: [network]}");
	expect_answer("strict", "connect 192.0.2.1:80", DECISION_REFUSED, "seccomp", EPERM);
	expect_text("network: hosts and hosts: [\"192.0.2.1:80\"] and seccomp: {add: [network]}");
}

Test(decide, addresses_of_the_loopback)
{
	static const char *const inside[] = { "127.0.0.1",    "127.255.0.1", "0.0.0.0",
					      "[::1]",        "[::]",        "[::ffff:127.0.0.1]",
					      "localhost",    "LOCALHOST",   "sandbox",
					      "ip6-localhost" };
	static const char *const outside[] = { "128.0.0.1", "126.255.255.255", "[::2]",
					       "[::ffff:10.0.0.1]", "255.255.255.255" };
	char text[64];

	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		(void)snprintf(text, sizeof(text), "connect %s:1", inside[i]);
		expect_answer("default", text, DECISION_CONDITIONAL, "network", 0);
	}
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		(void)snprintf(text, sizeof(text), "connect %s:1", outside[i]);
		expect_answer("default", text, DECISION_REFUSED, "network", ENETUNREACH);
	}
	expect_answer("default", "connect localhos:1", DECISION_REFUSED, "network", 0);
	expect_answer("default", "connect localhost.:1", DECISION_REFUSED, "network", 0);
}

Test(decide, names)
{
	expect_answer("default", "resolve localhost", DECISION_ALLOWED, "network", 0);
	expect_answer("default", "resolve 192.0.2.1", DECISION_ALLOWED, "network", 0);
	expect_answer("default", "resolve example.org", DECISION_REFUSED, "network", 0);
	expect_text("nothing answers DNS");
	expect_text("profile, network: hosts and hosts: [\"example.org:443\"]");
	expect_answer("default", "connect pypi.org:443", DECISION_REFUSED, "network", 0);
	expect_text("network: hosts and hosts: [\"@pypi\"]");
	expect_answer("default", "connect pypi.org:80", DECISION_REFUSED, "network", 0);
	expect_text("network: hosts and hosts: [\"pypi.org:80\"]");
	expect_answer("default", "resolve deb.debian.org", DECISION_REFUSED, "network", 0);
	expect_text("[\"@debian\"]");
	expect_answer("default", "connect deb.debian.org:80", DECISION_REFUSED, "network", 0);
	expect_text("[\"@debian\"]");
	expect_answer("default", "connect github.com:2", DECISION_REFUSED, "network", 0);
	expect_text("[\"github.com:2\"]");
	expect_answer("strict", "resolve localhost", DECISION_ALLOWED, "network", 0);
}

Test(decide, the_kind_of_an_address)
{
	expect_answer("default", "connect 169.254.169.254:80", DECISION_REFUSED, "network",
		      ENETUNREACH);
	expect_text("nothing else; 169.254.169.254 is the address of a cloud's metadata service");
	expect_answer("default", "connect [::ffff:10.0.0.1]:80", DECISION_REFUSED, "network",
		      ENETUNREACH);
	expect_text("; ::ffff:10.0.0.1 is a private address");
	expect_answer("default", "connect [64:ff9b::127.0.0.1]:80", DECISION_REFUSED, "network",
		      ENETUNREACH);
	expect_text("is a translator's address");
	expect_answer("default", "connect 8.8.8.8:53", DECISION_REFUSED, "network", ENETUNREACH);
	expect_text("its own loopback and nothing else (default.yaml");
}

Test(decide, an_answer_of_each_call_of_the_plan_in_each_profile)
{
	const struct plan_call *calls = plan_calls(&builtin.plan);

	for (uint32_t p = 0; p < plan_profile_count(&builtin.plan); p++) {
		const struct plan_profile *profile = plan_profile(&builtin.plan, p);
		const char *name = plan_string(&builtin.plan, profile->name);

		for (uint32_t i = 0; i < plan_header(&builtin.plan)->call_count; i++) {
			const uint64_t arguments[6] = { 0 };
			const uint32_t filter =
				builtin_answer(&builtin.plan, name, calls[i].number, arguments);
			char text[64];

			(void)snprintf(text, sizeof(text), "syscall %s",
				       plan_string(&builtin.plan, calls[i].name));
			ask(name, text);
			if (decision.answer == DECISION_CONDITIONAL)
				continue; /* some arguments are, others are not */
			cr_expect_eq(decision.error == 0, filter == SECCOMP_RET_ALLOW, "%s: %s",
				     name, lines);
			if (decision.error == EPERM && profile->observes != 0)
				cr_expect_eq(filter, FILTER_NOTIFY, "%s: %s", name, lines);
			else if (decision.error != 0)
				cr_expect_eq(filter, SECCOMP_RET_ERRNO | (uint32_t)decision.error,
					     "%s: %s", name, lines);
		}
	}
}

Test(decide, no_such_operation)
{
	struct operation operation = { .kind = OPERATION_KIND_COUNT };

	cr_expect_eq(decide(&builtin.plan, plan_profile(&builtin.plan, 0), &operation, &decision),
		     -EINVAL);
}

Test(decide, what_is_long_is_cut_between_characters)
{
	char text[OPERATION_TEXT_MAX] = "read /";

	for (size_t i = 6; i < 6 + 254; i += 2)
		memcpy(text + i, "\xc3\xbc", 3);
	ask("default", text);
	cr_expect_eq(decision.answer, DECISION_ABSENT);
	cr_expect_str_eq(decision.rule + strlen(decision.rule) - 3, "...");
	cr_expect_eq((unsigned char)decision.rule[strlen(decision.rule) - 4], 0xbc);
}

Test(decide, no_remedy_is_cut)
{
	char text[OPERATION_TEXT_MAX] = "read /";

	memset(text + 6, 'x', 200);
	ask("default", text);
	cr_expect_str_eq(decision.remedy, "in the operator's profile, an entry for this path");
	text[6 + 50] = '\0';
	ask("default", text);
	expect_text("optional: true}] and landlock: [{path: /xxx");
}

Test(decide, no_remedy_shows_what_the_launcher_refuses)
{
	static const char *const paths[] = { "/etc/shadow",      "/etc",     "/root",
					     "/root/x",          "/dev/kvm", "/sys/class",
					     "/boot/x",          "/run",     "/var/run/x",
					     "/home/user",       "/home",    "/var/lib/docker/x",
					     "/tmp/../x",        "/var",     "/etc/ssh/x/y",
					     "/home/user/.ssh/x" };
	static const char *const shown[] = { "/srv/x", "/home/user/project", "/var/log/syslog" };
	char text[OPERATION_TEXT_MAX];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		(void)snprintf(text, sizeof(text), "read %s", paths[i]);
		ask("default", text);
		cr_expect_null(strstr(decision.remedy, "kind: bind"), "%s", lines);
	}
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		(void)snprintf(text, sizeof(text), "read %s", shown[i]);
		ask("default", text);
		expect_text("kind: bind");
	}
	ask("default", "write /usr/bin/env");
	expect_text("none: no profile can allow it");
	ask("default", "write /opt/x");
	expect_text("files: [{at: /opt, kind: bind, access: writable}] and landlock: [{path: /opt, "
		    "rights: [read, write, create]}]");
	ask("strict", "bind 80");
	expect_text("network: loopback and seccomp: {add: [network]}");
	ask("default", "bind 80");
	expect_text("if nothing of this sandbox has the port");
	ask("strict", "connect unix:/run/x");
	expect_text("none: no profile can show it");
	ask("strict", "syscall setuid");
	expect_text("none: the kernel lets no workload have other ids");
}
