/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-audit writes the audit log for one supervisor. The launcher starts it with a channel to that
 * supervisor, or to a gateway, and with the log's directory, which neither has. A peer that is
 * broken can add records that are false, but cannot change or remove what was recorded.
 *
 * Records arrive as numbers and short texts (common/ipc/audit_record.h), wait in a queue (queue.c),
 * become lines (line.c) and are added to the chain under the lock that the writers of all
 * supervisors of this user share (file.c, writer.c). The process reads no text but the end of the
 * log, and it waits for the lock so that no event loop has to.
 *
 * It is a steward (stewards/base/steward.h), and ends after its supervisor, once everything is
 * written.
 */
#include <errno.h>
#include <signal.h>

#include "common/confine/landlock.h"
#include "common/ipc/ipc_audit.h"
#include "common/log.h"
#include "file.h"
#include "seccomp_filter.h"
#include "stewards/base/steward.h"
#include "writer.h"

/* The rights that audit_file_add() needs; to rename is to make a file and to remove one. */
#define AUDIT_RIGHTS                                                                               \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                            \
	 LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_MAKE_REG |                               \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE)

static struct channel_message start;

static void on_alarm(int number)
{
	(void)number; /* the call that it interrupts is what matters */
}

int main(void)
{
	struct channel channel = { STEWARD_FD_CHANNEL, IPC_AUDIT, IPC_SUPERVISOR, IPC_SETUP };
	const struct sigaction alarm = { .sa_handler = on_alarm }; /* without SA_RESTART */
	int open_error;
	int error;

	steward_begin("msp-audit", STEWARD_FDS);
	if (sigaction(SIGALRM, &alarm, NULL) != 0)
		log_fatal(MSP_EXIT_SOFTWARE, "signals cannot be set: %s", errno_text(errno));
	steward_confine(AUDIT_RIGHTS, seccomp_filter,
			sizeof(seccomp_filter) / sizeof(seccomp_filter[0]));
	steward_hear_start(&channel, IPC_TYPE_audit_start, &start);
	open_error = audit_file_open(STEWARD_FD_DIRECTORY, ipc_body(&start, audit_start)->pid);
	error = writer_run(&channel, ipc_body(&start, audit_start)->path, open_error);
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "the supervisor broke the protocol: %s",
			  errno_text(-error));
	return 0;
}
