/* SPDX-License-Identifier: Apache-2.0
 *
 * Acts of a program that somebody has taken over. The test that starts it makes their targets and
 * names them in a file of HOSTILE_FOLDER, which is read before the program begins.
 */
#ifndef HOSTILE_ACTS_H
#define HOSTILE_ACTS_H

#include <stddef.h>

/* Read the targets, before anything is confined. */
void hostile_read_config(void);

/* Try each act, and write a line "hostile PROGRAM COLUMN ACT RESULT" for it to standard error: the
 * result is 0 for an act that succeeded, or its errno. */
void hostile_try_all(const char *program, const char *column);

/* Try each act on a socket of a host whose peer is going: column "socket". */
void hostile_try_socket(const char *program, int fd);

#endif
