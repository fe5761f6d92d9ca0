/* SPDX-License-Identifier: Apache-2.0
 *
 * Two stacks of layers over the same host's directory, and what overlayfs shows of each: the
 * present and what it is compared with. A layer that is in both is one source.
 */
#ifndef LAYERS_BASE_STACK_H
#define LAYERS_BASE_STACK_H

#include <stdbool.h>

#include "layers/base/beneath.h"
#include "layers/base/tree.h"

#define STACK_SOURCES_MAX (2 * LAYERS_MAX + 1)
#define STACK_WORDS ((STACK_SOURCES_MAX + 63) / 64)

/* Sources as bits; those that have something in a directory and are not hidden by one above. */
struct stack_set {
	uint64_t bits[STACK_WORDS];
};

struct stack_side {
	uint16_t sources[LAYERS_MAX + 1]; /* the highest first */
	int layers[LAYERS_MAX + 1];       /* their numbers, as in struct difference */
	uint32_t count;
};

struct stack {
	int roots[STACK_SOURCES_MAX];
	uint32_t count;
	struct stack_side now, old;
	/* The directory that was entered: */
	int entered[STACK_SOURCES_MAX];           /* -1: this source has none */
	bool has_marked_files[STACK_SOURCES_MAX]; /* whiteouts may be files with an xattr */
};

/* An entry that one side shows under a name. */
struct stack_entry {
	struct stat status; /* st_mode 0: nothing */
	int layer;          /* -1: nothing */
	uint32_t source;
	struct stack_set below; /* a directory's */
	bool is_unreadable;     /* whether it hides what lies below cannot be told */
};

/* Open the workspaces of all layers. 0 or -errno. */
int stack_open(struct stack *stack, const struct job_directories *directories);
void stack_close(struct stack *stack);

/* All sources of a side; no source. */
struct stack_set stack_all(const struct stack_side *side);
bool stack_is_equal(const struct stack_set *left, const struct stack_set *right);

/* Open a directory in the sources of both sets. What is gone meanwhile is none; 0 or -errno. */
int stack_enter(struct stack *stack, const char *path, const struct stack_set *now,
		const struct stack_set *old);
void stack_leave(struct stack *stack);

/* The names in it that the two sides may show differently, sorted. 0 or -errno. */
int stack_names(const struct stack *stack, const struct stack_set *now, const struct stack_set *old,
		struct beneath_names *ret);

/* Find the entry that a side shows under a name in it. 0 or -errno. */
int stack_find(const struct stack *stack, const struct stack_side *side,
	       const struct stack_set *set, const char *name, struct stack_entry *ret);

/* overlayfs: "y" hides what lies below, "x" says that whiteouts in it may be marked files. */
char stack_opaque_mark(int directory);

#endif
