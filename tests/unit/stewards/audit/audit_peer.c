/* SPDX-License-Identifier: Apache-2.0 */
#include "audit_peer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_audit.h"
#include "common/kernel.h"
#include "file.h"
#include "writer.h"

static void on_alarm(int number)
{
	(void)number;
}

static int run_writer(int end, const char *folder)
{
	static struct channel_message start;
	struct channel channel = { end, IPC_AUDIT, IPC_SUPERVISOR, IPC_SETUP };
	const struct sigaction alarm = { .sa_handler = on_alarm };
	enum ipc_error wrong;
	int error;

	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || sigaction(SIGALRM, &alarm, NULL) != 0 ||
	    channel_receive(&channel, &start, 0, &wrong) != 1)
		return 1;
	channel.phase = IPC_SERVE;
	error = audit_file_open(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				ipc_body(&start, audit_start)->pid);
	return writer_run(&channel, folder, error) == 0 ? 0 : 1;
}

struct audit_peer audit_peer_start(const char *folder)
{
	struct audit_peer peer;
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	peer.pid = fork();
	cr_assert_geq(peer.pid, 0);
	if (peer.pid == 0) {
		const int end = dup2(ends[1], STDERR_FILENO + 1);

		/* Others of its kind see the end of their channels by them alone. */
		_exit(kernel_close_range((unsigned int)end + 1, ~0U) == 0 ? run_writer(end, folder)
									  : 1);
	}
	fd_close(&ends[1]);
	peer.channel = ends[0];
	return peer;
}

void audit_peer_hello(const struct audit_peer *peer, const char *folder)
{
	const struct channel channel = { peer->channel, IPC_SUPERVISOR, IPC_AUDIT, IPC_SETUP };
	static struct ipc_audit_start start;

	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	start.pid = (uint32_t)getpid();
	(void)snprintf(start.path, sizeof(start.path), "%s", folder);
	cr_assert_eq(channel_send(&channel, IPC_TYPE_audit_start, &start, NULL, 0), 0);
}

/* Return whether the process sleeps: it waits for a record, where nobody else has the lock. */
static bool is_asleep(pid_t pid)
{
	char path[32], text[256];
	const char *state;
	ssize_t size;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	cr_assert_gt(size, 0);
	text[size] = '\0';
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

void audit_peer_settle(const struct audit_peer *peer)
{
	int waiting = 1;

	for (int i = 0; i < 100000; i++) {
		cr_assert_eq(ioctl(peer->channel, SIOCOUTQ, &waiting), 0);
		if (waiting == 0 && is_asleep(peer->pid))
			return;
		(void)usleep(200);
	}
	cr_assert_fail("the writer does not come to rest");
}

int audit_peer_end(struct audit_peer *peer)
{
	int status = 0;

	if (peer->pid <= 0)
		return 0;
	cr_assert_eq(waitpid(peer->pid, &status, 0), peer->pid);
	peer->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

size_t audit_peer_count(const char *folder, const char *text)
{
	static char content[AUDIT_FILE_BYTES + 1];
	char path[128], name[AUDIT_NAME_MAX];
	size_t count = 0;

	for (unsigned int i = 0; i <= AUDIT_KEPT; i++) {
		ssize_t size;
		int fd;

		audit_file_name(i, name);
		(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		size = fd < 0 ? 0 : read(fd, content, AUDIT_FILE_BYTES);
		fd_close(&fd);
		cr_assert_geq(size, 0);
		content[size] = '\0';
		for (const char *at = content; (at = strstr(at, text)); at++)
			count++;
	}
	return count;
}

void audit_peer_clear(const char *folder)
{
	char path[128], name[AUDIT_NAME_MAX];

	for (unsigned int i = 0; i <= AUDIT_KEPT; i++) {
		audit_file_name(i, name);
		(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
		(void)unlink(path); /* most are not there */
	}
	(void)snprintf(path, sizeof(path), "%s/%s", folder, AUDIT_HEAD);
	(void)unlink(path);
	cr_assert_eq(rmdir(folder), 0);
}
