/* SPDX-License-Identifier: Apache-2.0
 *
 * The event loop: epoll, and one callback per descriptor.
 */
#ifndef SUPERVISOR_BASE_LOOP_H
#define SUPERVISOR_BASE_LOOP_H

#include <stdint.h>

#include "common/clock.h"

/* Embedded in what is watched; must stay where it is while it is watched. */
struct loop_watch {
	int fd;
	void (*on_ready)(void *context);
	void *context;
};

/* 0 or -errno. */
int loop_open(void);

/* Call on_ready(context) whenever `fd` is readable or its peer is gone. 0 or -errno. */
int loop_add(struct loop_watch *watch, int fd, void (*on_ready)(void *), void *context);

/* Before its descriptor is closed. Harmless when it is not watched. */
void loop_remove(struct loop_watch *watch);

/* Remove the watch, and close its descriptor. */
void loop_close(struct loop_watch *watch, int *fd);

/* Wait until something is ready or `deadline_us` (clock_now_us() time; UINT64_MAX: never) and call
 * back. 0 or -errno. */
int loop_turn(uint64_t deadline_us);

#endif
