/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader: a process that reads repositories for the job, which may write to the host. Formats
 * that a workload wrote (compressed data, deltas, trees) are parsed by a process that can change
 * nothing. It answers requests over a pair of pipes until the request pipe ends.
 */
#ifndef LAYERS_READER_READER_H
#define LAYERS_READER_READER_H

#include "common/records/changes.h"
#include "common/sha256.h"
#include "objects.h"

/* The bytes of paths and their heads in all answers together; beyond them a walk ends with -E2BIG.
 * The job judges each path. */
#define READER_PATHS_BYTES_MAX ((uint64_t)32 << 20)

/* The two sides of a merge. */
#define READER_BODY_MAX (2U * CHANGE_TEXT_MAX)

enum reader_ask_kind {
	READER_REF = 1, /* the id in `path`; READER_FOUND */
	READER_HEAD,    /* the branch that HEAD in `source` names; READER_NAMED, or none */
	READER_PACKED,  /* packed-refs in `source` without the host's own; READER_NAMED */
	READER_WALK,    /* the paths that a commit would bring to `old`; READER_PATH */
	READER_BRING,   /* the objects that a commit would bring; READER_OBJECT */
	READER_CHAIN,   /* the commits behind `old` up to `id`, the oldest first: each has the one
			 * before among its parents. -ESTALE: `old` is no ancestor; READER_OBJECT */
	READER_FILES,   /* the files that differ between them; READER_FILE */
	READER_MERGE,   /* the sides of `path` that follow, since a base; READER_MERGED */
};

struct reader_ask {
	uint32_t kind; /* enum reader_ask_kind */
	uint32_t source;
	uint8_t id[OBJECT_ID_BYTES];   /* all but REF, HEAD, PACKED */
	uint8_t old[OBJECT_ID_BYTES];  /* CHAIN, FILES; WALK: zero without one, */
	uint8_t head[OBJECT_ID_BYTES]; /* and the host's HEAD */
	uint8_t base[SHA256_BYTES];    /* MERGE: of the content of the base */
	uint64_t base_size;            /* MERGE */
	uint32_t host_size;            /* MERGE: the host's side comes first */
	uint32_t body_size;            /* bytes that follow the request, at most READER_BODY_MAX */
	char path[IPC_PATH_MAX];       /* REF: in .git; MERGE: in the work tree */
};

/* The answer to a request is any number of messages, the last one READER_END. */
enum reader_tell_kind {
	READER_END = 1, /* with the error, and for WALK how many commits the host's branch lacks */
	READER_FOUND,   /* the id of REF */
	READER_NAMED,   /* a ref of PACKED or HEAD: the name follows */
	READER_PATH,    /* a changed path follows; behind it a NUL and a link's target may */
	READER_OBJECT,  /* its bytes follow */
	READER_FILE,    /* struct reader_file and a path follow */
	READER_MERGED,  /* the merged content follows */
};

struct reader_tell {
	uint32_t kind;  /* enum reader_tell_kind */
	int32_t error;  /* END: 0 or -errno, as of walk_run() */
	uint32_t count; /* END: commits; OBJECT: enum object_type; PATH: the new mode, or 0;
			   MERGED: 1 if it has markers */
	uint32_t size;  /* bytes that follow, at most OBJECT_BYTES_MAX */
	uint8_t id[OBJECT_ID_BYTES];
};

/* A file, link or submodule that differs. Modes are enum tree_mode; 0: there is none. */
struct reader_file {
	uint32_t old_mode, new_mode;
	uint8_t old_id[OBJECT_ID_BYTES], new_id[OBJECT_ID_BYTES];
};

/* Answer READER_MERGE, whose sides follow in the pipe `requests`: tell of the result with
 * `context`. 0 or -errno (answer_merge() in layers/merger/ancestor.h). */
typedef int (*reader_merge)(int requests, const int *gits, const struct objects *objects,
			    const struct reader_ask *ask,
			    int (*tell)(void *context, const struct reader_tell *what,
					const void *bytes),
			    void *context);

/* Read exactly so many bytes of a pipe. 0; -EPIPE: it ended; another -errno. */
int reader_read(int pipe, void *ret, size_t size);

/* Serve until `requests` ends. `gits`: the directories .git of each source (-1: there is none), the
 * host's last; the reader owns them. */
void reader_serve(int requests, int answers, const int *gits, size_t count, reader_merge merge);

#endif
