/* SPDX-License-Identifier: Apache-2.0
 *
 * The two ways in which `msp setup` changes the machine, a program that is run and a file that is
 * made, and the one in which `msp client-config` does.
 */
#ifndef CLI_SETUP_PERFORM_H
#define CLI_SETUP_PERFORM_H

#include <stdbool.h>
#include <sys/types.h>

#define PERFORM_TEXT_MAX 512

/* Find a program of the system, in fixed directories that only root can change, as an absolute
 * path. False: there is none. */
bool perform_find(const char *name, char *ret, size_t room);

/* Run a program of the system to its end, without a shell, without input, with its output on
 * standard error, and with an environment that has nothing of the caller's but the home of `uid`.
 * 0, or -1 with the reason in `text`. */
int perform_run(char *const words[], uid_t uid, char text[PERFORM_TEXT_MAX]);

/* Run the user's own program, an absolute path, to its end, with the environment and the standard
 * streams of msp, without a shell. Returns as perform_run(). */
int perform_run_for_user(char *const words[], char text[PERFORM_TEXT_MAX]);

/* Start the user's service, an absolute path with its words, with the environment of msp, and leave
 * it running: its output goes to service.log of the state directory. 0 once it answers, or -1 with
 * the reason in `text`. */
int perform_start_service(char *const words[], char text[PERFORM_TEXT_MAX]);

/* Make a file, and its directory if that is missing, as a whole or not at all. 0, or -1 with a line
 * in `text`, also if there is one already. */
int perform_write(const char *path, const char *content, char text[PERFORM_TEXT_MAX]);

/* Wait at most ten seconds until a path is there. */
bool perform_await(const char *path);

#endif
