/* SPDX-License-Identifier: Apache-2.0
 *
 * An init's life after its set-up: runs workloads on request, reaps, reports.
 */
#ifndef CHILD_INIT_SERVE_H
#define CHILD_INIT_SERVE_H

#include "init.h"

/* Serve the channel; the end of the channel is the end of the process, and with it, PID 1, of
 * every process in the sandbox. */
void serve_run(const struct init *own) __attribute__((noreturn));

#endif
