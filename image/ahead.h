/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading ahead: a second thread reads one source at a time, while the first one uses the bytes
 * that came before. The two share nothing but the blocks between them, and the source, which is
 * the thread's from ahead_begin() on until ahead_next() has returned the end, or ahead_end() has
 * returned.
 */
#ifndef IMAGE_AHEAD_H
#define IMAGE_AHEAD_H

#include <sys/types.h>

/* Return the size of the next bytes of a source, which stay until the next call; 0 at the end; or
 * -1 after a refusal. */
typedef ssize_t ahead_source(void *context, const void **ret);

/* Start the thread, once, and return after it has called `confine`. */
void ahead_start(void (*confine)(void));

/* Begin to read a source, after the end of the one before. */
void ahead_begin(ahead_source *source, void *context);

/* Return the source's next bytes, its end or its refusal, as the source itself does. The end and a
 * refusal are returned again. */
ssize_t ahead_next(const void **ret);

/* End with the source, also before its end; nothing happens if none was begun. */
void ahead_end(void);

#endif
