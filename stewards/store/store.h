/* SPDX-License-Identifier: Apache-2.0
 *
 * Persistent sandboxes on disk: `sandboxes/ID/meta` and `layers/ID/PLACE` below the
 * state directory, all of it 0700 and named through descriptors only. A layer is never written to
 * again once another is built on it, and so can be of several sandboxes. Of what a workload wrote
 * nothing is read in here but whether a directory of it is empty: layers' directories are made,
 * opened for msp-layers, and moved to trash/, which that empties. The places in a layer are made
 * and opened by the init that mounts them (child-init/places.h).
 *
 * A crash at any point, also of the machine, leaves the old or the new, by the order of things:
 *
 *   1. a layer's directory is made before a meta names it;
 *   2. a meta is written as `meta.new`, this and the layers' directory are synced, it is renamed to
 *      `meta`, and its directory synced;
 *   3. a sandbox is gone when its directory is in trash/, and that is synced before 4;
 *   4. a layer goes to trash/ when no meta names it, which all metas are read for.
 *
 * A sandbox that was just made is synced by the first one who takes it: until then there is nothing
 * in it that could be lost, and a crash of the machine may leave it out. What a crash leaves over
 * is a directory without a meta or with an empty one, or a layer that nobody names, and the next
 * store_sweep() finds it. While there is a damaged meta nobody knows what it names: then layers
 * stay. Who makes or drops layers holds the lock of the state directory, so that between 1 and 2
 * nobody takes a layer for one that is left over.
 */
#ifndef STEWARDS_STORE_STORE_H
#define STEWARDS_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"

struct history_note;
struct store_census;

#define STORE_MAGIC 0x54454d4dU /* "MMET" */
#define STORE_VERSION 1U
#define STORE_ID_BYTES 16
#define STORE_NO_LAYER UINT32_MAX

struct store_layer {
	uint8_t id[STORE_ID_BYTES];
	uint32_t parent; /* index of the layer below, which is smaller; STORE_NO_LAYER: none */
	uint32_t reserved;
	uint64_t bytes, inodes; /* that it takes; of the upper, when last counted */
};

struct store_checkpoint {
	uint32_t number; /* counted from 1 */
	uint32_t layer;  /* index of its highest; STORE_NO_LAYER: it has none */
	uint64_t created_s;
	char name[IPC_NAME_MAX];
};

/* The file itself, in the machine's own order. */
struct store_meta {
	uint32_t magic;
	uint32_t version;
	uint8_t id[STORE_ID_BYTES];
	char name[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
	char profile[IPC_NAME_MAX];
	char workspace[IPC_PATH_MAX];
	uint64_t workspace_device, workspace_inode;
	uint32_t workspace_mode; /* enum workspace_mode */
	uint32_t ttl_s;
	uint64_t created_s;
	uint64_t disk_bytes, disk_inodes; /* all layers, when last counted */
	uint32_t next_checkpoint;
	uint32_t upper; /* index of the layer that is written to */
	uint32_t layer_count;
	uint32_t checkpoint_count;
	uint32_t is_persons; /* 1: a person named the workspace, and a model may go there; 0: a
			      * model may have, and it has to be open to the next one, too */
	uint32_t reserved;
	struct store_layer layers[LAYERS_MAX];
	struct store_checkpoint checkpoints[CHECKPOINTS_MAX];
	uint8_t hash[IPC_SCHEMA_BYTES]; /* SHA-256 of what is before */
};

/*
 * msp-store does all of this, in a process of its own that has the state directory. The
 * supervisor's functions of these names ask it (supervisor/base/store_client.c), for
 * store_each() and store_sweep() at once; those of meta.c are the same in both.
 */

/* Write an id as text; return whether a text is an id, or may name a sandbox or checkpoint. */
void store_id_text(const uint8_t id[STORE_ID_BYTES], char ret[IPC_ID_MAX]);
bool store_is_id(const char *text);
bool store_is_name(const char *text);

/* Is what it says possible, and is it whole? What the readers below ask of each meta. */
bool store_is_sound(const struct store_meta *meta);
bool store_is_intact(const struct store_meta *meta);

/*
 * Own a sandbox: lock and read it. Returns its directory, the caller's, which is the lock; -ENOENT;
 * -EBUSY: another supervisor has it; -EBADMSG: its meta is damaged, or a layer is gone; another
 * -errno.
 */
int store_take(const char *id, struct store_meta *ret);

/* Look at one without owning it: its meta, when it was used last (real clock), and whether somebody
 * owns it. 0 or an error as above; with -EBADMSG the latter two are set. */
int store_look(const char *id, struct store_meta *ret, uint64_t *ret_used_s, bool *ret_is_taken);

/* The id of the owner's sandbox with this id or name; false, and no id: there is none. A damaged
 * one, which does not say whose it is, is the user's own. */
bool store_find(const char *owner, const char *name, char ret[IPC_ID_MAX]);

/*
 * Make one: `meta` says all but id, times and layers. Its directory, locked, or -EUSERS, -EDQUOT
 * (the census' limits), -EEXIST (the name), another -errno.
 */
int store_create(struct store_meta *meta, struct store_census *census);

/* Return true if the sandbox has no file of its own but the user's name for git, and shares none.
 */
bool store_is_empty(const struct store_meta *meta);

/* Replace the meta. 0 or -errno, with the old one in place. Costs three syncs of the disk. */
int store_save(int sandbox, struct store_meta *meta);

/* Note what the upper and all below it take, in the meta and on disk, where a crash of the machine
 * may lose this alone. What else the sandbox has is known from when it was written to. */
void store_count(int sandbox, struct store_meta *meta, uint64_t bytes, uint64_t inodes);

/* Note in the sandbox's directory, by a file, that something has run whose files are not counted
 * yet, for a next owner after a crash; and that all are counted. 0 or -errno. */
#define STORE_MARK "unnoted"
int store_mark(int sandbox);
int store_unmark(int sandbox);

/* Add a note, with the time, to the sandbox's history (common/records/history.h), which has its
 * newest notes only. 0 or -errno; no execution depends on it. */
int store_note(int sandbox, const struct history_note *note);

/* Open the file for the hosts that a person has taken away from the sandbox, which msp-cable writes
 * and reads: it, the caller's, or -errno. It is made where there is none. A fork gets a copy. */
#define STORE_CUTS "cuts"
int store_cuts(int sandbox);

/* Note that the sandbox was used now. */
void store_touch(int sandbox);

/* Return when the sandbox was used last, in seconds of the real clock. */
uint64_t store_used_s(int sandbox);

/* Remove a sandbox from `sandboxes/`, with the layers that no other sandbox has. 0, or -errno and
 * then it is as it was. */
int store_destroy(const char *id);

/* Remove a damaged sandbox, which cannot be taken, as store_destroy() does; the caller checks that
 * it is damaged. -EBUSY if another supervisor has it. */
int store_discard(const char *id);

/*
 * Checkpoints: each changes `meta` and saves it. 0, -ENOENT (no such checkpoint), -E2BIG (a table
 * is full, or the chain as deep as it may be), another -errno; then nothing has changed. Nothing of
 * the sandbox may be mounted meanwhile.
 */
int store_checkpoint(int sandbox, struct store_meta *meta, const char *name,
		     struct store_checkpoint *ret);
int store_rollback(int sandbox, struct store_meta *meta, uint32_t number);
int store_forget(int sandbox, struct store_meta *meta, uint32_t number);

/* A new sandbox on the same layers, of a checkpoint or (0) of the present, which becomes a layer
 * that nobody writes to. Its directory, locked, with *ret filled, or an error of store_create() or
 * of these. It has no checkpoints. */
int store_fork(int sandbox, struct store_meta *meta, uint32_t number, const char *name,
	       struct store_census *census, struct store_meta *ret);

/* Return the checkpoint of this number; NULL: there is none. */
const struct store_checkpoint *store_checkpoint_find(const struct store_meta *meta,
						     uint32_t number);

/* The checkpoint that these files are built on: the newest one before `number` of this layer, or
 * else of the nearest below that has one. 0: there is none. */
uint32_t store_checkpoint_of(const struct store_meta *meta, uint32_t layer, uint32_t number);

/*
 * A merge makes a chain short again: the layers below the upper, the highest first, when they are
 * more than STORE_CHAIN_MAX. msp-layers makes one of them all in the directory
 * store_merge_target(), which is the caller's, and syncs it. store_merge_done() puts it in their
 * place where nothing else is based on them, and counts what it takes: 0, -ESTALE (they are no
 * longer there), another -errno. Only when nothing of the sandbox is mounted; it may have changed
 * since the plan.
 */
#define STORE_CHAIN_MAX 16
struct store_merge {
	uint32_t count;
	uint8_t ids[LAYERS_DEEP_MAX][STORE_ID_BYTES];
};
bool store_merge_plan(const struct store_meta *meta, struct store_merge *ret);
int store_merge_target(int sandbox);
int store_merge_done(int sandbox, struct store_meta *meta, const struct store_merge *merge,
		     uint64_t bytes, uint64_t inodes);

/* Open a layer's directory, or the sandbox's directory for journals, which is made. A descriptor,
 * the caller's, or -errno. */
int store_layer(const struct store_meta *meta, uint32_t layer);
int store_journal(int sandbox);

/* Call for each sandbox, damaged or not: its id. Until the function returns other than 0, which is
 * returned. */
int store_each(int (*each)(void *context, const char id[IPC_ID_MAX]), void *context);

/* Return whether an apply of its changes was interrupted. Its journal has the host's files that the
 * apply displaced. */
bool store_is_interrupted(int sandbox);

/* Destroy sandboxes that nobody has taken or used for their time to live, and a crash's leftovers.
 * Return the number of sandboxes, or -errno; `destroyed`, if not NULL, is called for each until it
 * returns other than 0. */
int store_sweep(int (*destroyed)(void *context, const char id[IPC_ID_MAX]), void *context);

/* Open the directory whose contents shall be removed; -ENOENT: there is nothing in it. */
int store_trash(void);

#endif
