/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation. One process does one piece of work: the supervisor, which never reads what a
 * workload wrote, hands over directories, says what is to be done, and gets one answer. Started by
 * the factory as a helper, in namespaces of its own with nothing but the system's libraries in
 * sight; before the first byte of a workload's files is read it gives up all but those directories,
 * and in them all but what the operation needs (confine.c).
 *
 * tree.c compares layers with the host's workspace or another state, by overlayfs' rules (stack.c),
 * beneath directories that it never leaves (beneath.c); base.c knows what the host's files were;
 * diff.c tells of it, scan.c counts, apply.c and what belongs to it changes the host's files.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_layers.h"
#include "common/log.h"
#include "confine.h"
#include "layers/base/beneath.h"
#include "layers/base/job.h"
#include "layers/base/progress.h"
#include "layers/base/remove.h"
#include "layers/branches/commits.h"
#include "layers/changes/gitdiff.h"
#include "layers/merger/ancestor.h"

/* Most bytes of a list of paths. */
#define LIST_BYTES_MAX (16 << 20)

static struct ipc_layers_do ask;
static uint8_t buffer[JOB_BUFFER_BYTES];
static struct job job = { .ask = &ask, .output = -1, .buffer = buffer };
static bool is_asked;

static int add_to(int *list, uint32_t *count, int directory)
{
	if (*count == LAYERS_MAX)
		return -EPROTO;
	list[(*count)++] = directory;
	return 0;
}

static int set_once(int *place, int directory)
{
	if (*place >= 0)
		return -EPROTO;
	*place = directory;
	return 0;
}

static int handle_host(void *context, struct channel_message *message)
{
	return set_once(&job.directories.host, channel_take_fd(message, 0));
}

static int handle_directory(void *context, struct channel_message *message)
{
	struct job_directories *all = &job.directories;
	const uint32_t role = ipc_body(message, layers_directory)->role;
	int directory = channel_take_fd(message, 0);

	if (role == LAYERS_LAYER)
		return add_to(all->layers, &all->layer_count, directory);
	if (role == LAYERS_SINCE)
		return add_to(all->since, &all->since_count, directory);
	if (role == LAYERS_JOURNAL || role == LAYERS_TARGET)
		return set_once(role == LAYERS_JOURNAL ? &all->journal : &all->target, directory);
	fd_close(&directory);
	return -EPROTO;
}

/* Take a list of paths, for the rest of the process. */
static int take_list(struct channel_message *message, uint32_t index, const char **ret,
		     size_t *ret_size)
{
	char *bytes = NULL;
	const int error =
		beneath_text_of(channel_take_fd(message, index), LIST_BYTES_MAX, &bytes, ret_size);

	*ret = bytes;
	return error;
}

static int handle_do(void *context, struct channel_message *message)
{
	const struct ipc_layers_do *wanted = ipc_body(message, layers_do);
	int error;

	if (memcmp(wanted->schema, ipc_schema_hash, sizeof(ipc_schema_hash)) != 0) {
		log_line("the supervisor is of another version");
		return -EPROTO;
	}
	ask = *wanted;
	is_asked = true;
	error = take_list(message, 0, &job.chosen, &job.chosen_size);
	return error ? error : take_list(message, 1, &job.named, &job.named_size);
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_layers_host] = handle_host,
	[IPC_TYPE_layers_directory] = handle_directory,
	[IPC_TYPE_layers_do] = handle_do,
};

static void receive_job(const struct channel *channel)
{
	static struct channel_message message;

	job.directories.host = job.directories.journal = job.directories.target = -1;
	while (!is_asked) {
		enum ipc_error error = IPC_OK;
		const int status = dispatch_one(channel, &message, 0, handlers, NULL, &error);

		if (status == 0)
			_exit(0); /* the supervisor is gone, and nobody asks any more */
		if (status < 0)
			log_fatal(MSP_EXIT_SOFTWARE, "the supervisor's message is wrong: %s",
				  error ? ipc_error_text(error) : errno_text(-status));
	}
	if (!job_is_right(&job))
		log_fatal(MSP_EXIT_SOFTWARE, "the supervisor asks for what it cannot have");
}

/* Answer; the supervisor may have gone. */
static void send_answer(const struct channel *channel)
{
	(void)channel_send(channel, IPC_TYPE_layers_done, &job.done, NULL, 0);
}

int main(void)
{
	const struct channel channel = { .fd = CONFINE_CHANNEL,
					 .self = IPC_LAYERS,
					 .peer = IPC_SUPERVISOR,
					 .phase = IPC_SERVE };
	int error = 0;

	log_set_name("msp-layers");
	confine_keep_channel(CONFINE_CHANNEL, false);
	receive_job(&channel);
	if (fd_is_kind(STDOUT_FILENO, 'p'))
		job.output = STDOUT_FILENO;
	progress_begin(job.output);
	if (ask.flags & (CHANGES_TEXT | CHANGES_TEXT_HELD))
		error = gitdiff_load();
	job.confine_reader = confine_reader;
	if (ask.operation == LAYERS_REMOVE)
		error = remove_detach();
	if (!error && (ask.operation == LAYERS_DIFF || ask.operation == LAYERS_PREVIEW ||
		       ask.operation == LAYERS_APPLY))
		error = commits_begin(&job, answer_merge);
	confine_job(&job);
	if (!error && ask.operation == LAYERS_REMOVE)
		send_answer(&channel); /* the supervisor need not wait */
	if (error) {
		job.done.error = (uint32_t)-error;
		job.done.step = CHANGES_STEP_OUTPUT;
	} else {
		error = job_run(&job);
	}
	send_answer(&channel);
	_exit(error ? MSP_EXIT_SOFTWARE : 0);
}
