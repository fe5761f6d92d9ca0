/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps between a spawn message and a running workload, here on the host's own tree: the test
 * is the init, with no_new_privs and a Landlock ruleset, but without namespaces.
 */
#include "spawn.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/fd.h"
#include "common/ipc/ipc_init.h"
#include "common/kernel.h"
#include "common/text/names.h"
#include "hand_plan.h"
#include "support.h"

#define READ_RIGHTS                                                                                \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE)

static struct factory factory;
static struct init init = { .factory = &factory, .ruleset = -1 };
static struct spawn spawn = SPAWN_EMPTY;
static char code_path[IPC_PATH_MAX];
static struct ipc_spawn request;
static char folder[] = "/tmp/msp-spawn-test-XXXXXX";

/* What the last run left. */
static uint32_t stage;
static int terminal = -1;
static pid_t pid;
static int status;
static char output[4096];

static void allow(const char *path, uint64_t rights)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(landlock_allow(init.ruleset, &init.landlock, fd, rights), 0);
	fd_close(&fd);
}

static void make_ruleset(void)
{
	const struct kernel_landlock_ruleset all = {
		.handled_access_fs = (LANDLOCK_ACCESS_FS_IOCTL_DEV << 1) - 1
	};

	init.landlock = landlock_fit(all, landlock_abi());
	init.ruleset = landlock_create(&init.landlock);
	cr_assert_geq(init.ruleset, 0);
}

#define SET_BYTES(field, text)                                                                     \
	(memcpy(request.field, text, sizeof(text)), request.field##_size = sizeof(text))

static void prepare(void)
{
	cr_assert_not_null(mkdtemp(folder));
	hand_plan_begin();
	hand_plan_open(&factory.plan);
	init.profile = &hand_plan.profile;
	make_ruleset();
	allow("/", UINT64_MAX);
	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	memcpy(request.cwd, "/", sizeof("/"));
	SET_BYTES(argv, "true");
	SET_BYTES(environment, "PATH=/usr/bin:/bin");
}

static void clean(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/a/b/code", folder);
	(void)unlink(path);
	for (char *slash = strrchr(path, '/'); slash > path + 5; slash = strrchr(path, '/')) {
		*slash = '\0';
		(void)rmdir(path);
	}
}

TestSuite(spawn, .init = prepare, .fini = clean, .timeout = 60);

/* Its environment is the process's own until it executes; Criterion wants this one back. */
static int start(void)
{
	char **const own = environ;
	struct workload workload;
	const int error = spawn_start(&init, &spawn, &request, &workload, &stage);

	environ = own;
	pid = workload.pid;
	terminal = workload.terminal;
	return error;
}

static void read_output(int fd)
{
	size_t used = 0;
	ssize_t size;

	while (used < sizeof(output) - 1 &&
	       (size = read(fd, output + used, sizeof(output) - 1 - used)) > 0)
		used += (size_t)size;
	output[used] = '\0';
}

/* Run it; its standard streams are one pipe. */
static int run(void)
{
	int ends[2];
	int error;

	pid = 0;
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	for (int i = 0; i < 3; i++)
		spawn.stdio[i] = i == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : dup(ends[1]);
	fd_close(&ends[1]);
	error = start();
	spawn_done(&spawn);
	read_output(ends[0]);
	fd_close(&ends[0]);
	if (!error)
		cr_assert_eq(waitpid(pid, &status, 0), pid);
	return error;
}

static void expect_output(const char *expected)
{
	cr_assert_eq(run(), 0, "%s", stage_text(stage));
	cr_assert_str_eq(output, expected);
	cr_assert_eq(status, 0);
}

static void expect_failure(int error, uint32_t expected_stage)
{
	const int result = run();

	cr_assert_eq(result, error, "%s: %s", stage_text(stage), strerror(-result));
	cr_assert_eq(stage, expected_stage, "%s", stage_text(stage));
	cr_assert_eq(pid, 0, "untouched");
}

#define SHELL(command) SET_BYTES(argv, "sh\0-c\0" command)

Test(spawn, a_workload_runs)
{
	SHELL("echo out; echo err >&2; exit 7");
	cr_assert_eq(run(), 0);
	cr_assert_str_eq(output, "out\nerr\n");
	cr_assert_eq(status, 7 << 8);
	cr_assert_eq(terminal, -1);
}

Test(spawn, arguments_arrive_as_they_were_said)
{
	SET_BYTES(argv, "printf\0%s|\0one\0\0 two \0$HOME\0--");
	expect_output("one|| two |$HOME|--|");
}

Test(spawn, the_environment_is_the_messages_alone)
{
	cr_assert_eq(setenv("OF_THE_INIT", "1", 1), 0);
	SET_BYTES(argv, "env");
	SET_BYTES(environment, "B=2\0PATH=/usr/bin\0A=1");
	expect_output("B=2\nPATH=/usr/bin\nA=1\n");
}

Test(spawn, an_empty_environment_is_empty)
{
	SET_BYTES(argv, "/usr/bin/env");
	request.environment_size = 0;
	expect_output("");
}

Test(spawn, lists_must_end)
{
	request.argv_size--;
	expect_failure(-EINVAL, STAGE_STDIO);
	request.argv_size++;
	request.environment_size--;
	expect_failure(-EINVAL, STAGE_STDIO);
	request.environment_size++;
	cr_assert_eq(run(), 0, "control");
}

Test(spawn, there_must_be_a_program)
{
	request.argv_size = 0;
	expect_failure(-EINVAL, STAGE_STDIO);
	SET_BYTES(argv, "");
	expect_failure(-ENOENT, STAGE_EXEC);
}

Test(spawn, more_arguments_than_there_is_room_for_are_refused)
{
	memset(request.argv, 0, sizeof(request.argv));
	request.argv_size = IPC_ARGV_MAX;
	expect_failure(-E2BIG, STAGE_STDIO);
	SET_BYTES(argv, "true");
	memset(request.environment, 0, sizeof(request.environment));
	request.environment_size = IPC_ENVIRONMENT_MAX;
	expect_failure(-E2BIG, STAGE_STDIO);
}

Test(spawn, a_message_may_be_full)
{
	memset(request.argv, 'x', sizeof(request.argv));
	for (uint32_t i = 5; i < IPC_ARGV_MAX; i += 2)
		request.argv[i] = '\0';
	memcpy(request.argv, "true", sizeof("true"));
	request.argv[IPC_ARGV_MAX - 1] = '\0';
	request.argv_size = IPC_ARGV_MAX;
	expect_output("");
}

Test(spawn, streams_must_be_there)
{
	cr_assert_eq(start(), -EBADF);
	cr_assert_eq(stage, STAGE_STDIO);
}

Test(spawn, a_program_that_is_missing)
{
	SET_BYTES(argv, "no-such-program");
	expect_failure(-ENOENT, STAGE_EXEC);
	SET_BYTES(argv, "/no/such/program");
	expect_failure(-ENOENT, STAGE_EXEC);
	SHELL("exit 0");
	cr_assert_eq(run(), 0, "the next one runs");
}

Test(spawn, a_program_that_may_not_be_executed)
{
	SET_BYTES(argv, "/etc/passwd");
	expect_failure(-EACCES, STAGE_EXEC);
	SET_BYTES(argv, "/usr");
	expect_failure(-EACCES, STAGE_EXEC);
}

Test(spawn, programs_are_looked_for_in_the_workloads_own_path)
{
	cr_assert_eq(setenv("PATH", "/usr/bin:/bin", 1), 0);
	SET_BYTES(environment, "PATH=/nonexistent");
	expect_failure(-ENOENT, STAGE_EXEC);
}

Test(spawn, the_directory)
{
	memcpy(request.cwd, "/usr/bin", sizeof("/usr/bin"));
	SHELL("pwd");
	expect_output("/usr/bin\n");
}

Test(spawn, a_directory_that_is_missing)
{
	memcpy(request.cwd, "/no/such/directory", sizeof("/no/such/directory"));
	expect_failure(-ENOENT, STAGE_CWD);
	memset(request.cwd, 0, sizeof(request.cwd));
	memcpy(request.cwd, "/etc/passwd", sizeof("/etc/passwd"));
	expect_failure(-ENOTDIR, STAGE_CWD);
}

static void add_rlimit(int resource, uint64_t value)
{
	struct plan_rlimit *limit = &hand_plan.rlimits[hand_plan.profile.rlimit_count++];

	*limit = (struct plan_rlimit){ .resource = (uint32_t)resource, .value = value };
}

Test(spawn, resource_limits_are_set_soft_and_hard)
{
	add_rlimit(RLIMIT_NOFILE, 17);
	add_rlimit(RLIMIT_CORE, 0);
	SHELL("ulimit -S -n; ulimit -H -n; ulimit -c");
	expect_output("17\n17\n0\n");
}

Test(spawn, a_workload_gets_half_of_the_inits_descriptors)
{
	const struct rlimit low = { 30, 40 };

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	add_rlimit(RLIMIT_NOFILE, 100);
	SHELL("ulimit -S -n; ulimit -H -n");
	expect_output("20\n20\n");
}

Test(spawn, a_resource_limit_is_never_raised)
{
	const struct rlimit low = { 1 << 20, 1 << 20 };

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
	add_rlimit(RLIMIT_FSIZE, 1 << 30);
	SHELL("ulimit -S -f; ulimit -H -f");
	expect_output("2048\n2048\n");
}

Test(spawn, a_resource_that_does_not_exist_is_an_error)
{
	add_rlimit(1000, 1);
	expect_failure(-EINVAL, STAGE_RLIMITS);
}

Test(spawn, nothing_but_the_streams_stays_open)
{
	int kept = dup(STDERR_FILENO);

	cr_assert_geq(dup2(kept, 50), 0);
	cr_assert_eq(fcntl(50, F_GETFD), 0, "it would live through the exec");
	SHELL("for fd in 3 4 5 6 7 8 9 10 11 12 13 14 15 50; do "
	      "[ -e /proc/$$/fd/$fd ] && echo $fd; done; [ -e /proc/$$/fd/2 ] && echo 2");
	expect_output("2\n");
	cr_assert_eq(fcntl(50, F_GETFD), 0, "our own stay");
	fd_close(&kept);
}

Test(spawn, what_the_caller_gave_is_closed_afterwards)
{
	const size_t before = fd_count_open();

	SET_BYTES(argv, "true");
	cr_assert_eq(run(), 0);
	SET_BYTES(argv, "no-such-program");
	cr_assert_eq(run(), -ENOENT);
	cr_assert_eq(fd_count_open(), before);
	cr_assert_eq(spawn.stdio[0], -1);
}

Test(spawn, signals_start_afresh)
{
	sigset_t set;

	cr_assert_eq(sigfillset(&set), 0);
	cr_assert_eq(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	SHELL("read_line() { while read -r name rest; do [ \"$name\" = SigBlk: ] && echo $rest; "
	      "done; }; read_line </proc/$$/status");
	cr_assert_eq(run(), 0);
	cr_assert_str_eq(output, "0000000000000000\n");
}

/* The policy is the 41st field of the line, the state behind the name the third. */
#define SHOW_POLICY "read -r line </proc/$$/stat; set -- ${line##*) }; shift 38; echo $1"

Test(spawn, its_init_gives_way_and_it_does_not)
{
	spawn_give_way();
	cr_assert_eq(syscall(SYS_sched_getscheduler, 0), SCHED_BATCH);
	SHELL(SHOW_POLICY);
	expect_output("0\n");
}

Test(spawn, who_started_us_to_run_when_nothing_else_does_is_obeyed)
{
	cr_assert_eq(kernel_set_scheduler(SCHED_IDLE), 0);
	spawn_give_way();
	cr_assert_eq(syscall(SYS_sched_getscheduler, 0), SCHED_IDLE);
	SHELL(SHOW_POLICY);
	expect_output("5\n");
}

Test(spawn, files_are_not_for_others_to_write)
{
	(void)umask(0);
	SHELL("umask");
	expect_output("0022\n");
	cr_assert_eq(umask(0), 0, "ours is ours");
}

Test(spawn, it_leads_a_group_of_its_own)
{
	pid_t group;

	SHELL("kill -STOP $$");
	for (int i = 0; i < 3; i++)
		spawn.stdio[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	cr_assert_eq(start(), 0);
	spawn_done(&spawn);
	group = getpgid(pid);
	cr_assert_eq(waitpid(pid, &status, WUNTRACED), pid);
	cr_assert(WIFSTOPPED(status));
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(group, pid);
}

static void set_code(const char *text, const char *name)
{
	spawn.code = fd_sealed_from_bytes("code", text, strlen(text));
	cr_assert_geq(spawn.code, 0);
	spawn.code_path = code_path;
	(void)snprintf(code_path, sizeof(code_path), "%s/%s", folder, name);
}

static void run_code(void)
{
	const int size =
		snprintf((char *)request.argv, sizeof(request.argv), "sh%c%s/a/b/code", 0, folder);

	request.argv_size = (uint32_t)size + 1;
}

Test(spawn, code_is_put_where_it_shall_be)
{
	set_code("echo $0; stat -c %a $0", "a/b/code");
	run_code();
	cr_assert_eq(run(), 0, "%s", stage_text(stage));
	cr_assert_not_null(strstr(output, "/a/b/code\n644\n"), "%s", output);
}

Test(spawn, code_replaces_nothing)
{
	set_code("echo first", "a/b/code");
	run_code();
	expect_output("first\n");
	set_code("echo second", "a/b/code");
	expect_failure(-EEXIST, STAGE_CODE);
	expect_output("first\n");
}

Test(spawn, code_is_not_written_through_a_link)
{
	char path[64];
	char target[64];
	struct stat found;

	(void)snprintf(path, sizeof(path), "%s/link", folder);
	(void)snprintf(target, sizeof(target), "%s/target", folder);
	cr_assert_eq(symlink(target, path), 0);
	set_code("echo hi", "link");
	expect_failure(-EEXIST, STAGE_CODE);
	cr_assert_eq(lstat(target, &found), -1);
	cr_assert_eq(unlink(path), 0);
}

Test(spawn, landlock_confines_it)
{
	SET_BYTES(argv, "cat\0/etc/passwd");
	cr_assert_eq(run(), 0);
	cr_assert_eq(status, 0, "control");
	fd_close(&init.ruleset);
	make_ruleset();
	allow("/usr", READ_RIGHTS);
	allow("/lib", READ_RIGHTS);
	allow("/lib64", READ_RIGHTS);
	allow("/bin", READ_RIGHTS);
	cr_assert_eq(run(), 0, "%s", stage_text(stage));
	cr_assert_neq(status, 0);
	cr_assert_not_null(strstr(output, "Permission denied"), "%s", output);
}

Test(spawn, without_a_ruleset_nothing_runs)
{
	fd_close(&init.ruleset);
	expect_failure(-EBADF, STAGE_RESTRICT);
}

Test(spawn, code_is_written_with_the_workloads_rights)
{
	fd_close(&init.ruleset);
	make_ruleset();
	allow("/", READ_RIGHTS);
	set_code("echo hi", "code");
	expect_failure(-EACCES, STAGE_CODE);
}

/* The filter of the plan: `verdict` for one system call, the rest is allowed. */
static void set_filter(uint32_t call, uint32_t verdict)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, verdict),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	memcpy(hand_plan.filter, filter, sizeof(filter));
	hand_plan.profile.filter_count = 4;
}

Test(spawn, the_filter_is_in_force)
{
	SHELL("umask 077 && echo allowed");
	expect_output("allowed\n");
	set_filter(SYS_umask, SECCOMP_RET_KILL_PROCESS);
	cr_assert_eq(run(), 0, "the steps before the filter may use it");
	cr_assert(WIFSIGNALED(status));
	cr_assert_eq(WTERMSIG(status), SIGSYS);
	cr_assert_str_eq(output, "");
}

Test(spawn, the_filter_is_there_before_the_program)
{
	set_filter(SYS_execve, SECCOMP_RET_ERRNO | EPERM);
	expect_failure(-EPERM, STAGE_EXEC);
}

Test(spawn, without_a_filter_nothing_runs)
{
	hand_plan.profile.filter_count = 0;
	expect_failure(-EINVAL, STAGE_SECCOMP);
}

Test(spawn, what_is_no_cgroup_is_an_error)
{
	spawn.cgroup = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect_failure(-EBADF, STAGE_CLONE);
}

Test(spawn, a_terminal)
{
	request.use_tty = 1;
	SHELL("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal </dev/tty; sleep 0.1");
	cr_assert_eq(start(), 0, "%s", stage_text(stage));
	cr_assert_geq(terminal, 0);
	cr_assert_eq(fcntl(terminal, F_GETFD), FD_CLOEXEC);
	cr_assert(fd_is_kind(terminal, 't'));
	read_output(terminal);
	cr_assert_str_eq(output, "terminal\r\n");
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	fd_close(&terminal);
}

Test(spawn, a_terminal_that_was_not_needed_is_closed)
{
	const size_t before = fd_count_open();

	request.use_tty = 1;
	SET_BYTES(argv, "no-such-program");
	cr_assert_eq(start(), -ENOENT);
	cr_assert_eq(terminal, -1);
	cr_assert_eq(fd_count_open(), before);
}
