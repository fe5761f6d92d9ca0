/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting msp-opener, the part of the launcher that stays with the service, or with the supervisor
 * of `msp serve`: a supervisor reads no text, starts no program and opens nothing of the host's.
 * launcher/opener/main.c has its theory of operation.
 */
#ifndef LAUNCHER_START_OPENER_H
#define LAUNCHER_START_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/fd.h"
#include "launcher/start/launch.h"

/* Descriptors that it is executed with; 1 and 2 are /dev/null. */
enum opener_fd {
	OPENER_FD_START,       /* a sealed struct opener_start, as standard input */
	OPENER_FD_CHANNEL = 3, /* to the supervisor */
	OPENER_FD_FIRST        /* the named ones, one behind the other */
};

/* All that it starts from. A descriptor is its number there, or -1: it is absent. */
struct opener_start {
	uint8_t schema[IPC_SCHEMA_BYTES];
	int plan;    /* that is in force */
	int builtin; /* builtin.policy */
	bool is_roots;
	char config[IPC_PATH_MAX]; /* the configuration's path; empty: the built-in profiles */
	struct images images;      /* the gateway's programs, and msp-git-config */
	struct launch_gateway gateway;
	struct trust trust; /* its servers' plans are not open */
	struct workspaces own;
};

#define OPENER_FDS_MAX (15 + 2 * TRUST_SERVERS_MAX + CLIENT_WORKSPACES_MAX)
_Static_assert(OPENER_FD_FIRST + OPENER_FDS_MAX + 1 <= FD_PLACES_MAX,
	       "room for all, and its image");

/* Put where each descriptor is into `ret`, in the order of their places, and return how many there
 * may be. Those in the struct must not be more than their lists hold. */
size_t opener_list_fds(struct opener_start *start, int *ret[OPENER_FDS_MAX]);

/* Become it, but for the exec: place its descriptors and `image` behind them, and close all others.
 * Return the image's number or -errno. */
int opener_place(const struct launch *launch, int channel, int image);

/*
 * Leave a process behind that answers policy_ask and workspace_ask on `channel` until the
 * supervisor, which the caller becomes, ends. `launch` says what it compiles, and what the requests
 * of its clients may name. Its pid or -errno; `channel` stays the caller's.
 */
int opener_start(const struct launch *launch, int channel);

#endif
