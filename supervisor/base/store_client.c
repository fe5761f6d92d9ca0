/* SPDX-License-Identifier: Apache-2.0
 *
 * Each question has its answer before anything else is done: what the disk takes, requests wait for
 * in any case.
 */
#include "base/store_client.h"

#include <errno.h>
#include <string.h>

#include "base/loop.h"
#include "base/state.h"
#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_store.h"
#include "common/log.h"
#include "stewards/store/store.h"

/* A part of a meta that is compared, and copied, as one. */
#define SPARSE_BYTES 512

static struct channel channel = { -1, IPC_SUPERVISOR, IPC_STORE, IPC_SETUP };
static struct loop_watch watch;
static struct ipc_store_ask ask;
static struct channel_message message;
static struct ipc_store_answer no_answer;
static const struct ipc_store_answer *answer = &no_answer; /* the last one */

static int lose_store(const char *why)
{
	if (channel.fd < 0)
		return -EPIPE;
	loop_close(&watch, &channel.fd);
	log_line("the files of persistent sandboxes are out of reach: %s", why);
	state_end(MSP_EXIT_SOFTWARE);
	return -EPIPE;
}

/* msp-store sends nothing without a question. */
static void on_ready(void *context)
{
	(void)lose_store("msp-store ended");
}

/* A descriptor comes before the answer that it belongs to; *ret_fd is -EMFILE where there was no
 * room for it. */
static int receive_answer(int *ret_fd)
{
	enum ipc_error wrong = IPC_OK;
	int status;

	while ((status = channel_receive(&channel, &message, 0, &wrong)) != 1 ||
	       message.type != IPC_TYPE_store_answer) {
		if (status == -EMFILE)
			*ret_fd = -EMFILE;
		else if (status == 1 && *ret_fd == -1 &&
			 (message.type == IPC_TYPE_store_directory ||
			  message.type == IPC_TYPE_store_file))
			*ret_fd = channel_take_fd(&message, 0);
		else if (status != -EINTR)
			return lose_store(wrong ? ipc_error_text(wrong) : "msp-store ended");
	}
	answer = ipc_body(&message, store_answer);
	return 0;
}

/* Most of a meta is nothing, and a page of a table that was never written to takes no memory. */
static void copy_sparsely(struct store_meta *to, const void *from)
{
	for (size_t at = 0, size; at < sizeof(*to); at += size) {
		size = sizeof(*to) - at < SPARSE_BYTES ? sizeof(*to) - at : SPARSE_BYTES;
		if (memcmp((char *)to + at, (const char *)from + at, size) != 0)
			memcpy((char *)to + at, (const char *)from + at, size);
	}
}

/* Check here too that a walk along the layers ends. */
static int read_meta(const uint8_t *bytes, uint32_t size, struct store_meta *ret)
{
	static struct store_meta found;

	if (!ret || size == 0)
		return 0;
	memcpy(&found, bytes, sizeof(found));
	if (size != sizeof(found) || !store_is_sound(&found))
		return lose_store("msp-store sent a meta that cannot be");
	copy_sparsely(ret, &found);
	return 0;
}

static void begin_question(uint32_t operation, const struct store_meta *meta)
{
	memset(&ask, 0, offsetof(struct ipc_store_ask, ids));
	ask.operation = operation;
	ask.meta_size = meta ? sizeof(*meta) : 0;
	if (meta)
		memcpy(ask.meta, meta, sizeof(*meta));
}

/* A name that is too long is nobody's; the end of the field is 0 already. */
static void set_name(const char *text)
{
	(void)strncpy(ask.name, text, sizeof(ask.name) - 1);
}

/* Send the question, which is about the sandbox of this directory (-1: of none), and copy the metas
 * of the answer. The result: -errno, a number, or a descriptor. */
static int ask_store(int sandbox, struct store_meta *meta, struct store_meta *made)
{
	static const struct ipc_store_sandbox about;
	int error = channel.fd < 0 ? -EPIPE : 0;
	int fd = -1;

	if (!error && sandbox >= 0)
		error = channel_send(&channel, IPC_TYPE_store_sandbox, &about, &sandbox, 0);
	if (!error)
		error = channel_send(&channel, IPC_TYPE_store_ask, &ask, NULL, 0);
	if (error)
		return lose_store(errno_text(-error));
	error = receive_answer(&fd);
	if (!error)
		error = read_meta(answer->meta, answer->meta_size, meta);
	if (!error)
		error = read_meta(answer->made, answer->made_size, made);
	if (!error && answer->error)
		error = -(int)answer->error;
	if (!error)
		return fd != -1 ? fd : (int)answer->value;
	fd_close(&fd);
	return error;
}

int store_connect(int socket)
{
	struct ipc_store_start start;
	int error;
	int fd = -1;

	channel.fd = socket;
	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	error = channel_send(&channel, IPC_TYPE_store_start, &start, NULL, 0);
	channel.phase = IPC_SERVE;
	if (!error)
		error = receive_answer(&fd);
	if (!error && answer->error)
		error = -(int)answer->error;
	if (!error)
		error = loop_add(&watch, channel.fd, on_ready, NULL);
	if (error)
		fd_close(&channel.fd);
	return error;
}

/* --- questions, as stewards/store/store.h has them
 * ----------------------------------------------------- */

/* A question that is one call. */
#define QUESTION(type, name, parameters, call)                                                     \
	type name parameters                                                                       \
	{                                                                                          \
		return call;                                                                       \
	}

/* The ids of the answer are copied, since those who are told ask questions too. */
int store_list(int (*destroyed)(void *context, const char id[IPC_ID_MAX]),
	       int (*each)(void *context, const char id[IPC_ID_MAX]), void *context)
{
	static char ids[IPC_STORE_IDS_MAX];
	uint32_t size;
	int result;

	begin_question(STORE_DO_LIST, NULL);
	ask.number = destroyed != NULL;
	result = ask_store(-1, NULL, NULL);
	size = channel.fd < 0 ? 0 : answer->ids_size;
	memcpy(ids, answer->ids, size);
	for (uint32_t i = 0; ((size_t)i + 1) * IPC_ID_MAX <= size; i++) {
		const bool is_first = result < 0 || i < (uint32_t)result;
		char *id = ids + (size_t)i * IPC_ID_MAX;

		id[IPC_ID_MAX - 1] = '\0';
		if (store_is_id(id) && (destroyed || !is_first))
			(void)(is_first ? destroyed : each)(context, id);
	}
	return result;
}

bool store_find(const char *owner, const char *name, char ret[IPC_ID_MAX])
{
	begin_question(STORE_DO_FIND, NULL);
	set_name(name);
	(void)strncpy(ask.owner, owner, sizeof(ask.owner) - 1);
	if (ask_store(-1, NULL, NULL) != 1)
		return false;
	memcpy(ret, answer->census.id, IPC_ID_MAX);
	ret[IPC_ID_MAX - 1] = '\0';
	return store_is_id(ret);
}

static int ask_named(uint32_t operation, const char *id, struct store_meta *ret)
{
	begin_question(operation, NULL);
	set_name(id);
	return ask_store(-1, ret, NULL);
}

int store_look(const char *id, struct store_meta *ret, uint64_t *ret_used_s, bool *ret_is_taken)
{
	const int error = ask_named(STORE_DO_LOOK, id, ret);

	*ret_used_s = answer->used_s;
	*ret_is_taken = answer->is_taken != 0;
	return error;
}

QUESTION(int, store_take, (const char *id, struct store_meta *ret),
	 ask_named(STORE_DO_TAKE, id, ret))

static int ask_census(int sandbox, struct store_meta *meta, struct store_meta *made,
		      struct store_census *census)
{
	int result;

	ask.census = *census;
	result = ask_store(sandbox, meta, made);
	*census = answer->census;
	census->id[IPC_ID_MAX - 1] = '\0';
	return result;
}

int store_create(struct store_meta *meta, struct store_census *census)
{
	begin_question(STORE_DO_CREATE, meta);
	return ask_census(-1, meta, NULL, census);
}

int store_fork(int sandbox, struct store_meta *meta, uint32_t number, const char *name,
	       struct store_census *census, struct store_meta *ret)
{
	begin_question(STORE_DO_FORK, meta);
	ask.number = number;
	set_name(name);
	return ask_census(sandbox, meta, ret, census);
}

void store_count(int sandbox, struct store_meta *meta, uint64_t bytes, uint64_t inodes)
{
	begin_question(STORE_DO_COUNT, meta);
	ask.bytes = bytes;
	ask.inodes = inodes;
	(void)ask_store(sandbox, meta, NULL); /* it fails with msp-store alone */
}

static int ask_about(uint32_t operation, const struct store_meta *meta, int sandbox)
{
	begin_question(operation, meta);
	return ask_store(sandbox, NULL, NULL);
}

QUESTION(int, store_mark, (int sandbox), ask_about(STORE_DO_MARK, NULL, sandbox))
QUESTION(int, store_unmark, (int sandbox), ask_about(STORE_DO_UNMARK, NULL, sandbox))

QUESTION(int, store_destroy, (const char *id), ask_named(STORE_DO_DESTROY, id, NULL))
QUESTION(int, store_discard, (const char *id), ask_named(STORE_DO_DISCARD, id, NULL))

int store_note(int sandbox, const struct history_note *note)
{
	const struct ipc_store_note asked = { .note = *note };
	const int error =
		channel.fd < 0 ? -EPIPE
			       : channel_send(&channel, IPC_TYPE_store_note, &asked, &sandbox, 0);

	return error ? lose_store(errno_text(-error)) : 0;
}

static int change_meta(uint32_t operation, int sandbox, struct store_meta *meta, uint32_t number,
		       const char *name)
{
	begin_question(operation, meta);
	ask.number = number;
	set_name(name);
	return ask_store(sandbox, meta, NULL);
}

int store_checkpoint(int sandbox, struct store_meta *meta, const char *name,
		     struct store_checkpoint *ret)
{
	const int error = change_meta(STORE_DO_CHECKPOINT, sandbox, meta, 0, name);

	if (!error)
		*ret = meta->checkpoints[meta->checkpoint_count - 1];
	return error;
}

QUESTION(int, store_rollback, (int sandbox, struct store_meta *meta, uint32_t number),
	 change_meta(STORE_DO_ROLLBACK, sandbox, meta, number, ""))
QUESTION(int, store_forget, (int sandbox, struct store_meta *meta, uint32_t number),
	 change_meta(STORE_DO_FORGET, sandbox, meta, number, ""))
QUESTION(int, store_merge_target, (int sandbox), ask_about(STORE_DO_MERGE_TARGET, NULL, sandbox))

int store_merge_done(int sandbox, struct store_meta *meta, const struct store_merge *merge,
		     uint64_t bytes, uint64_t inodes)
{
	begin_question(STORE_DO_MERGE_DONE, meta);
	ask.ids_size = merge->count * STORE_ID_BYTES;
	memcpy(ask.ids, merge->ids, ask.ids_size);
	ask.bytes = bytes;
	ask.inodes = inodes;
	return ask_store(sandbox, meta, NULL);
}

int store_layer(const struct store_meta *meta, uint32_t layer)
{
	if (layer >= meta->layer_count)
		return -ENOENT;
	begin_question(STORE_DO_LAYER, NULL);
	ask.ids_size = STORE_ID_BYTES;
	memcpy(ask.ids, meta->layers[layer].id, STORE_ID_BYTES);
	return ask_store(-1, NULL, NULL);
}

QUESTION(int, store_cuts, (int sandbox), ask_about(STORE_DO_CUTS, NULL, sandbox))
QUESTION(int, store_journal, (int sandbox), ask_about(STORE_DO_JOURNAL, NULL, sandbox))
QUESTION(bool, store_is_empty, (const struct store_meta *meta),
	 ask_about(STORE_DO_IS_EMPTY, meta, -1) == 1)

/* If it cannot be found out, an apply may have been. */
QUESTION(bool, store_is_interrupted, (int sandbox),
	 ask_about(STORE_DO_INTERRUPTED, NULL, sandbox) != 0)
QUESTION(int, store_trash, (void), ask_about(STORE_DO_TRASH, NULL, -1))
