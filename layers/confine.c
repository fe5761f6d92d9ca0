/* SPDX-License-Identifier: Apache-2.0
 *
 * Every step is required: a step that fails ends the process with its name on stderr.
 */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"
#include "common/log.h"
#include "confine_write.h"
#include "seccomp_filter.h"

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Adding to the base file of a layer. */
#define SCAN_RIGHTS                                                                                \
	(READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                      \
	 LANDLOCK_ACCESS_FS_MAKE_REG)

/* Everything that a tree of files, directories and links is made of. */
#define WRITE                                                                                      \
	(SCAN_RIGHTS | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SYM |                 \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                          \
	 LANDLOCK_ACCESS_FS_REFER)

/* WRITE with whiteouts, which are devices to the kernel, and with a workload's special files. */
#define MERGE                                                                                      \
	(WRITE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_FIFO |                     \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK)

/* A file that gets a second name in the merged layer must not have more rights there than here;
 * nothing is made or removed. */
#define LINK                                                                                       \
	(READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                      \
	 LANDLOCK_ACCESS_FS_REFER)

/* Rights in the directories of each role, for each operation; 0: not even to read. */
static const struct rights {
	uint64_t host, highest, layers, journal, target;
	bool is_writing; /* with the system calls for that */
} rights[LAYERS_OPERATION_COUNT] = {
	[LAYERS_SCAN] = { READ, SCAN_RIGHTS, READ, 0, 0, true },
	[LAYERS_DIFF] = { READ, READ, READ, 0, 0, false },
	[LAYERS_PREVIEW] = { READ, READ, READ, 0, 0, false },
	[LAYERS_APPLY] = { WRITE, SCAN_RIGHTS, READ, WRITE, 0, true },
	[LAYERS_UNDO] = { WRITE, SCAN_RIGHTS, READ, WRITE, 0, true },
	[LAYERS_RECOVER] = { WRITE, SCAN_RIGHTS, READ, WRITE, 0, true },
	[LAYERS_MERGE] = { 0, LINK, LINK, 0, MERGE, true },
	[LAYERS_REMOVE] = { 0, 0, 0, 0, WRITE, true },
};

/* A history of 200,000 objects takes a few seconds. */
#define READER_CPU_S 60

static void must_do(int error, const char *step)
{
	if (error)
		log_fatal(MSP_EXIT_REFUSED, "cannot confine itself: %s: %s", step,
			  errno_text(-error));
}

static int step_result(int status)
{
	return status == 0 ? 0 : -errno;
}

void confine_descriptors(void)
{
	for (int fd = 0; fd < CONFINE_CHANNEL; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			log_fatal(MSP_EXIT_SOFTWARE, "descriptor %d is not open", fd);
	}
	if (!fd_is_kind(CONFINE_CHANNEL, 's'))
		log_fatal(MSP_EXIT_SOFTWARE,
			  "descriptor %d is not the supervisor's channel: this program is started "
			  "by msp-supervisor",
			  CONFINE_CHANNEL);
	must_do(step_result(kernel_close_range(CONFINE_CHANNEL + 1, ~0U)), "closing descriptors");
}

/* Memory for a million differences. What a job took over is what it handles: a core would hold it.
 */
static void limit_resources(void)
{
	const struct rlimit memory = { (rlim_t)1 << 30, (rlim_t)1 << 30 };
	const struct rlimit none = { 0, 0 };

	must_do(step_result(setrlimit(RLIMIT_AS, &memory)), "limiting its memory");
	must_do(step_result(setrlimit(RLIMIT_CORE, &none)), "refusing core dumps");
}

static void allow_role(int ruleset, const struct kernel_landlock_ruleset *attr, int directory,
		       uint64_t wanted)
{
	if (directory >= 0)
		must_do(landlock_allow(ruleset, attr, directory, wanted),
			"allowing a directory in Landlock");
}

static void enter_landlock(const struct job_directories *directories, const struct rights *wanted)
{
	const struct kernel_landlock_ruleset everything = {
		.handled_access_fs = LANDLOCK_FS_ALL,
		.handled_access_net = LANDLOCK_NET_ALL,
		.scoped = LANDLOCK_SCOPE_ALL,
	};
	const int abi = landlock_abi();
	const struct kernel_landlock_ruleset attr = landlock_fit(everything, abi);
	int ruleset;

	must_do(abi < 1 ? -EOPNOTSUPP : 0, "asking for Landlock");
	ruleset = landlock_create(&attr);
	must_do(ruleset < 0 ? ruleset : 0, "creating the Landlock ruleset");
	allow_role(ruleset, &attr, directories->host, wanted->host);
	for (uint32_t i = 0; i < directories->layer_count; i++)
		allow_role(ruleset, &attr, directories->layers[i],
			   i == 0 ? wanted->highest : wanted->layers);
	for (uint32_t i = 0; i < directories->since_count; i++)
		allow_role(ruleset, &attr, directories->since[i], wanted->layers);
	allow_role(ruleset, &attr, directories->journal, wanted->journal);
	allow_role(ruleset, &attr, directories->target, wanted->target);
	must_do(landlock_enter(ruleset), "entering the Landlock domain");
	fd_close(&ruleset);
}

static void confine_self(const struct job *job, const struct rights *wanted)
{
	must_do(signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0, "ignoring SIGPIPE");
	must_do(step_result(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)), "no_new_privs");
	must_do(step_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)), "not dumpable");
	limit_resources();
	must_do(capabilities_set(0), "dropping capabilities");
	enter_landlock(&job->directories, wanted);
	must_do(wanted->is_writing
			? confine_install_write_filter()
			: seccomp_install(seccomp_filter,
					  sizeof(seccomp_filter) / sizeof(seccomp_filter[0])),
		"installing the system call filter");
}

void confine_job(const struct job *job)
{
	confine_self(job, &rights[job->ask->operation]);
}

void confine_reader(const struct job *job)
{
	const struct rlimit time = { READER_CPU_S, READER_CPU_S };

	must_do(step_result(kernel_close_range(CONFINE_CHANNEL, CONFINE_CHANNEL)),
		"closing the supervisor's channel");
	must_do(step_result(setrlimit(RLIMIT_CPU, &time)), "limiting its processor time");
	confine_self(job, &rights[LAYERS_PREVIEW]);
}
