/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of msp-file, which runs inside a sandbox, on its standard output: a head, its text,
 * and the content that was asked for. Its reader in the frontends trusts nothing of it: the
 * workload of that sandbox may have changed everything that msp-file read.
 */
#ifndef COMMON_FILE_RECORD_H
#define COMMON_FILE_RECORD_H

#include <stdint.h>

#define FILE_MAGIC 0x454c4946U /* "FILE" */

/* The problems, a closed set. */
enum file_problem {
	FILE_DONE,
	FILE_ERROR,       /* `error` says */
	FILE_NOT_REGULAR, /* `mode` says what it is instead */
	FILE_DANGLING,    /* a symbolic link to nothing; the text says where it points to */
	FILE_EXISTS,      /* create: it does */
	FILE_NO_MATCH,    /* edit: the old text does not occur */
	FILE_AMBIGUOUS,   /* edit: it occurs more than once; `count` says how often */
	FILE_TOO_LARGE,   /* edit: beyond FILE_EDIT_MAX; `size` says how large */
	FILE_CUT_OFF,     /* the content to be written is incomplete; nothing is changed */
	FILE_MISUSED,     /* msp-file does not know such arguments */
	FILE_PROBLEM_COUNT
};

/* The content to be written comes on the standard input in pieces: a uint32_t with the bytes of
 * each before it, and 0 behind the last. An input that ends without the 0, because its writer has
 * gone, changes nothing. */
#define FILE_PIECE_MAX 65536U

/* A file that is edited, at most: it is held in memory. */
#define FILE_EDIT_MAX (16U << 20)

/* Levels of directories that a list goes down, at most. */
#define FILE_DEPTH_MAX 64U

struct file_head {
	uint32_t magic;
	uint32_t problem; /* enum file_problem */
	uint32_t error;   /* errno */
	uint32_t mode;    /* the file's now, as stat gives it */
	uint64_t size;    /* the file's now */
	uint64_t count;   /* read: bytes from the offset to the end; write: bytes written */
	uint32_t text_size;
	uint32_t reserved;
};

/* An entry of a list, one for each file, in the order of the names' bytes, a directory before its
 * content. Behind it stand its path below the listed directory, and a symbolic link's target. The
 * last one has no path. */
struct file_entry {
	uint32_t mode;
	uint32_t flags; /* enum file_entry_flag */
	uint64_t size;
	int64_t modified_s;
	uint32_t path_size;
	uint32_t link_size;
};

enum file_entry_flag {
	FILE_ENTRY_UNREADABLE = 1, /* a directory that could not be listed */
	FILE_ENTRY_MORE = 2,       /* the last entry's: there are more than were asked for */
};

#endif
