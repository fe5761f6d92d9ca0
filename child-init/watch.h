/* SPDX-License-Identifier: Apache-2.0
 *
 * The fallback's memory limit: without a cgroup, an init adds up what its sandbox uses.
 */
#ifndef CHILD_INIT_WATCH_H
#define CHILD_INIT_WATCH_H

#include <stdint.h>

/* Between two looks. One look at one process costs about 50 microseconds, and a process can touch
 * some 100 MiB in this time: the limit is that blurred, and the doctor says so. */
#define WATCH_INTERVAL_MS 50

/* Open what watch_memory() reads; 0 or -errno. */
int watch_open(void);

/* The proportional set size of all processes of this pid namespace but PID 1, in bytes. */
uint64_t watch_memory(void);

#endif
