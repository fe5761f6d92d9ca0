/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-store keeps the files of persistent sandboxes for one supervisor: which there are, their
 * metas, checkpoints and layers' directories (store.h). The launcher starts it with a channel to
 * that supervisor and with the state directory, which its supervisor has not: a broken supervisor
 * can ask for what is in store.h, and can write nothing else of the user's.
 *
 * It is a steward (stewards/base/steward.h). It answers one question after the other (serve.c),
 * opens directories that msp-layers looks into, and reads no file but metas and counts of its own.
 * Landlock does not govern O_PATH, which the filter refuses: all that it can open is beneath its
 * directory. What is mounted it does not open at all (child-init/places.h). Several supervisors of
 * a user have one each: they meet in the locks of the directories (store.c).
 *
 * It ends with its supervisor, and its supervisor with it.
 */
#include "common/confine/landlock.h"
#include "common/ipc_store.h"
#include "common/log.h"
#include "inner.h"
#include "seccomp_filter.h"
#include "serve.h"
#include "stewards/base/steward.h"

/* The rights to make sandboxes and layers and move them to the trash. */
#define STORE_RIGHTS                                                                               \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                            \
	 LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                             \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REFER)

static struct channel_message start;
static struct ipc_store_answer opened;

int main(void)
{
	struct channel channel = { STEWARD_FD_CHANNEL, IPC_STORE, IPC_SUPERVISOR, IPC_SETUP };
	int error;

	steward_begin("msp-store", STEWARD_FDS);
	steward_confine(STORE_RIGHTS, seccomp_filter,
			sizeof(seccomp_filter) / sizeof(seccomp_filter[0]));
	steward_hear_start(&channel, IPC_TYPE_store_start, &start);
	error = store_open(STEWARD_FD_DIRECTORY);
	opened.error = (uint32_t)-error;
	if (channel_send(&channel, IPC_TYPE_store_answer, &opened, NULL, 0) != 0 || error)
		return 0; /* the supervisor has ended, or goes on without */
	error = store_serve(&channel);
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "the supervisor broke the protocol: %s",
			  errno_text(-error));
	return 0;
}
