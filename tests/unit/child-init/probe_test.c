/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe where hardly a layer is: it finds those open that are, and closed those that the test
 * puts up. The test is the init, on the host's own tree.
 */
#include "probe.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_posture.h"
#include "common/resolver.h"
#include "hand_plan.h"
#include "isolated.h"
#include "spawn.h"
#include "support.h"

#define NET_BIT POSTURE_BIT(POSTURE_NAMESPACE_NET)
#define ALL_NAMESPACES (POSTURE_BIT(POSTURE_NAMESPACE_COUNT) - 1)

static struct factory factory;
static struct init init = { .factory = &factory, .ruleset = -1 };
static struct spawn spawn = SPAWN_EMPTY;
static char code_path[] = "/nonexistent/code";
static struct ipc_posture_measured found;
static bool is_closed;

static void prepare(void)
{
	hand_plan_begin();
	hand_plan_open(&factory.plan);
	init.profile = &hand_plan.profile;
	init.landlock_abi = landlock_abi();
	init.landlock = landlock_fit(
		(struct kernel_landlock_ruleset){ .handled_access_fs = LANDLOCK_FS_ALL,
						  .handled_access_net = LANDLOCK_NET_ALL,
						  .scoped = LANDLOCK_SCOPE_ALL },
		init.landlock_abi);
	init.ruleset = landlock_create(&init.landlock);
	cr_assert_geq(init.ruleset, 0);
	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
}

TestSuite(probe, .init = prepare, .timeout = 60);

/* What the namespaces' inodes are does not matter to the acts. */
static void be_isolated(void)
{
	for (uint32_t i = 0; i < POSTURE_NAMESPACE_COUNT; i++)
		init.namespaces.links[i][0] = (char)(factory.namespaces.links[i][0] + 1);
}

static void share(enum posture_namespace kind)
{
	memcpy(init.namespaces.links[kind], factory.namespaces.links[kind],
	       sizeof(init.namespaces.links[kind]));
}

/* By a probe alone. */
static int probe(uint32_t *ret_stage)
{
	static struct ipc_spawn request = { .probe = PROBE_ALONE };
	struct workload workload;
	const int error = spawn_start(&init, &spawn, &request, &workload, ret_stage);

	cr_assert_eq(workload.pid, 0);
	return workload.is_probed ? 0 : error;
}

static void look(void)
{
	uint32_t stage = STAGE_NONE;
	const int error = probe(&stage);

	cr_assert_eq(error, 0, "%s: %s", stage_text(stage), strerror(-error));
	is_closed = probe_tell(&found);
}

static void expect(enum posture_layer layer, bool closed, bool untried)
{
	cr_assert_eq((found.layers_closed & POSTURE_BIT(layer)) != 0, closed, "%s",
		     posture_layer_name(layer));
	cr_assert_eq((found.layers_untried & POSTURE_BIT(layer)) != 0, untried, "%s",
		     posture_layer_name(layer));
}

#define EXPECT_CLOSED(layer) expect(POSTURE_##layer, true, false)
#define EXPECT_OPEN(layer) expect(POSTURE_##layer, false, false)
#define EXPECT_UNTRIED(layer) expect(POSTURE_##layer, false, true)

Test(probe, the_hosts_own_tree_and_ids_are_open)
{
	be_isolated();
	look();
	cr_assert_not(is_closed);
	EXPECT_CLOSED(NAMESPACES);
	EXPECT_CLOSED(NO_NEW_PRIVS);
	EXPECT_OPEN(READ_ONLY);
	EXPECT_OPEN(IDENTITY);
	EXPECT_OPEN(SECCOMP);
}

Test(probe, what_was_answered_to_the_first_open_layer_is_told)
{
	be_isolated();
	look();
	cr_assert_eq(found.error, ENOENT, "%u", found.error); /* the host has no sealed file */
}

Test(probe, namespaces_of_the_factory_are_open)
{
	be_isolated();
	share(POSTURE_NAMESPACE_UTS);
	look();
	EXPECT_OPEN(NAMESPACES);
	cr_assert_eq(found.namespaces, ALL_NAMESPACES & ~POSTURE_BIT(POSTURE_NAMESPACE_UTS));
	be_isolated();
	share(POSTURE_NAMESPACE_NET);
	look();
	EXPECT_CLOSED(NAMESPACES);
	EXPECT_OPEN(NETWORK);
	cr_assert_eq(found.namespaces, ALL_NAMESPACES & ~NET_BIT);
}

/* Answer one question at the resolver's address with these bits, or not at all. */
static void answer_question(int fd, int bits)
{
	uint8_t bytes[512];
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	const ssize_t got = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &size);

	if (got != (ssize_t)RESOLVER_PROBE_SIZE || memcmp(bytes, RESOLVER_PROBE, (size_t)got) != 0)
		_exit(1);
	bytes[2] = (uint8_t)(0x81 | bits >> 8);
	bytes[3] = (uint8_t)(0x80 | (bits & 0xff));
	if (bits >= 0)
		(void)sendto(fd, bytes, (size_t)got, 0, (struct sockaddr *)&from, size);
	_exit(0);
}

/* Give the loopback the resolver's address. */
static int open_resolver(void)
{
	const struct sockaddr_in at = {
		AF_INET, htons(RESOLVER_PORT), { htonl(RESOLVER_ADDRESS) }, { 0 }
	};
	struct ifreq request = { .ifr_name = "lo" };
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);

	memcpy(&request.ifr_addr, &at, sizeof(at));
	if (ioctl(fd, SIOCSIFADDR, &request) != 0)
		return -1;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &request) != 0 ||
	    bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0)
		return -1;
	return fd;
}

static const struct {
	int bits, result;
	bool is_closed;
} answers[] = {
	{ RESOLVER_UNLISTED, 0, true },
	{ 3, 0, false }, /* another server says that there is no such name */
	{ 0, 0, false },
	{ RESOLVER_OWN, 0, false },
	{ 5, 0, false },
	{ RESOLVER_FAILED, -EAGAIN, false },
	{ -1, -EAGAIN, false },
};

static int ask_for_a_name(void *argument)
{
	const int fd = open_resolver();

	(void)argument;
	CHECK(fd >= 0);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const pid_t server = fork();
		int status;

		if (server == 0)
			answer_question(fd, answers[i].bits);
		be_isolated();
		probe_begin(&init);
		CHECK(probe_list() == answers[i].result);
		CHECK(waitpid(server, &status, 0) == server && status == 0);
		(void)probe_tell(&found);
		CHECK(((found.layers_closed & POSTURE_BIT(POSTURE_NETWORK)) != 0) ==
		      answers[i].is_closed);
	}
	return ACT_PASSED;
}

Test(probe, the_list_refuses_a_name_that_no_list_has)
{
	hand_plan.profile.network = PLAN_NETWORK_HOSTS;
	isolated_test(CLONE_NEWNET, ask_for_a_name, NULL);
}

/* No such resolver is there, and none is asked. */
Test(probe, a_profile_without_a_list_has_no_resolver)
{
	be_isolated();
	probe_begin(&init);
	cr_assert_eq(probe_list(), 0);
}

static int note_namespaces(void *argument)
{
	struct probe_namespaces own = { .links = { "" } };

	(void)argument;
	CHECK(probe_note_namespaces("/proc/self/ns", &own) == 0);
	for (uint32_t i = 0; i < POSTURE_NAMESPACE_COUNT; i++) {
		const bool is_new = i == POSTURE_NAMESPACE_USER || i == POSTURE_NAMESPACE_NET;

		CHECK((strcmp(own.links[i], factory.namespaces.links[i]) != 0) == is_new);
	}
	return ACT_PASSED;
}

Test(probe, the_kernel_says_which_namespaces_are_ones_own)
{
	cr_assert_eq(probe_note_namespaces("/proc/self/ns", &factory.namespaces), 0);
	isolated_test(CLONE_NEWNET, note_namespaces, NULL);
}

Test(probe, namespaces_that_cannot_be_read_are_an_error)
{
	struct probe_namespaces own = { .links = { "" } };

	cr_assert_eq(probe_note_namespaces("/nonexistent", &own), -ENOENT);
	cr_assert_eq(probe_note_namespaces("/usr", &own), -ENOENT);
}

Test(probe, landlock_that_is_entered_is_closed)
{
	look();
	EXPECT_CLOSED(LANDLOCK_TCP);
	EXPECT_CLOSED(LANDLOCK_SCOPES);
	EXPECT_OPEN(LANDLOCK_FILES); /* the file is not there, and that is no wall */
	cr_assert_eq(found.landlock_fs, init.landlock.handled_access_fs);
	cr_assert_eq(found.landlock_net, init.landlock.handled_access_net);
	cr_assert_eq(found.landlock_scopes, init.landlock.scoped);
	cr_assert_eq(found.landlock_abi, (uint32_t)init.landlock_abi);
}

/* The ruleset handles nothing of it, and the plan says that it does. */
Test(probe, landlock_that_does_not_handle_what_it_should_is_open)
{
	const struct kernel_landlock_ruleset files = { .handled_access_fs =
							       LANDLOCK_ACCESS_FS_MAKE_CHAR };

	fd_close(&init.ruleset);
	init.ruleset = landlock_create(&files);
	cr_assert_geq(init.ruleset, 0);
	look();
	EXPECT_OPEN(LANDLOCK_TCP);
	EXPECT_OPEN(LANDLOCK_SCOPES);
}

Test(probe, what_a_profile_allows_is_not_tried)
{
	init.root_rights = LANDLOCK_ACCESS_FS_READ_FILE;
	init.landlock.handled_access_net = 0;
	init.landlock.scoped = 0; /* as on an older kernel */
	look();
	EXPECT_UNTRIED(LANDLOCK_FILES);
	EXPECT_UNTRIED(LANDLOCK_TCP);
	EXPECT_UNTRIED(LANDLOCK_SCOPES);
}

static void hide_openat2(uint32_t answer)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	memcpy(hand_plan.filter, filter, sizeof(filter));
	hand_plan.profile.filter_count = 4;
}

Test(probe, a_filter_that_hides_is_closed)
{
	hide_openat2(SECCOMP_RET_ERRNO | ENOSYS);
	look();
	EXPECT_CLOSED(SECCOMP);
}

Test(probe, a_filter_of_another_kind_is_open)
{
	hide_openat2(SECCOMP_RET_ERRNO | EPERM);
	look();
	EXPECT_OPEN(SECCOMP);
}

Test(probe, a_probe_that_was_ended_halfway_proves_nothing)
{
	uint32_t stage = STAGE_NONE;

	hide_openat2(SECCOMP_RET_KILL_PROCESS);
	cr_assert_eq(probe(&stage), -ECANCELED);
	cr_assert_eq(stage, STAGE_PROBE);
	cr_assert_not(probe_tell(&found), "what it did not try is not closed");
}

Test(probe, each_probe_starts_anew)
{
	hide_openat2(SECCOMP_RET_ERRNO | ENOSYS);
	look();
	EXPECT_CLOSED(SECCOMP);
	hide_openat2(SECCOMP_RET_ALLOW);
	look();
	EXPECT_OPEN(SECCOMP);
}

Test(probe, resource_limits_hold_for_it)
{
	look();
	EXPECT_OPEN(RLIMITS); /* a plan without any proves nothing */
	hand_plan.rlimits[0] = (struct plan_rlimit){ .resource = RLIMIT_NOFILE, .value = 100 };
	hand_plan.profile.rlimit_count = 1;
	look();
	EXPECT_CLOSED(RLIMITS);
}

Test(probe, a_host_mount_that_should_be_read_only_is_asked)
{
	struct plan_mount *mount =
		hand_plan_add(PLAN_BIND, PLAN_PHASE_BASE, "/dev/null", "/dev/null");

	mount->attributes = MOUNT_ATTR_RDONLY;
	look();
	EXPECT_OPEN(READ_ONLY);
}

Test(probe, an_init_that_can_be_inspected_is_open)
{
	if (geteuid() == 0)
		cr_skip("root's capabilities protect as well");
	cr_assert_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	look();
	EXPECT_OPEN(PROTECT);
	cr_assert_eq(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
	look();
	EXPECT_CLOSED(PROTECT);
}

Test(probe, it_does_nothing_of_the_workloads)
{
	const size_t before = fd_count_open();
	int status;

	spawn.code = fd_sealed_from_bytes("code", "x", 1);
	spawn.code_path = code_path;
	look(); /* neither streams nor a directory nor a program are there */
	spawn_done(&spawn);
	cr_assert_eq(fd_count_open(), before);
	cr_assert_gt(waitpid(-1, &status, 0), 0, "a child to be reaped");
	cr_assert(WIFEXITED(status));
}

Test(probe, a_step_that_fails_is_told)
{
	uint32_t stage = STAGE_NONE;

	fd_close(&init.ruleset);
	cr_assert_eq(probe(&stage), -EBADF);
	cr_assert_eq(stage, STAGE_RESTRICT);
}

/* Here hardly a layer is closed. */
Test(probe, behind_an_open_layer_nothing_is_executed)
{
	static const char command[] = "/bin/false";
	struct ipc_spawn request = { .probe = PROBE_FIRST,
				     .cwd = "/",
				     .argv_size = sizeof(command) };
	struct workload workload;
	uint32_t stage = STAGE_NONE;
	int status;

	memcpy(request.argv, command, sizeof(command));
	for (int i = 0; i < 3; i++)
		spawn.stdio[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	hide_openat2(SECCOMP_RET_ERRNO | ENOSYS);
	cr_assert_eq(spawn_start(&init, &spawn, &request, &workload, &stage), -ECANCELED);
	cr_assert_eq(stage, STAGE_PROBE);
	cr_assert(workload.is_probed);
	cr_assert_eq(workload.pid, 0);
	cr_assert_not(probe_tell(&found));
	spawn_done(&spawn);
	cr_assert_gt(waitpid(-1, &status, 0), 0);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), MSP_EXIT_SANDBOX, "it was not the program that ended");
}
