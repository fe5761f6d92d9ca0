/* SPDX-License-Identifier: Apache-2.0
 *
 * A home directory and data beside it in a temporary folder, and plans made by hand that show them.
 */
#include "launcher/host/pins.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hand_plan.h"

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define WRITABLE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static char top[64];
static struct plan plan;
static struct pins pins;
static char text[PINS_TEXT_MAX];

/* A path in the folder. Static storage for a few calls. */
static const char *in(const char *name)
{
	static char paths[8][256];
	static int next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void make_file(const char *name)
{
	const int fd = open(in(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0);
	(void)close(fd);
}

static void begin(void)
{
	static const char *const folders[] = { "home", "home/.ssh", "home/project", "data",
					       "data/sub" };

	(void)snprintf(top, sizeof(top), "/tmp/msp-pins-XXXXXX");
	cr_assert_not_null(mkdtemp(top));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		cr_assert_eq(mkdir(in(folders[i]), 0755), 0);
	make_file("home/.netrc");
	make_file("data/file");
	cr_assert_eq(symlink("data", in("link")), 0);
	cr_assert_eq(symlink("nowhere", in("broken")), 0);
	cr_assert_eq(mkfifo(in("pipe"), 0600), 0);
	cr_assert_eq(setenv("HOME", in("home"), 1), 0);
	hand_plan_begin();
}

static void end(void)
{
	pins_close(&pins);
	if (fork() == 0) {
		(void)execl("/bin/rm", "rm", "-rf", top, (char *)NULL);
		_exit(1);
	}
	(void)wait(NULL);
}

TestSuite(pins, .init = begin, .fini = end);

static struct plan_mount *show(uint32_t kind, const char *source)
{
	char target[32];
	struct plan_mount *mount;

	(void)snprintf(target, sizeof(target), "/shown/%u", hand_plan.profile.mount_count);
	mount = hand_plan_add(kind, kind == PLAN_OVERLAY ? PLAN_PHASE_SANDBOX : PLAN_PHASE_BASE,
			      target, source);
	mount->flags = PLAN_PINNED;
	mount->attributes = kind == PLAN_BIND ? READ_ONLY : WRITABLE;
	mount->origin.file = hand_plan_put("site.yaml", sizeof("site.yaml"));
	mount->origin.line = 7;
	return mount;
}

static int open_all(void)
{
	hand_plan_open(&plan);
	text[0] = '\0';
	return pins_open(&plan, "", NULL, &pins, text);
}

static void expect_refused(const char *first, const char *second)
{
	cr_assert_eq(open_all(), -1);
	cr_expect_eq(pins.count, 0U);
	cr_expect_eq(strncmp(text, "site.yaml:7: files: '", 21), 0, "%s", text);
	cr_expect(strstr(text, first), "'%s' should say '%s'", text, first);
	cr_expect(strstr(text, second), "'%s' should say '%s'", text, second);
	cr_expect_null(strchr(text, '\n'));
}

static void expect_pin(uint32_t number, uint32_t mount, const char *name)
{
	const struct pin *pin = &pins.list[number];
	struct stat wanted;
	struct stat found;

	cr_assert_lt(number, pins.count);
	cr_expect_eq(pin->profile, 0U);
	cr_expect_eq(pin->mount, mount);
	cr_expect(fcntl(pin->fd, F_GETFL) & O_PATH);
	cr_expect(fcntl(pin->fd, F_GETFD) & FD_CLOEXEC);
	cr_assert_eq(stat(in(name), &wanted), 0);
	cr_assert_eq(fstat(pin->fd, &found), 0);
	cr_expect(wanted.st_dev == found.st_dev && wanted.st_ino == found.st_ino);
}

Test(pins, what_may_be_shown_is_opened)
{
	show(PLAN_BIND, in("data"));
	show(PLAN_BIND, in("data/file"))->attributes = WRITABLE;
	show(PLAN_OVERLAY, in("home/project"));
	show(PLAN_COPY, in("data/file"));
	cr_assert_eq(open_all(), 0, "%s", text);
	cr_assert_eq(pins.count, 4U);
	expect_pin(0, 0, "data");
	expect_pin(1, 1, "data/file");
	expect_pin(2, 2, "home/project");
	expect_pin(3, 3, "data/file");
	cr_expect_eq(pins.list[1].fd, pins.list[3].fd, "each path is opened once");
}

Test(pins, records_that_are_not_the_operators_are_left_alone)
{
	show(PLAN_BIND, "/")->flags = 0;
	cr_assert_eq(open_all(), 0, "%s", text);
	cr_expect_eq(pins.count, 0U);
}

Test(pins, what_is_protected)
{
	show(PLAN_BIND, in("home"));
	expect_refused("it is /tmp/", "/home, which holds what no sandbox may see");
	hand_plan_begin();
	show(PLAN_BIND, top);
	expect_refused("contains", "/home, which holds what no sandbox may see");
}

Test(pins, from_where_programs_are_started)
{
	cr_assert_eq(setenv("PATH", in("data/sub"), 1), 0);
	show(PLAN_BIND, in("data/sub"));
	show(PLAN_OVERLAY, in("data/sub"));
	cr_assert_eq(open_all(), 0, "%s", text);
	pins_close(&pins);
	show(PLAN_BIND, in("data/sub"))->attributes = WRITABLE;
	expect_refused("data/sub' is refused: it is ",
		       "where this machine looks for programs (PATH)");
	cr_assert_eq(setenv("PATH", "/usr/bin", 1), 0);
	cr_assert_eq(open_all(), 0, "%s", text);
}

Test(pins, a_part_of_what_is_protected_by_another_spelling)
{
	show(PLAN_BIND, in("home/project/../.netrc"));
	expect_refused("is /tmp/", "/home/.netrc");
}

Test(pins, another_name_of_what_is_protected)
{
	cr_assert_eq(link(in("home/.netrc"), in("data/harmless")), 0);
	show(PLAN_COPY, in("data/harmless"));
	expect_refused("is /tmp/", "/home/.netrc");
}

static uint32_t put_list(const char *path)
{
	return hand_plan_put(path, strlen(path) + 1);
}

Test(pins, what_the_operator_protects)
{
	hand_plan.header.protect = put_list(in("data/sub"));
	hand_plan.header.protect_size = (uint32_t)strlen(in("data/sub")) + 1;
	show(PLAN_BIND, in("data"));
	expect_refused("contains", "/data/sub");
}

Test(pins, what_lies_in_no_workspace)
{
	hand_plan.header.workspaces = put_list(in("home/project"));
	hand_plan.header.workspaces_size = (uint32_t)strlen(in("home/project")) + 1;
	show(PLAN_BIND, in("data"));
	expect_refused("lies in none of the workspaces", "/home/project). Name a folder in one");
}

Test(pins, a_link_in_the_path_says_what_it_leads_to)
{
	show(PLAN_BIND, in("link/sub"));
	expect_refused("a symbolic link is part of it", in("data/sub"));
}

Test(pins, a_link_at_the_end)
{
	show(PLAN_BIND, in("link"));
	expect_refused("Write the real path", in("data"));
}

Test(pins, a_link_that_leads_nowhere)
{
	show(PLAN_BIND, in("broken"))->flags |= PLAN_OPTIONAL;
	expect_refused("a symbolic link is part of it", "leads nowhere");
}

Test(pins, a_path_through_a_process)
{
	show(PLAN_BIND, "/proc/self/root/usr");
	expect_refused("a symbolic link is part of it", "/proc/self/root/usr");
}

Test(pins, what_is_not_there)
{
	show(PLAN_BIND, in("missing"));
	expect_refused("No such file or directory", "'optional: true'");
}

Test(pins, what_is_not_there_and_need_not_be)
{
	show(PLAN_BIND, in("missing"))->flags |= PLAN_OPTIONAL;
	show(PLAN_BIND, in("data"));
	cr_assert_eq(open_all(), 0, "%s", text);
	cr_assert_eq(pins.count, 1U);
	expect_pin(0, 1, "data");
}

Test(pins, a_path_below_a_file)
{
	show(PLAN_BIND, in("data/file/deep"))->flags |= PLAN_OPTIONAL;
	expect_refused("Not a directory", "Make it");
}

Test(pins, what_is_neither_file_nor_folder)
{
	show(PLAN_BIND, in("pipe"));
	expect_refused("never a device, socket or pipe", "/pipe");
}

Test(pins, a_file_cannot_be_copy_on_write)
{
	show(PLAN_OVERLAY, in("data/file"));
	expect_refused("only a folder can be copy-on-write", "/data/file");
}

Test(pins, a_folder_cannot_be_copied)
{
	show(PLAN_COPY, in("data"));
	expect_refused("only a regular file can be copied", "use kind bind");
}

Test(pins, the_first_that_is_refused_closes_the_others)
{
	const int before = dup(0);

	(void)close(before);
	show(PLAN_BIND, in("data"));
	show(PLAN_BIND, in("data/file"));
	show(PLAN_COPY, in("data"));
	cr_assert_eq(open_all(), -1);
	cr_expect_eq(dup(0), before, "nothing is left open");
}

Test(pins, a_record_without_a_line_names_its_profile)
{
	show(PLAN_BIND, in("missing"))->origin.file = 0;
	cr_assert_eq(open_all(), -1);
	cr_expect(strstr(text, "profile default: files: '"), "%s", text);
}

Test(pins, there_is_a_most_of_them)
{
	static struct {
		struct hand_plan first;
		struct plan_mount mounts[PINS_MAX];
		struct plan_profile profiles[2];
		uint64_t last;
	} large;

	large.mounts[0] = *show(PLAN_BIND, in("data"));
	for (uint32_t i = 1; i < PINS_MAX; i++)
		large.mounts[i] = large.mounts[0];
	hand_plan.header.size = sizeof(large);
	hand_plan.profile.mounts = offsetof(__typeof__(large), mounts);
	hand_plan.profile.mount_count = PINS_MAX;
	large.first = hand_plan;
	cr_assert_eq(plan_open(&large, sizeof(large), &plan), 0);
	cr_assert_eq(pins_open(&plan, "", NULL, &pins, text), 0, "%s", text);
	cr_expect_eq(pins.count, (uint32_t)PINS_MAX);
	pins_close(&pins);

	large.profiles[0] = large.profiles[1] = hand_plan.profile;
	large.profiles[1].mount_count = 1;
	large.first.header.profiles = offsetof(__typeof__(large), profiles);
	large.first.header.profile_count = 2;
	cr_assert_eq(plan_open(&large, sizeof(large), &plan), 0);
	cr_expect_eq(pins_open(&plan, NULL, NULL, &pins, text), 0);
	cr_expect_eq(pins.count, (uint32_t)PINS_MAX, "the first profile keeps its own");
	pins_close(&pins);
	cr_expect_eq(pins_check(&plan, text), -1);
	cr_expect(strstr(text, "more than 128"), "%s", text);
}

Test(pins, no_descriptor_is_left)
{
	struct rlimit limit;
	struct rlimit none;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	show(PLAN_BIND, in("data"));
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	expect_refused("Too many open files", "/data");
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static bool enter_namespace(void)
{
	return unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* 0: refused with this in the line; 1: not; 100: there are no such namespaces. */
static int ask_with_mount(const char *type, const char *from, const char *to, unsigned long flags,
			  const char *expected)
{
	if (!enter_namespace() || mount(from, in(to), type, flags & MS_BIND, NULL) != 0)
		return 100;
	if ((flags & MS_RDONLY) &&
	    mount(NULL, in(to), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
		return 100;
	if (open_all() != -1 || !strstr(text, expected)) {
		(void)fprintf(stderr, "%s\n", text);
		return 1;
	}
	return 0;
}

static void expect_with_mount(const char *type, const char *from, const char *to,
			      unsigned long flags, const char *expected)
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(ask_with_mount(type, from, to, flags, expected));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 100)
		cr_skip("no mounts here");
	cr_expect_eq(status, 0);
}

Test(pins, a_file_system_inside)
{
	show(PLAN_OVERLAY, in("data"));
	expect_with_mount("tmpfs", "none", "data/sub", 0, "another file system is mounted inside");
}

Test(pins, a_file_system_inside_by_another_spelling)
{
	show(PLAN_BIND, in("home/../data"));
	expect_with_mount("tmpfs", "none", "data/sub", 0, "another file system is mounted inside");
}

Test(pins, a_mount_of_what_is_protected)
{
	show(PLAN_BIND, in("data/sub"));
	expect_with_mount(NULL, in("home/.ssh"), "data/sub", MS_BIND, "/home/.ssh, which holds");
}

Test(pins, a_mount_of_what_contains_it)
{
	show(PLAN_BIND, in("data/sub"));
	expect_with_mount(NULL, in("home"), "data/sub", MS_BIND, "/home, which holds");
}

Test(pins, another_file_system_over_what_is_protected)
{
	show(PLAN_BIND, in("home/.ssh"));
	expect_with_mount("tmpfs", "none", "home/.ssh", 0, "is /tmp/");
}

Test(pins, what_is_mounted_read_only_cannot_be_writable)
{
	show(PLAN_BIND, in("data/sub"))->attributes = WRITABLE;
	expect_with_mount(NULL, in("home/project"), "data/sub", MS_BIND | MS_RDONLY,
			  "its file system is mounted read-only");
}
