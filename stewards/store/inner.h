/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner interface of the store's parts: meta.c has what a meta says, meta_file.c its file,
 * store.c the directories and their locks, survey.c the sums over all sandboxes, layers.c the
 * changes of layers.
 */
#ifndef STEWARDS_STORE_INNER_H
#define STEWARDS_STORE_INNER_H

#include "stewards/store/store.h"

struct store_census;

/* Directories of the state directory, open for reading; -1 before store_open(). */
struct store_places {
	int state;
	int lock; /* `state`, opened again for its lock alone */
	int sandboxes;
	int layers;
	int trash;
	int stamp; /* a file: the index of survey.c; or -1 */
};

extern struct store_places store_places;

/* An id as text: 128 bits in Crockford's base 32. */
#define STORE_ID_CHARS (IPC_ID_MAX - 1)
#define STORE_ID_DIGITS IPC_ID_DIGITS

#define STORE_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Take over the state directory: everything else needs it. 0 or -errno. After an error no
 * other function may be called. */
int store_open(int directory);

/* The lock of the state directory: 0, or -EAGAIN when it could not be had. */
int store_lock(void);
void store_unlock(void);

/* Call for each name in the directory `name` of `dir` but those of itself and the one above, until
 * the function returns other than 0, which is returned; or -errno. */
int store_each_name(int dir, const char *name, int (*each)(void *context, const char *name),
		    void *context);

/* Return whether a directory has an entry, other than `but` (NULL: any): 1, 0, or -errno. */
int store_has_any(int dir, const char *name, const char *but);

/* Open a sandbox's directory for reading: it or -errno. */
int store_open_sandbox(const char *id);

/* The meta of the sandbox's directory `dir`, which is called `id`: 0, -ENOENT (or empty), -EBADMSG
 * (what was read, if it was, is in *ret), another -errno. Checked for what it says, and where
 * `is_whole` also its hash. */
int store_read(int dir, const char *id, bool is_whole, struct store_meta *ret);

/* Read the meta of the sandbox `id` as store_read() does; its directory is opened for that. */
int store_peek(const char *id, bool is_whole, struct store_meta *ret);

/* An id's bytes; false: the text is none. */
bool store_id_bytes(const char *text, uint8_t ret[STORE_ID_BYTES]);

/* The index of a layer of the meta; STORE_NO_LAYER: it has none with this id. */
uint32_t store_layer_find(const struct store_meta *meta, const uint8_t id[STORE_ID_BYTES]);

/* Replace the meta, as store_save() does, or where not `is_synced` so that a crash of the machine
 * can leave an empty one. What store_plant() made that way is synced by store_settle(). */
int store_write(int sandbox, struct store_meta *meta, bool is_synced);
int store_settle(int sandbox);

int store_random(uint8_t ret[STORE_ID_BYTES]);

/* Find out what store_create() does, under the lock: 0 or its errors. */
int store_survey(struct store_census *census, const char *owner, const char *name);

/* The index of all sandboxes that makes this cheap: call these when the lock was got and before it
 * is given back, under it when a sandbox was made, before one goes, and when layers other than the
 * upper have changed; and without it when what the upper takes was counted. */
void store_survey_begin(void);
void store_survey_end(void);
void store_survey_add(const struct store_meta *meta, uint64_t bytes);
void store_survey_forget(void);
void store_survey_count(const uint8_t id[STORE_ID_BYTES], uint64_t more);

/* Make it on disk, on the layers that `meta` has, the highest of them `base`, with the cuts of the
 * sandbox of the directory `origin` (-1: of none): its directory, locked, or -errno. Under the
 * lock.
 */
int store_plant(struct store_meta *meta, uint32_t base, int origin);

/* Layers that no meta names go to trash/. Under the lock. 0 or -errno, and then nothing is lost. */
int store_collect(void);

/* A new layer, in the meta and on disk, on top of `base`: 0, -E2BIG, -errno. And back. */
int store_add_layer(struct store_meta *meta, uint32_t base);
void store_remove_layer(const uint8_t id[STORE_ID_BYTES]);

/* Return how many layers a stack has with this one at the top; 0 for STORE_NO_LAYER. */
uint32_t store_depth(const struct store_meta *meta, uint32_t layer);

/* Sum up what all layers take, into the meta: also those that the upper is not built on. */
void store_sum_all(struct store_meta *meta);

/* Note on disk what the upper takes. */
void store_write_count(int sandbox, const struct store_meta *meta);

/* Forget layers that neither the upper nor a checkpoint is built on. Return how many. */
uint32_t store_prune(struct store_meta *meta);

#endif
