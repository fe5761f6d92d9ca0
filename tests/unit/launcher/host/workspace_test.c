/* SPDX-License-Identifier: Apache-2.0
 *
 * Which directory of the host a request may name, and what it hears when it may not. A home
 * directory with two projects lies in a temporary folder; plans are made by hand. The path opener
 * is asked over its channel, as the supervisor asks it.
 */
#include "launcher/host/workspace.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_start.h"
#include "hand_plan.h"
#include "launcher/opener/parts.h"
#include "launcher/start/opener.h"

static char top[64];
static struct plan plan;
static struct workspaces own;
static char canonical[IPC_PATH_MAX];
static char text[WORKSPACE_TEXT_MAX];

/* A path in the folder. Static storage for a few calls. */
static const char *in(const char *name)
{
	static char paths[8][256];
	static int next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void begin(void)
{
	static const char *const folders[] = { "home",
					       "home/.ssh",
					       "home/project",
					       "home/project/sub",
					       "home/project/sub/deep",
					       "home/project-evil",
					       "home/other",
					       "state" };
	int fd;

	(void)snprintf(top, sizeof(top), "/tmp/msp-workspace-XXXXXX");
	cr_assert_not_null(mkdtemp(top));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		cr_assert_eq(mkdir(in(folders[i]), 0755), 0);
	fd = open(in("home/project/file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_geq(fd, 0);
	(void)close(fd);
	cr_assert_eq(symlink("project/sub", in("home/short")), 0);
	cr_assert_eq(symlink("../other", in("home/project/out")), 0);
	cr_assert_eq(symlink("../missing", in("home/project/dangling")), 0);
	cr_assert_eq(symlink("loop", in("home/project/loop")), 0);
	cr_assert_eq(symlink("/", in("home/project/root")), 0);
	cr_assert_eq(setenv("HOME", in("home"), 1), 0);
	cr_assert_eq(setenv("MSP_STATE_DIR", in("state"), 1), 0);
	(void)unsetenv("SUDO_USER");
	hand_plan_begin();
}

static void end(void)
{
	workspaces_close(&own);
	cr_assert_eq(chdir("/"), 0);
	if (fork() == 0) {
		(void)execl("/bin/rm", "rm", "-rf", top, (char *)NULL);
		_exit(1);
	}
	(void)wait(NULL);
}

TestSuite(workspace, .init = begin, .fini = end, .timeout = 30);

/* What the operator's file says. */
static void allow(const char *path)
{
	hand_plan.header.workspaces = hand_plan_put(path, strlen(path) + 1);
	hand_plan.header.workspaces_size = (uint32_t)strlen(path) + 1;
}

/* `msp serve` in this directory, with --workspace `given` unless that is NULL. */
static void serve_in(const char *directory, const char *given)
{
	struct workspace_words words = { .count = 0 };

	workspaces_close(&own);
	cr_assert_eq(chdir(directory), 0);
	if (given)
		cr_assert_null(workspace_set_word(&words, given));
	cr_assert_eq(workspaces_open(&words, &own, text), 0, "%s", text);
	cr_assert_eq(own.count, 1);
	cr_assert_eq(own.is_start, given == NULL);
}

static int ask(const char *path, bool is_person)
{
	hand_plan_open(&plan);
	text[0] = canonical[0] = '\0';
	return workspace_open(path, is_person, &plan, &own, canonical, text);
}

static void expect_open(const char *path, bool is_person, const char *expected)
{
	int fd = ask(path, is_person);
	struct stat opened;
	struct stat named;

	cr_assert_geq(fd, 0, "%s: %s", path, text);
	cr_expect(fd_is_kind(fd, 'o'));
	cr_expect_str_eq(canonical, expected);
	cr_assert_eq(fstat(fd, &opened), 0);
	cr_assert_eq(stat(expected, &named), 0);
	cr_expect_eq(opened.st_ino, named.st_ino);
	fd_close(&fd);
}

static void expect_refused(const char *path, bool is_person, const char *rule)
{
	int fd = ask(path, is_person);

	cr_expect_eq(fd, -1, "%s was opened", path);
	cr_expect_not_null(strstr(text, "' is refused: "), "%s", text);
	cr_expect_not_null(strstr(text, rule), "%s: \"%s\" is not in \"%s\"", path, rule, text);
	cr_expect_null(strchr(text, '\n'));
	fd_close(&fd);
}

/* --- the path itself -------------------------------------------------------------------------- */

Test(workspace, a_person_names_what_is_not_protected)
{
	expect_open(in("home/project"), true, in("home/project"));
	expect_open(in("home/project/"), true, in("home/project"));
	expect_open(in("home/./project//sub///"), true, in("home/project/sub"));
	expect_open(in("home/short"), true, in("home/project/sub"));
	expect_open(in("home/short/deep"), true, in("home/project/sub/deep"));
	expect_open(in("home/project/out"), true, in("home/other"));
}

Test(workspace, a_way_upwards_is_what_it_leads_to)
{
	expect_open(in("home/project/../other"), true, in("home/other"));
	expect_open(in("home/project/sub/.."), true, in("home/project"));
	expect_open(in("home/project/out/../project"), true, in("home/project"));
	expect_refused(in("home/project/.."), true, "which holds");
	expect_refused(in("home/missing/../project"), true, "there is no such directory");
	expect_refused("/..", true, "' is refused: ");
	serve_in(in("home/project"), NULL);
	expect_open(in("home/project/sub/../sub"), false, in("home/project/sub"));
	expect_refused(in("home/project/../other"), false, "does not lie in");
	expect_refused(in("home/project/../missing"), false, "does not lie in");
	expect_refused(in("home/project/out/.."), false, "does not lie in");
}

Test(workspace, what_is_no_directory_of_the_host)
{
	char name[IPC_PATH_MAX + 8];

	expect_refused("", true, "it is empty");
	expect_refused("home/project", true, "it is no absolute path");
	expect_refused("..", true, "it is no absolute path");
	expect_refused("../project", true, "it is no absolute path");
	expect_refused(in("home/missing"), true, "there is no such directory");
	expect_refused(in("home/missing/deeper"), true, "there is no such directory");
	expect_refused(in("home/project/dangling"), true, "there is no such directory");
	expect_refused(in("home/project/file"), true, "it is no directory");
	expect_refused(in("home/project/file/sub"), true, "it is no directory");
	expect_refused(in("home/project/loop"), true, "leads back to itself");
	expect_refused("/proc/self/cwd", true, "a link of /proc");
	expect_refused("/proc/self/root/tmp", true, "a link of /proc");
	expect_refused("/proc/self", true, "which holds what no sandbox may see");
	memset(name, 'a', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	expect_refused(name, true, "it is longer than 4095 bytes");
	name[300] = '\0';
	expect_refused(name, true, "File name too long");
}

Test(workspace, names_of_any_bytes)
{
	static const char *const names[] = { "a\nb", "\x1b[2J", "\xff\xfe", "\xc3\xa4", "a b'c" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_assert_eq(mkdir(in(names[i]), 0755), 0);
		expect_open(in(names[i]), true, in(names[i]));
	}
	expect_refused("/\n/\x1b[2J\xff", true, "'/?/?[2J?' is refused");
	expect_refused("/\xc3\xa4", true, "'/\xc3\xa4' is refused");
}

Test(workspace, what_the_user_cannot_read)
{
	if (geteuid() == 0)
		cr_skip("root reads everything");
	cr_assert_eq(chmod(in("home/project/sub"), 0), 0);
	expect_refused(in("home/project/sub"), true, "cannot read it");
	expect_refused(in("home/project/sub/deep"), true, "cannot reach it");
	serve_in(in("home/project"), NULL);
	expect_refused(in("home/project/sub"), false, "cannot read it");
	cr_assert_eq(chmod(in("home/project/sub"), 0100), 0);
	expect_refused(in("home/project/sub"), true, "cannot read it");
	cr_assert_eq(chmod(in("home/project/sub"), 0700), 0);
}

Test(workspace, what_is_protected)
{
	expect_refused(in("home"), true, "which holds what no sandbox may see");
	expect_refused(in("home/.ssh"), true, "which holds what no sandbox may see");
	expect_refused(top, true, "it contains");
	expect_refused("/", true, "it contains");
	expect_refused("/etc", true, "it contains");
	expect_refused("/dev", true, "which holds what no sandbox may see");
	expect_refused(in("home/project/root"), true, "'/' is refused: it contains");
	cr_assert_eq(symlink(in("home/.ssh"), in("keys")), 0);
	expect_refused(in("keys"), true, "which holds what no sandbox may see");
	expect_refused(in("state"), true, "which holds what no sandbox may see");
}

/* --- what is open to requests ----------------------------------------------------------------- */

Test(workspace, where_msp_was_started)
{
	serve_in(in("home/project"), NULL);
	expect_open(in("home/project"), false, in("home/project"));
	expect_open(in("home/project/sub"), false, in("home/project/sub"));
	expect_open(in("home/short/deep"), false, in("home/project/sub/deep"));
	expect_refused(in("home/other"), false, "/home/project, where msp was started");
	expect_refused(in("home/project-evil"), false, "where msp was started");
	expect_refused(in("home/project/out"), false, "where msp was started");
	expect_refused(in("home/project/root"), false, "where msp was started");
	expect_refused(in("home"), false, "where msp was started");
	expect_refused("/", false, "where msp was started");
	expect_open(in("home/other"), true, in("home/other"));
}

/* What is outside is all one to a request: there or not, open or not. */
Test(workspace, nothing_is_told_of_what_is_outside)
{
	static const char *const names[] = {
		"home/other",         "home/missing",          "home/missing/deeper",
		"home/.ssh",          "home/.ssh/id",          "home/project/out",
		"home/project/out/x", "home/project/dangling", "home/project/dangling/x"
	};
	const char *rule;

	serve_in(in("home/project"), NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		expect_refused(in(names[i]), false, "' is refused: it does not lie in ");
		rule = strstr(text, "' is refused: ");
		cr_expect_not_null(
			strstr(rule, "where msp was started: name a directory in there"));
	}
	expect_refused("/proc/self/cwd", false, "where msp was started");
	expect_refused(in("home/project/missing"), false, "there is no such directory");
	expect_refused(in("home/project/file"), false, "it is no directory");
}

Test(workspace, started_in_what_is_protected)
{
	static const char remedy[] = "'msp serve --workspace DIR'";
	char named[IPC_PATH_MAX + 64];

	(void)snprintf(named, sizeof(named), "'msp client-config --workspace %s CLIENT'",
		       in("home/project"));
	serve_in(in("home"), NULL);
	expect_refused(in("home/project"), false, "/home', where msp was started, is or holds");
	cr_expect_not_null(strstr(text, named), "%s", text);
	serve_in("/", NULL);
	expect_refused(in("home/project"), false, "'/', where msp was started, is or holds");
	serve_in(in("home/.ssh"), NULL);
	expect_refused(in("home/.ssh"), false, "where msp was started, is or holds");
	workspaces_close(&own);
	expect_refused(in("home/project"), false, "no directory of the host is open to requests;");
	cr_expect_not_null(strstr(text, named), "%s", text);
	/* A shell would not take these as they are. */
	expect_refused("/home/a b", false, remedy);
	expect_refused("/home/$(id)", false, remedy);
	expect_refused("/home/x;id", false, remedy);
	expect_open(in("home/project"), true, in("home/project"));
}

/* The next command would refuse these, too, so that no remedy names them. */
Test(workspace, no_remedy_opens_what_is_protected)
{
	static const char *const names[] = { "home", "home/.ssh", "home/.config/tool", "home/." };
	static const char *const others[] = { "/", "//", "/etc", "/etc/", "/var", "/tmp" };
	char named[IPC_PATH_MAX + 64];

	serve_in("/", NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		expect_refused(in(names[i]), false, "'msp serve --workspace DIR'");
		cr_expect_not_null(strstr(text, "--workspace DIR CLIENT'"), "%s", text);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		expect_refused(others[i], false, "'msp serve --workspace DIR'");
	(void)snprintf(named, sizeof(named), "'msp serve --workspace %s'", in("home/project"));
	expect_refused(in("home/project"), false, named);
	expect_refused("/srv/project", false, "'msp serve --workspace /srv/project'");
}

Test(workspace, the_operators_workspaces_hold_for_all)
{
	allow(in("home/project"));
	serve_in(in("home/other"), NULL);
	expect_open(in("home/project/sub"), false, in("home/project/sub"));
	expect_open(in("home/project/sub"), true, in("home/project/sub"));
	expect_refused(in("home/other"), false, "it lies in none of the workspaces");
	expect_refused(in("home/missing"), false, "it lies in none of the workspaces");
	expect_refused(in("home/other"), true, "it lies in none of the workspaces");
	expect_refused(in("home/project-evil"), false, "it lies in none of the workspaces");
	/* What a client's msp was given narrows it. */
	serve_in("/", in("home/project/sub"));
	expect_open(in("home/project/sub/deep"), false, in("home/project/sub/deep"));
	expect_refused(in("home/project"), false, "that 'msp serve --workspace' opened");
	serve_in("/", in("home/other"));
	expect_refused(in("home/other"), false, "it lies in none of the workspaces");
}

Test(workspace, what_was_given)
{
	serve_in(in("home"), in("home/short"));
	expect_open(in("home/project/sub"), false, in("home/project/sub"));
	expect_refused(in("home/project"), false, "sub): name a directory in one");
	expect_refused(in("home/other"), false, "that 'msp serve --workspace' opened");
	/* It is what was opened: another one in its place is none. */
	cr_assert_eq(rename(in("home/project/sub"), in("home/project/moved")), 0);
	cr_assert_eq(mkdir(in("home/project/sub"), 0755), 0);
	expect_refused(in("home/project/sub"), false, "that 'msp serve --workspace' opened");
	expect_open(in("home/project/moved"), false, in("home/project/moved"));
}

Test(workspace, what_may_be_given)
{
	struct workspace_words words = { .count = 0 };
	static const char *const wrong[] = { "home", "home/.ssh", "." };

	hand_plan_open(&plan);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		serve_in("/", in(wrong[i]));
		cr_expect_eq(workspaces_check(&own, &plan, text), -1, "%s", wrong[i]);
		cr_expect_eq(strncmp(text, "--workspace: '", 14), 0, "%s", text);
	}
	serve_in("/", in("home/project"));
	cr_expect_eq(workspaces_check(&own, &plan, text), 0, "%s", text);
	cr_assert_null(workspace_set_word(&words, in("home/project/file")));
	cr_expect_eq(workspaces_open(&words, &own, text), -1);
	cr_expect_not_null(strstr(text, "cannot be opened: Not a directory"), "%s", text);
	cr_expect_not_null(workspace_set_word(&words, ""));
	while (words.count < CLIENT_WORKSPACES_MAX)
		cr_assert_null(workspace_set_word(&words, "/tmp"));
	cr_expect_not_null(workspace_set_word(&words, "/tmp"));
}

/* --- the path opener
 * ------------------------------------------------------------------------------- */

static struct channel supervisor = { -1, IPC_SUPERVISOR, IPC_LAUNCHER, IPC_SETUP };
static struct channel_message message;

static int sealed_plan(void)
{
	struct plan checked;
	int fd;

	hand_plan_open(&checked);
	fd = fd_sealed_from_bytes("plan", &hand_plan, sizeof(hand_plan));
	cr_assert_geq(fd, 0);
	return fd;
}

int __wrap_git_question_ask(int image, const char *workspace, const struct plan *in_force,
			    int *ret_data);

/* git executes nothing in it. */
int __wrap_git_question_ask(int image, const char *workspace, const struct plan *in_force,
			    int *ret_data)
{
	return fd_sealed_from_bytes("named", "", 0);
}

static void stay_as_it_is(const struct protected_set *set)
{
}

/* As msp-opener, but for the exec and its confinement. */
static void become_opener(const struct launch *launch, int channel) __attribute__((noreturn));
static void become_opener(const struct launch *launch, int channel)
{
	static struct opener_start start;

	if (opener_place(launch, channel, channel) < 0 || !opener_take_start(&start))
		_exit(1);
	opener_serve(&start, stay_as_it_is);
	_exit(0);
}

/* `newer` is what it finds when it is asked to read the policy again. */
static void start_opener(int plan_fd, int newer)
{
	struct images images = IMAGES_NONE;
	static struct config config = CONFIG_UNREAD;
	struct launch launch = { .images = &images, .config = &config, .workspaces = &own };
	int ends[2];
	pid_t pid;

	config.is_read = true;
	config.plan_fd = plan_fd;
	config.builtin = newer;
	cr_assert_not_null(config_plan(&config));
	cr_assert_eq(setenv("MSP_CONFIG", "", 1), 0);
	cr_assert_eq(channel_pair(ends), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0)
		become_opener(&launch, ends[0]);
	(void)close(ends[0]);
	supervisor.fd = ends[1];
}

static uint32_t answer(void)
{
	enum ipc_error wrong = IPC_OK;

	cr_assert_eq(channel_receive(&supervisor, &message, 0, &wrong), 1, "%s",
		     ipc_error_text(wrong));
	return message.type;
}

static void send_ask(const char *path, uint32_t generation, uint32_t is_person)
{
	struct ipc_workspace_ask question = { 7, generation, is_person, "" };

	(void)snprintf(question.path, sizeof(question.path), "%s", path);
	cr_assert_eq(channel_send(&supervisor, IPC_TYPE_workspace_ask, &question, NULL, 0), 0);
}

static void send_within(const char *path, uint32_t is_start)
{
	const struct ipc_workspace_within within = { is_start };
	const int fd = open(path, O_PATH | O_CLOEXEC);

	cr_assert_eq(channel_send(&supervisor, IPC_TYPE_workspace_within, &within, &fd, 0), 0);
	(void)close(fd);
}

static void expect_answer_open(const char *path)
{
	cr_assert_eq(answer(), IPC_TYPE_workspace_open);
	cr_expect_eq(ipc_body(&message, workspace_open)->number, 7);
	cr_expect_str_eq(ipc_body(&message, workspace_open)->path, path);
	channel_message_done(&message);
}

static void expect_answer_bad(const char *rule)
{
	cr_assert_eq(answer(), IPC_TYPE_workspace_bad);
	cr_expect_eq(ipc_body(&message, workspace_bad)->number, 7);
	cr_expect_not_null(strstr(ipc_body(&message, workspace_bad)->text, rule), "%s",
			   ipc_body(&message, workspace_bad)->text);
}

Test(workspace, the_opener_answers)
{
	serve_in(in("home/project"), NULL);
	start_opener(sealed_plan(), open("/dev/null", O_RDONLY | O_CLOEXEC));
	send_ask(in("home/short"), 1, 0);
	expect_answer_open(in("home/project/sub"));
	send_ask(in("home/other"), 1, 0);
	expect_answer_bad("where msp was started");
	send_ask(in("home/other"), 1, 1);
	expect_answer_open(in("home/other"));
	/* Another client's, for one question. */
	send_within(in("home/other"), 0);
	send_ask(in("home/project"), 1, 0);
	expect_answer_bad("that 'msp serve --workspace' opened");
	send_within(in("home/other"), 1);
	send_ask(in("home/other"), 1, 0);
	expect_answer_open(in("home/other"));
	send_ask(in("home/other"), 1, 0);
	expect_answer_bad("where msp was started");
}

Test(workspace, the_opener_goes_by_the_policy_in_force)
{
	const struct ipc_policy_ask reload = { 1 };
	int first;

	serve_in(in("home/project"), NULL);
	first = sealed_plan();
	allow(in("home/other"));
	start_opener(first, sealed_plan());
	cr_assert_eq(channel_send(&supervisor, IPC_TYPE_policy_ask, &reload, NULL, 0), 0);
	cr_assert_eq(answer(), IPC_TYPE_policy_new);
	channel_message_done(&message);
	send_ask(in("home/project"), 1, 0); /* the supervisor did not take it */
	expect_answer_open(in("home/project"));
	send_ask(in("home/other"), 2, 0); /* it did */
	expect_answer_open(in("home/other"));
	send_ask(in("home/project"), 2, 0);
	expect_answer_bad("it lies in none of the workspaces");
}

Test(workspace, the_opener_ends_with_its_channel)
{
	int status;

	serve_in(in("home/project"), NULL);
	start_opener(sealed_plan(), open("/dev/null", O_RDONLY | O_CLOEXEC));
	for (int i = 0; i <= CLIENT_WORKSPACES_MAX; i++)
		send_within("/tmp", 0);
	cr_expect_geq(wait(&status), 0, "more than there may be end it");
	cr_expect_eq(status, 0);
	start_opener(sealed_plan(), open("/dev/null", O_RDONLY | O_CLOEXEC));
	(void)close(supervisor.fd);
	cr_expect_geq(wait(&status), 0);
	cr_expect_eq(status, 0);
}
