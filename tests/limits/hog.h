/* SPDX-License-Identifier: Apache-2.0
 *
 * The ways in which a hostile workload takes too much. A mode takes what it was told to and no
 * more, so that with its limit raised it ends in peace; what should have happened is the business
 * of the test that started it.
 */
#ifndef HOG_H
#define HOG_H

#include <stddef.h>

#define MIB (1L << 20)

struct mode {
	const char *name;
	int (*run)(long amount); /* 0: took all of it; else the errno of the refusal */
};

struct modes {
	const struct mode *list;
	size_t count;
};

#define MODES(list)                                                                                \
	{                                                                                          \
		(list), sizeof(list) / sizeof((list)[0])                                           \
	}

extern const struct modes file_modes;
extern const struct modes memory_modes;
extern const struct modes process_modes;

/* How much a mode has taken by now, in units of its own. */
extern long hog_taken;

/* Stay a while with what was taken: a limit that is watched is looked at now and then. */
void hog_hold(void);

/* Never return. */
void hog_stay(void) __attribute__((noreturn));

/* Memory that is touched, shared with children when `flags` say so; NULL when there is none. */
void *hog_map(size_t size, int flags);

#endif
