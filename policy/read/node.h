/* SPDX-License-Identifier: Apache-2.0
 *
 * A YAML text as a tree, whose nodes know their lines, so that an error found long after parsing
 * can still name its line. The reader refuses features that a policy does not need: several
 * documents, anchors, tags, keys given twice, keys that are not plain words, NUL characters, deep
 * nesting.
 */
#ifndef POLICY_READ_NODE_H
#define POLICY_READ_NODE_H

#include "lib/heap/buffer.h"
#include "policy/read/text.h"

#include <stdbool.h>
#include <stdint.h>

#define NODE_DEPTH_MAX 8U

/* Keys of one set. No set of a policy has as many. */
#define NODE_KEYS_MAX 64U

/* The expected shape of a file, for error messages. */
#define NODE_EXPECTED "expected keys, such as profiles"

enum node_kind {
	NODE_TEXT = 0,
	NODE_LIST,
	NODE_KEYS,
};

struct strings {
	char *const *items;
	uint32_t count;
};

struct node {
	enum node_kind kind;
	uint32_t line;      /* counted from 1; of its key, if it has one */
	char *key;          /* NULL: an entry of a list, or the file as a whole */
	char *text;         /* the text of a NODE_TEXT */
	uint32_t count;     /* entries, or keys */
	struct node *items; /* in the order of the file */
	char **texts;       /* the text of each entry of a NODE_LIST */
};

/*
 * Read `size` bytes of YAML, a set of keys, into *ret; `file` is only for the message. 0, or -1
 * with *error set. The caller frees what is in *ret in both cases.
 */
int node_read(const char *file, const char *text, size_t size, struct node *ret,
	      struct policy_error *error);

/* Find the node of a path within `node`, such as "files[3].size"; "": the node itself. NULL: there
 * is none. */
const struct node *node_find(const struct node *node, const char *path);

/* Return the line of a path within `node`, or of the nearest enclosing path. */
uint32_t node_line(const struct node *node, const char *path);

/* Return the text at a path; NULL: there is none. */
const char *node_text(const struct node *node, const char *path);

/* Return the texts of the list at a path; none if there is no list. They belong to the node. */
struct strings node_texts(const struct node *node, const char *path);

/* Copy a node; `line` is that of each node in the copy, 0: as it is. The caller frees what is in
 * it. */
struct node node_copy(const struct node *node, uint32_t line);

/* Append the path from `root` to `node`; nothing if it is the same, or not there. */
void node_print_path(const struct node *root, const struct node *node, struct buffer *path);

/* Free what is in the node. */
void node_done(struct node *node);

#endif
