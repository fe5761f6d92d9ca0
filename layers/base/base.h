/* SPDX-License-Identifier: Apache-2.0
 *
 * Bases: the host's file at the time when a layer's copy of it, or its deletion, was made. Each
 * layer has a file of records, to which a scan adds after an execution. A host's file that changed
 * between the beginning of that execution and the scan has no known base, and counts as changed.
 *
 * Of several records for a path the first counts, and lower layers' come first: files of merged
 * layers are one after another's records, the lowest layer's first. An apply replaces: BASE_IS_NEW.
 */
#ifndef LAYERS_BASE_BASE_H
#define LAYERS_BASE_BASE_H

#include "common/sha256.h"
#include "layers/base/journal.h"
#include "layers/base/tree.h"

enum base_state {
	BASE_SAME,    /* the host's file is what the sandbox's was made from */
	BASE_CHANGED, /* it is not, or nobody knows */
	/* The sandbox's file is what its base was: only the host has changed it since. A base that
	 * an apply renewed does not count: an interrupted undo leaves it as it was. */
	BASE_UNTOUCHED,
};

/* Note what is new in the highest layer. `since_us`: when the first execution began that may have
 * made it and whose end was not noted, by the real clock. 0 or -errno; what was noted stays. Only
 * one job at a time may note in a layer. */
int base_note(const struct job_directories *directories, uint64_t since_us);

/* Compare both sides of a difference with its base; of a renamed one, both names of the host's
 * side. BASE_SAME where an earlier state is compared, which is nobody's to be in conflict with. */
enum base_state base_check(const struct job_directories *directories,
			   const struct difference *difference);

/* Return the flags that a difference has by its base: CHANGE_IS_CONFLICT, which one that is refused
 * has never; CHANGE_IS_REFUSED for a deleted FIFO or socket that the host has made anew. */
uint32_t base_flags(const struct difference *difference, enum base_state state);

/* A path of the host's that an apply or an undo has changed. */
struct base_change {
	const char *path;
	const struct journal_side *was; /* UNDO: what the apply had made of it; else NULL */
	bool is_merged;                 /* it has the changes of both sides */
	bool is_file;                   /* the caller has just seen a regular file there */
};

/* Renew bases in the highest layer: a file that an apply has put on the host is the base of the
 * sandbox's from now on. A file that an undo has put there is not: the sandbox's file and its base
 * are as they were. After a merge the base is what the sandbox had. 0 or -errno. */
int base_renew(const struct job_directories *directories, const struct base_change *changes,
	       size_t count);

/* Forget what base_check() has read: the next one reads anew. */
void base_forget(void);

/* --- the file, for those who join several ----------------------------------------------------- */

#define BASE_MAGIC 0x3142504dU /* "MPB1" */
#define BASE_BYTES_MAX ((size_t)256 << 20)

struct base_head {
	uint32_t magic;
	uint32_t record_size; /* sizeof(struct base_record) */
	uint64_t used;        /* bytes of records that count; what is behind them was cut off */
};

enum base_kind {
	BASE_ABSENT = 1, /* no file, and none beneath it */
	BASE_FILE,
	BASE_LINK,
	BASE_DIRECTORY,
	BASE_UNKNOWN, /* it changed meanwhile, or cannot be read */
	BASE_SPECIAL, /* a FIFO, socket or device, which has no content: its inode, and when born */
	BASE_KIND_COUNT
};

#define BASE_IS_NEW 1U /* replaces what was said before */

/* The content is the sandbox's side of a merge, the rest is the merged file of the host. */
#define BASE_IS_MERGED 2U

/* Followed by the path without a NUL, and zeros to a multiple of 8. */
struct base_record {
	uint32_t size; /* with path and zeros */
	uint32_t kind;
	uint32_t flags;
	uint32_t mode;
	uint32_t path_size; /* 1 to IPC_PATH_MAX - 1 */
	uint32_t check;     /* the beginning of the SHA-256 of all else */
	uint64_t length, inode, device;
	/* ctime, of a merged or special file beneath_born() instead; and the clock when it was
	 * noted. */
	uint64_t changed_ns, noted_ns;
	uint8_t hash[SHA256_BYTES]; /* the content's, or that of a link's target */
};

/* Find the base of a path, or of an absent directory above it; false: it is unknown. */
bool base_find(const struct job_directories *directories, const char *path,
	       struct base_record *ret);

/* The record at the beginning of `size` bytes; *ret_path is behind it in there. Returns how many it
 * takes, or -EBADMSG. */
long base_parse(const uint8_t *bytes, size_t size, struct base_record *ret, const char **ret_path);

/* Is this the head of a file with `size` bytes of records, or more? */
bool base_is_head(const struct base_head *head, size_t size);

#endif
