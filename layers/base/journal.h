/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal: the acts of an apply on the host's workspace, written down before they are done, and
 * their state: docs/decisions/0043-changes-and-apply.md. The state is the name of a directory in
 * the sandbox's journal directory, so it changes by one rename. A reader believes only what the
 * hash and the bounds of a journal confirm.
 */
#ifndef LAYERS_BASE_JOURNAL_H
#define LAYERS_BASE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "common/limits.h"
#include "common/sha256.h"

/* The directories in the journal directory, in the order of an apply's life. */
#define JOURNAL_NEW "new"             /* means nothing: it is made, or on its way out */
#define JOURNAL_STAGING "staging"     /* the host's files are as they were, new ones lie beside */
#define JOURNAL_SWAPPING "swapping"   /* some are old and some are new: back to old */
#define JOURNAL_COMMITTED "committed" /* all are new: what lies beside can go */
#define JOURNAL_DONE "done"           /* the last apply, for who wants it undone */

#define JOURNAL_TOKEN_BYTES 16
#define JOURNAL_ENTRIES_MAX 1000000U
#define JOURNAL_BYTES_MAX (512U << 20)

/* The number of an entry as the name of a file. */
#define JOURNAL_NUMBER_MAX 12

/* The directory on the host where the new files wait and the old ones stay until the end. */
#define JOURNAL_KEEP_MAX 48

/* In the state of a JOURNAL_KEPT: the directory that was on the host, with the old files. */
#define JOURNAL_KEPT_NAME "kept"
#define JOURNAL_SAVED_MAX (sizeof(JOURNAL_KEPT_NAME "/") + JOURNAL_NUMBER_MAX)

/* An undo finds the old files of an APPLY as copies in the journal, those of a KEPT themselves. */
enum journal_kind { JOURNAL_APPLY = 1, JOURNAL_UNDO, JOURNAL_KEPT, JOURNAL_KIND_COUNT };

/* One side of a change: what a path is. */
struct journal_side {
	uint32_t mode; /* type and permissions; 0: nothing is there */
	uint32_t mtime_ns;
	uint64_t inode;
	uint64_t size; /* a regular file's or link's, with the time of its content; else 0 */
	int64_t mtime_s;
	uint8_t hash[SHA256_BYTES]; /* a regular file's content's or a link's text's; else 0 */
};

struct journal_entry {
	char *path; /* relative, without "." and ".."; the journal's */
	struct journal_side from, to;
	bool is_merged; /* `to` has the changes of both sides: base_renew() */
	/* Not kept on disk: */
	struct timespec changed; /* ctime of `from` as compared */
	bool is_linked;          /* `from` has several links */
	bool is_skipped;         /* a directory that is not empty, and stays */
	size_t change;           /* for whoever made the entry */
};

/* In the order in which they are done: journal_sort(). */
struct journal {
	uint32_t kind; /* enum journal_kind */
	uint8_t token[JOURNAL_TOKEN_BYTES];
	struct journal_entry *entries;
	size_t count, room;
};

/* Is this a path that stays beneath where it starts, as a matter of text? */
int journal_check_path(const char *path);

/* A new entry, empty but for a copy of the path; NULL without memory. */
struct journal_entry *journal_add(struct journal *journal, const char *path);

/* Return whether it has an entry for a path. */
bool journal_has(const struct journal *journal, const char *path);

/* Directories that stay first; then what goes, contents before directories; then what comes,
 * directories before contents; and what names git's objects last. */
void journal_sort(struct journal *journal);

/* The entries go; the rest is as it was. */
void journal_free(struct journal *journal);

/* A journal from its bytes, to be freed. 0, -EBADMSG or -ENOMEM. */
int journal_parse(const uint8_t *bytes, size_t size, struct journal *ret);

/* Its bytes, to be freed by the caller. 0 or -errno. */
int journal_format(const struct journal *journal, uint8_t **ret, size_t *ret_size);

/* Write it into a state's directory in place of the one there, and sync it. 0 or -errno. */
int journal_write(int state, const struct journal *journal);

/* Open the state of that name, where ret_state is wanted, and read its journal. 0, -ENOENT: it is
 * not in that state; -EBADMSG; another -errno. */
int journal_read(int directory, const char *name, struct journal *ret, int *ret_state);

/* A new one in the state STAGING, with a token of its own and no entries. The state's directory,
 * the caller's, or -errno. */
int journal_begin(int directory, struct journal *journal);

/* From one state to another, for good. 0 or -errno. */
int journal_move(int directory, const char *from, const char *to);

/* Bring the names in a directory to the disk. 0 or -errno. */
int journal_sync(int directory);

/* Remove a state with all that is in it. 0 also when there is none, or -errno. */
int journal_drop(int directory, const char *name);

/* The names that go with a journal and an entry. */
void journal_keep_name(const struct journal *journal, char ret[JOURNAL_KEEP_MAX]);
void journal_number(size_t number, char ret[JOURNAL_NUMBER_MAX]);

#endif
