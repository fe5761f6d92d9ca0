/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandboxes that last, as they are on disk: `sandboxes/ID/meta` and `layers/ID/PLACE` below the
 * state directory, all of it 0700 and named through descriptors only. What a meta says is either
 * the old or the new: it is written beside, synced, renamed. A layer is never written to again once
 * another is built on it, and so can be of several sandboxes. Nothing in here reads what a workload
 * wrote: layers' directories are made, opened and moved to trash/, which msp-layers empties.
 */
#ifndef SUPERVISOR_STORE_H
#define SUPERVISOR_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ipc.h"

#define STORE_ID_BYTES 16
#define STORE_NO_LAYER UINT32_MAX

struct store_layer {
	uint8_t id[STORE_ID_BYTES];
	uint32_t parent; /* index of the layer below; STORE_NO_LAYER: none */
	uint32_t reserved;
};

struct store_checkpoint {
	uint32_t number; /* counted from 1 */
	uint32_t layer;  /* index of its highest */
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
	uint64_t disk_bytes, disk_inodes; /* of its layers, when they were last counted */
	uint32_t next_checkpoint;
	uint32_t upper; /* index of the layer that is written to */
	uint32_t layer_count;
	uint32_t checkpoint_count;
	struct store_layer layers[LAYERS_MAX];
	struct store_checkpoint checkpoints[CHECKPOINTS_MAX];
	uint8_t hash[IPC_SCHEMA_BYTES]; /* SHA-256 of what is before */
};

/* The state directory, taken over. 0 or -errno. */
int store_open(int directory);

/* An id as text. */
void store_id_text(const uint8_t id[STORE_ID_BYTES], char ret[IPC_ID_MAX]);

/*
 * Own a sandbox: lock and read it. Returns its directory, the caller's, which is the lock; -ENOENT;
 * -EBUSY: another supervisor has it; -EBADMSG: its meta is damaged; another -errno.
 */
int store_take(const char *id, struct store_meta *ret);

/* The id of the owner's sandbox with this id or name; false: there is none. */
bool store_find(const char *owner, const char *name, char ret[IPC_ID_MAX]);

/* Make one: `meta` says all but id, times and layers. Its directory, locked, or -errno. */
int store_create(struct store_meta *meta);

/* Replace the meta. 0 or -errno, with the old one in place. */
int store_save(int sandbox, struct store_meta *meta);

/* Note that it was used now; and when it was used last, in seconds. */
void store_touch(int sandbox);
uint64_t store_used_s(int sandbox);

/* What it is gone from `sandboxes/`, with layers that nobody else has. 0 or -errno. */
int store_destroy(int sandbox, const struct store_meta *meta);

/* Checkpoints: each changes `meta` and saves it. 0, -ENOENT, -ENOSPC (a table is full), -EBUSY
 * (others are built on it), another -errno; then nothing has changed. */
int store_checkpoint(int sandbox, struct store_meta *meta, const char *name,
		     struct store_checkpoint *ret);
int store_rollback(int sandbox, struct store_meta *meta, uint32_t number);
int store_forget(int sandbox, struct store_meta *meta, uint32_t number);

/* A new sandbox on the same layers, of a checkpoint or (0) of the present, which becomes a layer
 * that nobody writes to. Its directory, locked, with *ret filled, or -errno. */
int store_fork(int sandbox, struct store_meta *meta, uint32_t number, const char *name,
	       struct store_meta *ret);

/* O_PATH of a layer's directory, or of a place in it, which is made where `is_made`. */
int store_layer(const struct store_meta *meta, uint32_t layer, const char *place, bool is_made);

/* The work directory that overlayfs wants beside a place of the highest layer. */
int store_work(const struct store_meta *meta, const char *place);

/* Call for each sandbox: its id. Until the function returns other than 0, which is returned. */
int store_each(int (*each)(void *context, const char id[IPC_ID_MAX]), void *context);

/* A tree that shall be removed, as a descriptor of trash/ with its name, or -ENOENT: nothing is in
 * there. */
int store_trash(char ret_name[IPC_NAME_MAX]);

#endif
