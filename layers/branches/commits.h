/* SPDX-License-Identifier: Apache-2.0
 *
 * Commits of the sandbox's repository, on their way to the host's. A ref of the sandbox becomes
 * `.git/refs/msp/SANDBOX/NAME`, or a branch of the host (layers/branches/branches.h), and every
 * object that it needs and the host lacks becomes a loose object there. The configuration stays as
 * it is. docs/decisions/0046-consent.md
 */
#ifndef LAYERS_BRANCHES_COMMITS_H
#define LAYERS_BRANCHES_COMMITS_H

#include "layers/base/job.h"
#include "layers/changes/digest.h"
#include "layers/reader/reader.h"

/* Refs of one apply, at most. Of the rest one is listed, which says how many they are. */
#define COMMITS_REFS_MAX 256

/* Differing lines of packed-refs that are looked at. */
#define COMMITS_PACKED_MAX 16384U

/* Fork the reader, which merges by that function (answer_merge()), before the process gives up its
 * rights: 0 or -errno. */
int commits_begin(const struct job *job, reader_merge merge);

enum commits_fate {
	COMMITS_ELSEWHERE, /* the difference is in no repository */
	COMMITS_DATA,      /* git's data: not listed; a ref that changed is remembered */
	COMMITS_STAYS,     /* listed, and never applied */
};

/* Judge a difference, in the order of the paths. */
enum commits_fate commits_judge(const struct difference *difference);

/* Find what the remembered refs would bring, among the chosen paths, after the last difference. 0
 * or -errno; a ref whose commits cannot be read is refused by itself. */
int commits_find(struct job *job);

/* Find the commit that the sandbox has checked out, after commits_find(), if the apply brings it or
 * the host has it. 0; -ENOENT: there is none; another -errno. */
int commits_head(const struct job *job, uint8_t ret[OBJECT_ID_BYTES]);

/* Show a ref as a difference: CHANGE_IS_COMMITS and, where it is so, HELD, GITS or CONFLICT.
 * `ret_text`: what it brings, for people. */
void commits_show(size_t number, struct difference *ret, char ret_text[IPC_PATH_MAX]);

/* Add the refs to what somebody agrees to. */
void commits_add_to_digest(const struct job_directories *directories, struct sha256 *digest);

/* Fetch the objects of a ref, each once over all calls. 0 or -errno. */
int commits_bring(size_t number);

/* Write the path of a fetched object, which becomes a file of the host. */
void commits_object_path(size_t number, char ret[IPC_PATH_MAX]);

/* Open the content of a fetched object, or of a ref: a memfd, or -errno. */
int commits_open_object(size_t number);
int commits_open_ref(size_t number);

/* End the reader and forget all. */
void commits_end(void);

#endif
