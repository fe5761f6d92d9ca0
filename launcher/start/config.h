/* SPDX-License-Identifier: Apache-2.0
 *
 * The operator's configuration: which file is in force, and the plan that it amounts to. Whoever
 * starts a supervisor reads it once and has everything that it says from here.
 *
 * A file that is there but cannot be used is an error, never a reason to look further: what would
 * be found there may allow more.
 */
#ifndef LAUNCHER_START_CONFIG_H
#define LAUNCHER_START_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/plan/plan.h"

#define CONFIG_TEXT_MAX 1536

/* The file of all accounts of this machine, the only one that a start by root looks for. */
#define CONFIG_SYSTEM_FILE "/etc/msp/config.yaml"

/* Below a home directory. */
#define CONFIG_HOME_FILE ".config/msp/config.yaml"

/* The operator's configuration says which limits are accepted. */
#define LIMITS_UNSAID UINT32_MAX

struct config {
	const char *given;       /* --config, or NULL */
	int builtin;             /* builtin.policy, opened for reading; -1: not of interest */
	bool is_roots;           /* root read it: nothing of a home directory counts */
	bool has_kept;           /* the plan has the profiles of kept binds */
	bool is_read;            /* the rest is known */
	char path[IPC_PATH_MAX]; /* the file in force; empty: the built-in profiles */
	int plan_fd;             /* its plan, sealed; -1: none, without `builtin` */
	struct plan plan;        /* its plan, for config_plan() */
};

/* No configuration is known yet. */
#define CONFIG_UNREAD                                                                              \
	{                                                                                          \
		.builtin = -1, .plan_fd = -1                                                       \
	}

/* Places of a file, the first one first. NULL: none. */
struct config_places {
	const char *given;    /* must be there */
	const char *variable; /* value of MSP_CONFIG, when it is not empty */
	const char *home;     /* a home directory */
	const char *system;
};

/* The search alone. 0 and the file's path in `ret`, empty when there is none; or -1 with a line in
 * `text`. */
int config_search(const struct config_places *places, char ret[IPC_PATH_MAX],
		  char text[CONFIG_TEXT_MAX]);

/* Find the file of this process; `given` is --config or NULL. As root it takes nothing from
 * a home directory. */
int config_find(const char *given, char ret[IPC_PATH_MAX], char text[CONFIG_TEXT_MAX]);

/* Did somebody name a file for this start alone? Then a supervisor that runs already may have
 * another one. */
bool config_is_named(const struct config *config);

/* Find it and read it, unless that was done. 0, or the exit code with a line in `text`. */
int config_read(struct config *config, char text[CONFIG_TEXT_MAX]);

/* Read it as it is now, for a start that goes on. A file that was in force must still be there.
 * As config_read(); `ret` is the caller's to close. */
int config_read_again(const struct config *config, struct config *ret, char text[CONFIG_TEXT_MAX]);

/* After root has read it and become this account: read it again for the binds that the account
 * keeps. */
void config_become(struct config *config);

void config_close(struct config *config);

/* The plan of a configuration that was read; NULL when there is none, or builtin.policy is not of
 * this version. Valid as long as the configuration. */
const struct plan *config_plan(struct config *config);

/* Which limits are accepted (enum limits_mode): what the command line said, or, for LIMITS_UNSAID,
 * what a configuration that was read says. */
uint32_t config_limits(struct config *config, uint32_t said);

/* The account that it names for a start by root; NULL: none. */
const char *config_run_as(struct config *config);

#endif
