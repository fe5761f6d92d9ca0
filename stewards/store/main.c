/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-store keeps the files of persistent sandboxes for one supervisor: which there are, their
 * metas, checkpoints and layers' directories (store.h). The launcher starts it with a channel to
 * that supervisor and with the state directory, which its supervisor has not: a broken supervisor
 * can ask for what is in store.h, and can write nothing else of the user's.
 *
 * It is a steward (stewards/base/steward.h). It answers one question after the other, between
 * which it keeps nothing: a question brings the meta that it is about, and the answer brings what
 * became of it. It opens directories that msp-layers looks into, and reads no file but metas and
 * counts of its own. Landlock does not govern O_PATH, which the filter refuses: all that it can
 * open is beneath its directory. What is mounted it does not open at all (child-init/places.h).
 * Several supervisors of a user have one each: they meet in the locks of the directories (store.c).
 *
 * It ends with its supervisor, and its supervisor with it.
 */
#include <errno.h>
#include <string.h>

#include "common/confine/landlock.h"
#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "common/log.h"
#include "inner.h"
#include "seccomp_filter.h"
#include "stewards/base/steward.h"

_Static_assert(sizeof(struct store_meta) == IPC_STORE_META_BYTES &&
		       STORE_ID_BYTES == IPC_STORE_ID_BYTES,
	       "the messages have room for it");

/* Parts that an operation needs of its question and gives to its answer. */
enum part {
	PART_NOTHING,
	PART_META = 1,
	PART_SANDBOX = 2,   /* its directory */
	PART_DIRECTORY = 4, /* the result, which may lock a sandbox */
	PART_FILE = 8,      /* the result */
};

#define PART_FDS (PART_DIRECTORY | PART_FILE)

static struct store_meta meta; /* the question's, then the answer's */
static struct store_meta made;
static struct ipc_store_answer answer;
static int sandbox = -1; /* the question's directory */

static int put_id(void *context, const char id[IPC_ID_MAX])
{
	if (answer.ids_size + IPC_ID_MAX > sizeof(answer.ids))
		return -EOVERFLOW;
	memcpy(answer.ids + answer.ids_size, id, IPC_ID_MAX);
	answer.ids_size += IPC_ID_MAX;
	return 0;
}

/* An operation that is one call. */
#define OPERATION(name, call)                                                                      \
	static int do_##name(const struct ipc_store_ask *ask)                                      \
	{                                                                                          \
		return call;                                                                       \
	}

/* The ids of destroyed sandboxes come first, and remain where the list cannot be whole. */
static int do_list(const struct ipc_store_ask *ask)
{
	if (ask->number > 0)
		(void)store_sweep(put_id, NULL); /* on an error they stay and are listed */

	const uint32_t size = answer.ids_size;
	const int error = store_each(put_id, NULL);

	if (error)
		answer.ids_size = size;
	return error ? error : (int)(size / IPC_ID_MAX);
}

OPERATION(find, store_find(ask->owner, ask->name, answer.census.id))

static int do_look(const struct ipc_store_ask *ask)
{
	bool is_taken = false;
	const int error = store_look(ask->name, &meta, &answer.used_s, &is_taken);

	answer.is_taken = is_taken;
	return error;
}

OPERATION(take, store_take(ask->name, &meta))
OPERATION(create, store_create(&meta, &answer.census))

OPERATION(count, (store_count(sandbox, &meta, ask->bytes, ask->inodes), 0))
OPERATION(mark, store_mark(sandbox))
OPERATION(unmark, store_unmark(sandbox))
OPERATION(destroy, store_is_id(ask->name) ? store_destroy(ask->name) : -EINVAL)
OPERATION(discard, store_discard(ask->name))

OPERATION(checkpoint, store_checkpoint(sandbox, &meta, ask->name, &(struct store_checkpoint){ 0 }))
OPERATION(rollback, store_rollback(sandbox, &meta, ask->number))
OPERATION(forget, store_forget(sandbox, &meta, ask->number))

static int do_fork(const struct ipc_store_ask *ask)
{
	const int fd = store_fork(sandbox, &meta, ask->number, ask->name, &answer.census, &made);

	if (fd >= 0) {
		answer.made_size = sizeof(made);
		memcpy(answer.made, &made, sizeof(made));
	}
	return fd;
}

OPERATION(merge_target, store_merge_target(sandbox))

static int do_merge_done(const struct ipc_store_ask *ask)
{
	struct store_merge merge = { .count = ask->ids_size / STORE_ID_BYTES };

	if (merge.count == 0)
		return -EINVAL;
	memcpy(merge.ids, ask->ids, ask->ids_size);
	return store_merge_done(sandbox, &meta, &merge, ask->bytes, ask->inodes);
}

/* A question about one layer has its id in place of the meta. */
static bool take_layer(const struct ipc_store_ask *ask)
{
	if (ask->ids_size != STORE_ID_BYTES)
		return false;
	meta.layer_count = 1;
	meta.upper = 0;
	memcpy(meta.layers[0].id, ask->ids, STORE_ID_BYTES);
	return true;
}

OPERATION(layer, take_layer(ask) ? store_layer(&meta, 0) : -EINVAL)
OPERATION(journal, store_journal(sandbox))
OPERATION(interrupted, store_is_interrupted(sandbox))
OPERATION(is_empty, store_is_empty(&meta))
OPERATION(trash, store_trash())
OPERATION(cuts, store_cuts(sandbox))

static const struct operation {
	int (*run)(const struct ipc_store_ask *ask);
	unsigned int needs; /* PART_META, PART_SANDBOX */
	unsigned int gives; /* on success; PART_META also of a failure that changed it */
} operations[STORE_DO_COUNT_OF] = {
	[STORE_DO_LIST] = { do_list, PART_NOTHING, PART_NOTHING },
	[STORE_DO_FIND] = { do_find, PART_NOTHING, PART_NOTHING },
	[STORE_DO_LOOK] = { do_look, PART_NOTHING, PART_META },
	[STORE_DO_TAKE] = { do_take, PART_NOTHING, PART_META | PART_DIRECTORY },
	[STORE_DO_CREATE] = { do_create, PART_META, PART_META | PART_DIRECTORY },
	[STORE_DO_COUNT] = { do_count, PART_META | PART_SANDBOX, PART_META },
	[STORE_DO_MARK] = { do_mark, PART_SANDBOX, PART_NOTHING },
	[STORE_DO_UNMARK] = { do_unmark, PART_SANDBOX, PART_NOTHING },
	[STORE_DO_DESTROY] = { do_destroy, PART_NOTHING, PART_NOTHING },
	[STORE_DO_DISCARD] = { do_discard, PART_NOTHING, PART_NOTHING },
	[STORE_DO_CHECKPOINT] = { do_checkpoint, PART_META | PART_SANDBOX, PART_META },
	[STORE_DO_ROLLBACK] = { do_rollback, PART_META | PART_SANDBOX, PART_META },
	[STORE_DO_FORGET] = { do_forget, PART_META | PART_SANDBOX, PART_META },
	[STORE_DO_FORK] = { do_fork, PART_META | PART_SANDBOX, PART_META | PART_DIRECTORY },
	[STORE_DO_MERGE_TARGET] = { do_merge_target, PART_SANDBOX, PART_DIRECTORY },
	[STORE_DO_MERGE_DONE] = { do_merge_done, PART_META | PART_SANDBOX, PART_META },
	[STORE_DO_LAYER] = { do_layer, PART_NOTHING, PART_DIRECTORY },
	[STORE_DO_JOURNAL] = { do_journal, PART_SANDBOX, PART_DIRECTORY },
	[STORE_DO_INTERRUPTED] = { do_interrupted, PART_SANDBOX, PART_NOTHING },
	[STORE_DO_IS_EMPTY] = { do_is_empty, PART_META, PART_NOTHING },
	[STORE_DO_TRASH] = { do_trash, PART_NOTHING, PART_DIRECTORY },
	[STORE_DO_CUTS] = { do_cuts, PART_SANDBOX, PART_FILE },
};

/* Take over what the question brings. A meta that is new has neither layers nor magic yet. */
static int take_question(const struct ipc_store_ask *ask, const struct operation *operation)
{
	ipc_clear(IPC_TYPE_store_answer, &answer);
	answer.census.sandboxes_max = ask->census.sandboxes_max;
	answer.census.bytes_max = ask->census.bytes_max;
	if ((operation->needs & PART_SANDBOX) != (sandbox >= 0 ? PART_SANDBOX : PART_NOTHING) ||
	    (operation->needs & PART_META) !=
		    (ask->meta_size == sizeof(meta) ? PART_META : PART_NOTHING))
		return -EPROTO;
	if (!(operation->needs & PART_META))
		return 0;
	memcpy(&meta, ask->meta, sizeof(meta));
	if (ask->operation != STORE_DO_CREATE)
		return store_is_sound(&meta) ? 0 : -EPROTO;
	meta.name[sizeof(meta.name) - 1] = meta.owner[sizeof(meta.owner) - 1] = '\0';
	return 0; /* store_write() checks the rest */
}

static void put_result(const struct operation *operation, int result)
{
	const bool has_fd = result >= 0 && (operation->gives & PART_FDS);

	answer.error = result < 0 ? (uint32_t)-result : 0;
	answer.value = has_fd ? 1 : result > 0 ? (uint32_t)result : 0;
	if (operation->gives & PART_META && (result >= 0 || operation->needs & PART_META) &&
	    store_is_sound(&meta)) {
		answer.meta_size = sizeof(meta);
		memcpy(answer.meta, &meta, sizeof(meta));
	}
}

/* A descriptor goes before its answer. */
static int send_answer(const struct channel *channel, const struct operation *operation, int result)
{
	static const struct ipc_store_directory directory;
	static const struct ipc_store_file file;
	int error = 0;

	put_result(operation, result);
	if (result >= 0 && operation->gives & PART_DIRECTORY)
		error = channel_send(channel, IPC_TYPE_store_directory, &directory, &result, 0);
	else if (result >= 0 && operation->gives & PART_FILE)
		error = channel_send(channel, IPC_TYPE_store_file, &file, &result, 0);
	if (operation->gives & PART_FDS)
		fd_close(&result);
	return error ? error : channel_send(channel, IPC_TYPE_store_answer, &answer, NULL, 0);
}

static int answer_question(const struct channel *channel, const struct ipc_store_ask *ask)
{
	const struct operation *operation =
		ask->operation < STORE_DO_COUNT_OF ? &operations[ask->operation] : NULL;
	int error = operation ? take_question(ask, operation) : -EPROTO;

	if (!error)
		error = send_answer(channel, operation, operation->run(ask));
	fd_close(&sandbox);
	return error;
}

/* A note is lost where it cannot be written: no request depends on it. */
static void take_note(struct channel_message *message)
{
	const struct ipc_store_note *from = ipc_body(message, store_note);
	int fd = channel_take_fd(message, 0);

	(void)store_note(fd, &from->note);
	fd_close(&fd);
}

/* Answer questions until the supervisor has ended. 0; -errno: it broke the protocol. */
static int serve_store(const struct channel *channel)
{
	static struct channel_message message;
	enum ipc_error wrong;
	int status;

	while ((status = channel_receive(channel, &message, 0, &wrong)) == 1) {
		if (message.type == IPC_TYPE_store_sandbox && sandbox < 0)
			sandbox = channel_take_fd(&message, 0);
		else if (message.type == IPC_TYPE_store_note)
			take_note(&message);
		else if (message.type == IPC_TYPE_store_ask)
			status = answer_question(channel, ipc_body(&message, store_ask));
		else
			status = -EPROTO;
		if (status < 0)
			break;
	}
	return status == -EPIPE || status == -ECONNRESET ? 0 : status;
}

/* The rights to make sandboxes and layers and move them to the trash. */
#define STORE_RIGHTS                                                                               \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                            \
	 LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                             \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REFER)

static struct channel_message start;

int main(void)
{
	struct channel channel = { STEWARD_FD_CHANNEL, IPC_STORE, IPC_SUPERVISOR, IPC_SETUP };
	int error;

	steward_begin("msp-store", STEWARD_FDS);
	steward_confine(STORE_RIGHTS, seccomp_filter,
			sizeof(seccomp_filter) / sizeof(seccomp_filter[0]));
	steward_hear_start(&channel, IPC_TYPE_store_start, &start);
	error = store_open(STEWARD_FD_DIRECTORY);
	answer.error = (uint32_t)-error;
	if (channel_send(&channel, IPC_TYPE_store_answer, &answer, NULL, 0) != 0 || error)
		return 0; /* the supervisor has ended, or goes on without */
	error = serve_store(&channel);
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "the supervisor broke the protocol: %s",
			  errno_text(-error));
	return 0;
}
