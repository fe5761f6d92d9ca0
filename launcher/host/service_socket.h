/* SPDX-License-Identifier: Apache-2.0
 *
 * Becoming the user's service: the socket that it listens on, and its line to the service manager.
 * Both are the manager's wherever it started us (sd_listen_fds(3), sd_notify(3)).
 */
#ifndef LAUNCHER_HOST_SERVICE_SOCKET_H
#define LAUNCHER_HOST_SERVICE_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/host/service.h"

/* The sockets of a service. Descriptors are -1 when absent. */
struct service_sockets {
	int listener;
	uint32_t is_activated; /* 1: the manager made the listener */
	int notify;
	uint64_t watchdog_us; /* 0: the manager does not watch */
};

/* The first descriptor that a service manager passes, by sd_listen_fds(3). */
#define SERVICE_SOCKETS_FD 3

/* Did a manager pass descriptors to this process? */
bool service_sockets_passed(void);

/*
 * Take the listening socket of the manager, or make one at `given` (NULL: our user's place), and
 * connect to NOTIFY_SOCKET if there is one. 0, or an exit code with a line in `text`:
 * MSP_EXIT_AGAIN when another service answers there, else MSP_EXIT_REFUSED.
 */
int service_sockets_open(const char *given, struct service_sockets *ret,
			 char text[SERVICE_TEXT_MAX]);

#endif
