/* SPDX-License-Identifier: Apache-2.0
 *
 * Every step is required: a step that fails ends the process with its name on stderr.
 */
#include "confine.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/confine/steps.h"
#include "common/ipc/ipc_layers.h"
#include "common/kernel.h"
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

/* WRITE with FIFOs and sockets, which a change moves away and an undo moves back. */
#define REPLACE (WRITE | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SOCK)

/* REPLACE with whiteouts, which are devices to the kernel, and with a workload's special files. */
#define MERGE (REPLACE | LANDLOCK_ACCESS_FS_MAKE_CHAR)

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
	[LAYERS_APPLY] = { REPLACE, SCAN_RIGHTS, READ, REPLACE, 0, true },
	[LAYERS_UNDO] = { REPLACE, SCAN_RIGHTS, READ, REPLACE, 0, true },
	[LAYERS_RECOVER] = { REPLACE, SCAN_RIGHTS, READ, REPLACE, 0, true },
	[LAYERS_MERGE] = { 0, LINK, LINK, 0, MERGE, true },
	[LAYERS_REMOVE] = { 0, 0, 0, 0, WRITE, true },
	[LAYERS_PREPARE] = { READ, WRITE, READ, 0, 0, true },
};

/* A history of 200,000 objects takes a few seconds. */
#define READER_CPU_S 60

/* Memory for a million differences. */
#define MEMORY_BYTES ((uint64_t)1 << 30)

static void allow_role(int ruleset, const struct kernel_landlock_ruleset *attr, int directory,
		       uint64_t wanted)
{
	if (directory >= 0)
		confine_require(landlock_allow(ruleset, attr, directory, wanted),
				"allowing a directory in Landlock");
}

static void enter_landlock(const struct job_directories *directories, const struct rights *wanted)
{
	struct kernel_landlock_ruleset attr;
	const int ruleset = confine_ruleset(LANDLOCK_NET_ALL, &attr);

	allow_role(ruleset, &attr, directories->host, wanted->host);
	for (uint32_t i = 0; i < directories->layer_count; i++)
		allow_role(ruleset, &attr, directories->layers[i],
			   i == 0 ? wanted->highest : wanted->layers);
	for (uint32_t i = 0; i < directories->since_count; i++)
		allow_role(ruleset, &attr, directories->since[i], wanted->layers);
	allow_role(ruleset, &attr, directories->journal, wanted->journal);
	allow_role(ruleset, &attr, directories->target, wanted->target);
	confine_enter(ruleset);
}

static void confine_self(const struct job *job, const struct rights *wanted)
{
	confine_require(signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0, "ignoring SIGPIPE");
	confine_privileges(); /* a core would hold what a job took over */
	confine_limit(RLIMIT_AS, MEMORY_BYTES, "limiting its memory");
	confine_require(capabilities_set(0), "dropping capabilities");
	enter_landlock(&job->directories, wanted);
	if (wanted->is_writing)
		confine_install_write_filter();
	else
		CONFINE_FILTER(seccomp_filter);
}

void confine_job(const struct job *job)
{
	confine_self(job, &rights[job->ask->operation]);
}

void confine_reader(const struct job *job)
{
	confine_require(confine_result(kernel_close_range(CONFINE_CHANNEL, CONFINE_CHANNEL)),
			"closing the supervisor's channel");
	confine_limit(RLIMIT_CPU, READER_CPU_S, "limiting its processor time");
	confine_self(job, &rights[LAYERS_PREVIEW]);
}
