/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a sandbox's changes: msp-layers writes them one after another into a pipe, and a
 * reader in the frontends takes them. A record is this head and then its texts, without
 * terminators: path, old path, link, patch. Paths are relative to the workspace and any bytes but
 * NUL; a program that shows one escapes it.
 *
 * A record of the kind NONE tells of the progress of the work: `flags` is the stage, `old_size` the
 * number of files that it has done, `new_size` of those that there are; 0: unknown.
 */
#ifndef COMMON_RECORDS_CHANGES_H
#define COMMON_RECORDS_CHANGES_H

#include <stdint.h>

#include "common/limits.h"

enum change_kind {
	CHANGE_NONE,
#define CHANGE(name, text, letter) CHANGE_##name,
#include "common/records/changes.def"
#undef CHANGE
	CHANGE_KIND_COUNT
};

enum change_flag {
	CHANGE_IS_DIRECTORY = 1,
	CHANGE_IS_BINARY = 2,    /* no patch: it is no text */
	CHANGE_IS_LARGE = 4,     /* no patch: beyond CHANGE_TEXT_MAX */
	CHANGE_IS_HELD = 8,      /* the host may execute it by itself: waits for a word */
	CHANGE_IS_CONFLICT = 16, /* the host's is not what the sandbox's is based on */
	CHANGE_IS_STRIPPED = 32, /* set-ID bits or capabilities do not go along */
	CHANGE_IS_REFUSED = 64,  /* a device, socket or FIFO: it is never applied */
	CHANGE_IS_APPLIED = 128,
	CHANGE_IS_UNDONE = 256,
	CHANGE_IS_UNREADABLE = 512, /* one side cannot be looked into: it is never applied */
	CHANGE_IS_GITS = 1024,      /* in a repository, where it stays: it is never applied. When a
				     * sandbox is prepared: the absolute path of git's data, which
				     * does not name the workspace (HELD), may not be shown
				     * (REFUSED), lies as it cannot be shown (UNREADABLE), or of the
				     * repository above (DIRECTORY) */
	CHANGE_IS_COMMITS = 2048,   /* a ref with its commits; `link` says what it brings */
	CHANGE_IS_TOOL = 4096,   /* a tool executes it when somebody starts that, and no sooner */
	CHANGE_LEADS_OUT = 8192, /* a link out of the project, or nobody can tell: it is HELD */
	CHANGE_IS_MERGED =
		16384, /* a conflict, where host and sandbox are merged into the new content */
	CHANGE_HAS_MARKERS = 32768, /* MERGED: lines that both changed stand between markers */
	CHANGE_MAY_RUN = 65536, /* has a kind that tools execute, and new on the host or a dot file
				 * that the operator holds */
	CHANGE_IS_RULES = 131072, /* decides what is asked about: it is HELD */
	CHANGE_IS_COMMITTED =
		262144, /* a commit that the apply brings has it: no file is written */
	CHANGE_FLAGS = 524287,
};

enum change_stage {
	CHANGE_STAGE_NONE,
	CHANGE_STAGE_COMPARE,
	CHANGE_STAGE_READ, /* the contents of changes */
	CHANGE_STAGE_PREPARE,
	CHANGE_STAGE_REPLACE,
	CHANGE_STAGE_COUNT
};

/* The reason why a conflict is not merged. */
enum change_unmerged {
	UNMERGED_NONE,
#define UNMERGED(name, word, text) UNMERGED_##name,
#include "common/text/unmerged.def"
#undef UNMERGED
	UNMERGED_COUNT
};

/* A file of which a patch is made, or that is merged, and a patch, at most. */
#define CHANGE_TEXT_MAX (4U << 20)

struct change_record {
	uint32_t kind;               /* enum change_kind */
	uint32_t flags;              /* enum change_flag */
	uint32_t old_mode, new_mode; /* as in stat; 0: there is none */
	uint64_t old_size, new_size;
	uint32_t path_size;     /* 1 to IPC_PATH_MAX - 1 */
	uint32_t old_path_size; /* RENAMED: where it was; else 0 */
	uint32_t link_size;     /* a symbolic link's target */
	uint32_t patch_size;    /* unified, as git diff prints it with its head; 0: none */
	uint32_t unmerged;      /* enum change_unmerged, of a conflict */
	uint32_t unused;        /* 0 */
};

#endif
