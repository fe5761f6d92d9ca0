/* SPDX-License-Identifier: Apache-2.0
 *
 * What the processes of a pid namespace use, seen by its PID 1.
 */
#include "watch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/layer_role.h"
#include "common/text/text.h"
#include "hand_plan.h"
#include "isolated.h"

#define MIB ((uint64_t)1 << 20)
#define USED (64 * MIB)

/* What a process uses beside what it was told to: more in a sanitizer's build. */
#define SLACK (24 * MIB)

/* A limit that nothing comes near. */
#define ENOUGH (1ULL << 62)

/* Processes that take a reader of their mappings far more than one look may take. */
#define MAPPED_PROCESSES 24
#define MAPPINGS 60000
#define MAPPED_PAGE 4096

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID)

TestSuite(watch, .timeout = 60);

static void *touch(uint64_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory != MAP_FAILED)
		memset(memory, 1, size);
	return memory == MAP_FAILED ? NULL : memory;
}

/* A process that has touched `size` bytes when this returns; -1 when it could not. */
static pid_t start_user(uint64_t size)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (!touch(size) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]); /* the child's now */
	if (read(ready[0], &byte, 1) != 1)
		pid = -1;
	(void)close(ready[0]); /* it said what it had to */
	return pid;
}

/* A /proc of this pid namespace; where the machine's own is covered in parts, none can be had. */
static int prepare(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		return ACT_UNPREPARED;
	return 0;
}

static int watch_two_processes(void *unused)
{
	uint64_t sum;
	pid_t first;
	pid_t second;

	if (prepare() != 0)
		return ACT_UNPREPARED;
	CHECK(watch_open() == 0);
	CHECK(watch_processes(0, ENOUGH).bytes == 0);
	first = start_user(USED);
	CHECK(first > 1);
	sum = watch_processes(0, ENOUGH).bytes;
	CHECK(sum >= USED && sum < USED + SLACK);
	second = start_user(USED);
	CHECK(second > 1);
	sum = watch_processes(0, ENOUGH).bytes;
	CHECK(sum >= 2 * USED && sum < 2 * (USED + SLACK));
	CHECK(kill(first, SIGKILL) == 0 && waitpid(first, NULL, 0) == first);
	sum = watch_processes(0, ENOUGH).bytes;
	CHECK(sum >= USED && sum < USED + SLACK);
	CHECK(kill(second, SIGKILL) == 0 && waitpid(second, NULL, 0) == second);
	CHECK(watch_processes(0, ENOUGH).bytes == 0);
	return ACT_PASSED;
}

Test(watch, every_process_counts)
{
	isolated_test(NAMESPACES, watch_two_processes, NULL);
}

#define TASKS 8

/* No process holds what they leave, and System V IPC of the caller's namespace does not count. */
static int watch_system_v(void *unused)
{
	struct {
		long type;
		char text[1000];
	} message = { .type = 1 };
	uint64_t sum;

	CHECK(watch_ipc(TASKS) == 0);
	const int segment = shmget(IPC_PRIVATE, USED, 0600);
	void *memory = segment < 0 ? (void *)-1 : shmat(segment, NULL, 0);
	CHECK(memory != (void *)-1);
	CHECK(watch_ipc(TASKS) < MIB); /* until it is written */
	memset(memory, 1, USED);
	CHECK(shmdt(memory) == 0);
	sum = watch_ipc(TASKS);
	CHECK(sum >= USED && sum < USED + MIB);
	CHECK(shmctl(segment, IPC_RMID, NULL) == 0 && watch_ipc(TASKS) == 0);
	const int semaphores = semget(IPC_PRIVATE, 20000, 0600);
	CHECK(semaphores >= 0 && watch_ipc(0) >= (uint64_t)20000 * 64);
	CHECK(watch_ipc(TASKS) >= watch_ipc(0) + (uint64_t)20000 * 2 * TASKS);
	CHECK(semctl(semaphores, 0, IPC_RMID) == 0 && watch_ipc(TASKS) == 0);
	const int queue = msgget(IPC_PRIVATE, 0600);
	CHECK(queue >= 0 && msgsnd(queue, &message, sizeof(message.text), 0) == 0);
	sum = watch_ipc(TASKS);
	CHECK(sum >= sizeof(message.text) && sum < 4096);
	CHECK(msgctl(queue, IPC_RMID, NULL) == 0 && watch_ipc(TASKS) == 0);
	return ACT_PASSED;
}

/* Also what its owner may neither read nor write. */
static int clear_system_v(void *unused)
{
	watch_clear_ipc();
	for (int i = 0; i < 3; i++) {
		CHECK(shmget(IPC_PRIVATE, MAPPED_PAGE, 0) >= 0);
		CHECK(semget(IPC_PRIVATE, 2, 0) >= 0 && msgget(IPC_PRIVATE, 0) >= 0);
	}
	const int held = shmget(IPC_PRIVATE, USED, 0600);
	void *memory = shmat(held, NULL, 0);
	CHECK(memory != (void *)-1 && watch_ipc(TASKS) > 0);
	watch_clear_ipc();
	CHECK(watch_ipc(TASKS) < MIB);
	CHECK(shmdt(memory) == 0 && watch_ipc(TASKS) == 0);
	return ACT_PASSED;
}

Test(watch, what_system_v_ipc_holds_counts)
{
	isolated_test(CLONE_NEWIPC, watch_system_v, NULL);
}

Test(watch, all_system_v_ipc_is_removed)
{
	isolated_test(CLONE_NEWIPC, clear_system_v, NULL);
}

static int watch_itself(void *unused)
{
	if (prepare() != 0)
		return ACT_UNPREPARED;
	CHECK(watch_open() == 0);
	CHECK(touch(USED) != NULL);
	CHECK(watch_processes(0, ENOUGH).bytes == 0);
	return ACT_PASSED;
}

Test(watch, the_init_does_not_count)
{
	isolated_test(NAMESPACES, watch_itself, NULL);
}

/* Neighbours whose rights differ are mappings of their own. */
static bool map_many(void)
{
	char *memory = mmap(NULL, (uint64_t)MAPPINGS * MAPPED_PAGE, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	for (long i = 0; i < MAPPINGS; i += 2) {
		if (mprotect(memory + i * MAPPED_PAGE, MAPPED_PAGE, PROT_NONE) != 0)
			return false;
	}
	return true;
}

/* How long it takes to read the shares of all of them. */
static uint64_t read_all_us(void)
{
	const uint64_t start = clock_now_us();
	uint64_t read_count = 0;

	for (int pid = 2; pid < 2 + MAPPED_PROCESSES; pid++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
		read_count += text_read_number(AT_FDCWD, path, "\nPss:") > 0;
	}
	return read_count == MAPPED_PROCESSES ? clock_now_us() - start : 0;
}

/* What they have resident decides where their shares cannot be measured in time. */
static int watch_many_mappings(void *unused)
{
	struct watch_usage usage;
	uint64_t start;
	uint64_t took;

	if (prepare() != 0)
		return ACT_UNPREPARED;
	CHECK(watch_open() == 0);
	CHECK(map_many() && touch(USED) != NULL);
	for (int i = 0; i < MAPPED_PROCESSES; i++)
		CHECK(start_user(MAPPED_PAGE) > 1);
	start = clock_now_us();
	usage = watch_processes(0, ENOUGH);
	took = clock_now_us() - start;
	CHECK(usage.tasks == MAPPED_PROCESSES);
	CHECK(usage.bytes > MAPPED_PROCESSES * USED);
	CHECK(usage.bytes < MAPPED_PROCESSES * (USED + SLACK));
	CHECK(read_all_us() > 2 * took); /* the control */
	return ACT_PASSED;
}

Test(watch, many_mappings_do_not_hold_a_look_up)
{
	isolated_test(NAMESPACES, watch_many_mappings, NULL);
}

/* Shared pages are shared out: two processes with the same pages use them once. With a limit that
 * is exceeded a look takes its time, also on a machine that has much else to do. */
static int watch_shared(void *unused)
{
	uint64_t sum;
	pid_t user;
	char *memory;

	if (prepare() != 0)
		return ACT_UNPREPARED;
	CHECK(watch_open() == 0);
	memory = touch(USED);
	CHECK(memory != NULL);
	user = start_user(MIB);
	CHECK(user > 1);
	sum = watch_processes(0, MIB).bytes;
	CHECK(sum >= USED / 2 && sum < USED / 2 + SLACK);
	CHECK(munmap(memory, USED) == 0);
	sum = watch_processes(0, MIB).bytes;
	CHECK(sum >= USED && sum < USED + SLACK);
	return ACT_PASSED;
}

Test(watch, shared_pages_are_shared_out)
{
	isolated_test(NAMESPACES, watch_shared, NULL);
}

/* More names than one read of the directory returns; the last is the one that uses something. */
static int watch_many(void *unused)
{
	enum { COUNT = 300 };
	uint64_t before;

	if (prepare() != 0)
		return ACT_UNPREPARED;
	CHECK(watch_open() == 0);
	for (int i = 0; i < COUNT; i++)
		CHECK(start_user(1) > 1);
	before = watch_processes(0, ENOUGH).bytes;
	CHECK(before > 0);
	CHECK(start_user(USED) > COUNT);
	/* Shares of pages that other tests have too come and go with these. */
	CHECK(watch_processes(0, ENOUGH).bytes >= before + USED / 2);
	return ACT_PASSED;
}

Test(watch, no_process_is_left_out)
{
	isolated_test(NAMESPACES, watch_many, NULL);
}

Test(watch, without_a_proc_nothing_is_known)
{
	cr_assert_eq(watch_processes(0, ENOUGH).bytes, 0);
	cr_assert_eq(watch_processes(0, ENOUGH).tasks, 0);
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		(void)pause();
	return unused;
}

/* A process with `count` threads besides its first when this returns; -1 when it could not. */
static pid_t start_threads(int count)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		pthread_t thread;

		for (int i = 0; i < count; i++) {
			if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
				_exit(1);
		}
		if (write(ready[1], "x", 1) == 1)
			(void)wait_for_ever(NULL);
		_exit(1);
	}
	(void)close(ready[1]); /* the child's now */
	if (read(ready[0], &byte, 1) != 1)
		pid = -1;
	(void)close(ready[0]); /* it said what it had to */
	return pid;
}

static int watch_tasks(void *unused)
{
	siginfo_t ended;
	pid_t user;

	if (prepare() != 0)
		return ACT_UNPREPARED;
	CHECK(watch_open() == 0);
	CHECK(watch_processes(0, ENOUGH).tasks == 0);
	CHECK(start_threads(5) > 1);
	CHECK(watch_processes(0, ENOUGH).tasks == 6);
	user = start_user(1);
	CHECK(user > 1);
	CHECK(watch_processes(0, ENOUGH).tasks == 7);
	CHECK(kill(user, SIGSTOP) == 0);
	CHECK(watch_processes(0, ENOUGH).tasks == 7);
	CHECK(kill(user, SIGKILL) == 0);
	CHECK(waitid(P_PID, (id_t)user, &ended, WEXITED | WNOWAIT) == 0);
	CHECK(watch_processes(0, ENOUGH).tasks == 7); /* a zombie still has its number */
	CHECK(waitpid(user, NULL, 0) == user);
	CHECK(watch_processes(0, ENOUGH).tasks == 6);
	return ACT_PASSED;
}

Test(watch, threads_and_zombies_count)
{
	isolated_test(NAMESPACES, watch_tasks, NULL);
}

/* A file of `pages` pages in `folder`; 0 when there was no room for it. */
static int make_file(const char *folder, const char *name, long pages)
{
	static const char page[4096];
	const int directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int fd = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool is_there = fd >= 0;

	for (long i = 0; i < pages && is_there; i++)
		is_there = write(fd, page, sizeof(page)) == (ssize_t)sizeof(page);
	(void)close(fd);
	(void)close(directory);
	return is_there;
}

static struct factory factory;

static int watch_two_folders(void *unused)
{
	struct watch_store store;

	hand_plan_begin();
	(void)hand_plan_add(PLAN_TMPFS, PLAN_PHASE_SANDBOX, "/tmp", "tmpfs");
	(void)hand_plan_add(PLAN_DIRECTORY, PLAN_PHASE_SANDBOX, "/usr", NULL);
	(void)hand_plan_add(PLAN_TMPFS, PLAN_PHASE_SANDBOX, "/mnt", "tmpfs");
	hand_plan_open(&factory.plan);
	if (prepare() != 0 || mount("tmpfs", "/tmp", "tmpfs", 0, "size=64k,nr_inodes=16") != 0 ||
	    mount("tmpfs", "/mnt", "tmpfs", 0, "size=64k,nr_inodes=16") != 0)
		return ACT_UNPREPARED;
	store = watch_files(&factory, &hand_plan.profile);
	CHECK(store.bytes == 0 && !store.is_full);
	CHECK(make_file("/tmp", "a", 3));
	store = watch_files(&factory, &hand_plan.profile);
	CHECK(store.bytes == 3 * 4096 && !store.is_full);
	CHECK(make_file("/mnt", "a", 16));
	store = watch_files(&factory, &hand_plan.profile);
	CHECK(store.bytes == 19 * 4096 && store.is_full);
	CHECK(!make_file("/mnt", "b", 1));
	CHECK(unlink("/mnt/a") == 0);
	store = watch_files(&factory, &hand_plan.profile);
	CHECK(store.bytes == 3 * 4096 && !store.is_full);
	for (char name[] = "b"; make_file("/mnt", name, 0); name[0]++)
		CHECK(name[0] < 'z');
	store = watch_files(&factory, &hand_plan.profile);
	CHECK(store.bytes == 3 * 4096 && store.is_full);
	return ACT_PASSED;
}

Test(watch, files_count_and_fill_up)
{
	isolated_test(NAMESPACES, watch_two_folders, NULL);
}

static int watch_what_lasts(void *unused)
{
	const struct ipc_sandbox_layer layer = { .mount = 0, .role = LAYER_WRITE };
	struct watch_store store;

	hand_plan_begin();
	(void)hand_plan_add(PLAN_TMPFS, PLAN_PHASE_SANDBOX, "/tmp", "tmpfs");
	hand_plan_open(&factory.plan);
	if (prepare() != 0 || mount("tmpfs", "/tmp", "tmpfs", 0, "size=64k,nr_inodes=16") != 0)
		return ACT_UNPREPARED;
	CHECK(make_file("/tmp", "a", 3));
	CHECK(watch_files(&factory, &hand_plan.profile).bytes == 3 * 4096);
	CHECK(places_add(&factory.places, &layer) == 0);
	store = watch_files(&factory, &hand_plan.profile);
	CHECK(store.bytes == 0 && !store.is_full);
	CHECK(make_file("/tmp", "b", 13));
	store = watch_files(&factory, &hand_plan.profile);
	CHECK(store.bytes == 0 && store.is_full);
	CHECK(mount("tmpfs", "/tmp", "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64k") == 0);
	CHECK(!watch_files(&factory, &hand_plan.profile).is_full);
	return ACT_PASSED;
}

Test(watch, files_that_last_fill_up_and_are_no_memory)
{
	isolated_test(NAMESPACES, watch_what_lasts, NULL);
}

/* Six processes: two of one group, and of each a child in a session of its own, which has a child.
 */
static pid_t start_family(void)
{
	const pid_t first = fork();

	if (first != 0)
		return first;
	if (setpgid(0, 0) != 0 || fork() < 0)
		_exit(1);
	if (fork() == 0 && (setsid() < 0 || fork() < 0))
		_exit(1);
	for (;;)
		(void)pause();
}

static uint64_t count_tasks(uint64_t wanted)
{
	uint64_t tasks = 0;

	for (int i = 0; i < 10000 && tasks != wanted; i++) {
		(void)usleep(1000);
		tasks = watch_processes(0, ENOUGH).tasks;
	}
	return tasks;
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static int kill_one_of_two(void *unused)
{
	pid_t first, second;

	if (prepare() != 0)
		return ACT_UNPREPARED;
	CHECK(watch_open() == 0);
	first = start_family();
	CHECK(first > 0 && count_tasks(6) == 6);
	second = start_family();
	CHECK(second > 0 && count_tasks(12) == 12);
	watch_kill_family(first);
	for (int i = 0; i < 10000 && watch_processes(0, ENOUGH).tasks > 6; i++) {
		(void)usleep(1000);
		reap_all();
	}
	CHECK(watch_processes(0, ENOUGH).tasks == 6);
	CHECK(kill(first, 0) != 0 && kill(second, 0) == 0);
	CHECK(kill(-1, SIGKILL) == 0);
	return ACT_PASSED;
}

Test(watch, a_family_is_killed_and_no_other)
{
	isolated_test(NAMESPACES, kill_one_of_two, NULL);
}

Test(watch, the_less_is_left_the_sooner_it_looks)
{
	const uint64_t limit = 1024 * MIB;

	cr_assert_eq(watch_pause_ms(0, limit), WATCH_MOST_MS);
	cr_assert_eq(watch_pause_ms(limit, limit), WATCH_LEAST_MS);
	cr_assert_eq(watch_pause_ms(limit - 1, limit), WATCH_LEAST_MS);
	cr_assert_eq(watch_pause_ms(limit + 1, limit), WATCH_LEAST_MS);
	cr_assert_eq(watch_pause_ms(limit - 30 * (uint64_t)WATCH_BYTES_PER_MS, limit), 30);
	cr_assert_eq(watch_pause_ms(0, UINT64_MAX), WATCH_MOST_MS);
}
