/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-audit writes the audit log for one supervisor. The launcher starts it with a channel to that
 * supervisor and with the log's directory; nobody else has that directory. A supervisor that is
 * broken can add records that are false, but cannot change or remove what was recorded.
 *
 * Records arrive as numbers and short texts (common/audit_record.h), wait in a queue (queue.c),
 * become lines (line.c) and are added to the chain under the lock that the writers of all
 * supervisors of this user share (file.c, writer.c). The process reads no text but the end of the
 * log, and it waits for the lock so that no event loop has to.
 *
 * It ends after its supervisor, once everything is written, and ignores the signals that end
 * others: it is in a session of its own.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/confine/relro.h"
#include "common/log.h"
#include "confine.h"
#include "file.h"
#include "writer.h"

static struct channel_message start;

static void on_alarm(int number)
{
	(void)number; /* the call that it interrupts is what matters */
}

static void set_signals(void)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ };
	const struct sigaction alarm = { .sa_handler = on_alarm }; /* without SA_RESTART */
	sigset_t none;

	(void)setsid(); /* a leader has its own already */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		if (signal(ignored[i], SIG_IGN) == SIG_ERR)
			log_fatal(MSP_EXIT_SOFTWARE, "signals cannot be set: %s",
				  errno_text(errno));
	}
	if (sigaction(SIGALRM, &alarm, NULL) != 0 || sigemptyset(&none) != 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) != 0)
		log_fatal(MSP_EXIT_SOFTWARE, "signals cannot be set: %s", errno_text(errno));
}

/* Receive the first message. */
static void hear_start(const struct channel *channel)
{
	enum ipc_error wrong = IPC_OK;
	const int status = channel_receive(channel, &start, 0, &wrong);

	if (status == 0)
		_exit(0); /* the supervisor has ended before it began */
	if (status < 0 || start.type != IPC_TYPE_audit_start ||
	    memcmp(start.body.audit_start.schema, ipc_schema_hash, sizeof(ipc_schema_hash)) != 0)
		log_fatal(MSP_EXIT_SOFTWARE,
			  "descriptor %d is not a supervisor of this version (%s): start msp "
			  "instead",
			  AUDIT_FD_CHANNEL,
			  wrong ? ipc_error_text(wrong)
				: errno_text(status < 0 ? -status : EPROTO));
}

int main(void)
{
	struct channel channel = { AUDIT_FD_CHANNEL, IPC_AUDIT, IPC_SUPERVISOR, IPC_SETUP };
	int open_error;
	int error;

	log_set_name("msp-audit");
	error = relro_protect();
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "cannot protect its own tables: %s",
			  errno_text(-error));
	confine_descriptors();
	set_signals();
	confine_audit();
	hear_start(&channel);
	channel.phase = IPC_SERVE;
	open_error = audit_file_open(AUDIT_FD_DIRECTORY, start.body.audit_start.pid);
	error = writer_run(&channel, start.body.audit_start.path, open_error);
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "the supervisor broke the protocol: %s",
			  errno_text(-error));
	return 0;
}
