/* SPDX-License-Identifier: Apache-2.0
 *
 * A host's workspace and layers over it for the jobs that change something, on a file system in
 * memory where there is one: they sync a lot. What a job tells is kept as lines.
 */
#ifndef UNIT_LAYERS_RIG_H
#define UNIT_LAYERS_RIG_H

#include "common/ipc/ipc_layers.h"
#include "layers/base/job.h"
#include "scene.h"

#define RIG_TEXT_MAX (256 << 10)

struct rig {
	struct scene scene;
	char apart[64]; /* where the journal lies, if not in the scene */
	struct ipc_layers_do ask;
	struct job job;
	char told[RIG_TEXT_MAX];
	char shown[RIG_TEXT_MAX];
	char before[RIG_TEXT_MAX]; /* what rig_remember() saw */
};

/* Put the journal of the next ones on another file system than the host's files; a test that says
 * so is skipped where there is none. */
extern bool rig_is_apart;

/* Make one with so many layers, and with directories for the journal and a target. */
void rig_begin(struct rig *rig, uint32_t layers);
void rig_end(struct rig *rig);

/* Run a job from the beginning. `chosen`: a path and a NUL, or NULL for all. */
int rig_do(struct rig *rig, int (*job)(struct job *job), const char *chosen);

/* The first part of that alone: the job is ready to be run. */
void rig_start(struct rig *rig, const char *chosen);

/* All that is in a directory: a line each with path, type, permissions and content. The next call
 * writes over it. */
const char *rig_show(struct rig *rig, int directory);

/* Fill host and highest layer with one of each kind of change. */
void rig_fill(struct rig *rig);

/* The sandbox is based on what the host has now. */
void rig_note(struct rig *rig);

/* The host's file has another content, in its place. */
void rig_touch_host(struct rig *rig, const char *path, const char *content);

/* Keep in rig->before what rig_show() shows now. */
void rig_remember(struct rig *rig, int directory);

/* All of it, and nothing went wrong. */
void rig_apply_all(struct rig *rig);
void rig_undo_all(struct rig *rig);

/* Make one with a layer of which all but one change is in conflict, remember the host, and apply
 * with this choice. */
void rig_begin_conflict(struct rig *rig, uint32_t choice);

#define HOST (rig.scene.directories.host)
#define UPPER (rig.scene.uppers[0])
#define LOWER (rig.scene.uppers[1])
#define JOURNAL (rig.scene.directories.journal)

#endif
