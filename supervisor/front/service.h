/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's service: the socket that clients connect to, and the messages to the service manager.
 * Without either, everything in here does nothing.
 */
#ifndef SUPERVISOR_FRONT_SERVICE_H
#define SUPERVISOR_FRONT_SERVICE_H

#include "front/frontend.h"

struct ipc_status;

struct service {
	int listener; /* listening socket, or -1 */
	int notify;   /* datagram socket connected to the service manager, or -1 */
	uint64_t watchdog_us;
};

/* Serve connections with `on_message`. 0 or -errno. */
int service_open(const struct service *service, frontend_callback *on_message);

/* Tell the service manager that requests are served, or that they no longer are. */
void service_tell_ready(void);
void service_tell_stopping(void);

/* When service_tick() has something to do; UINT64_MAX: never. */
uint64_t service_deadline_us(void);

/* Do what is due: a sign of life, or listening again after descriptors had run out. */
void service_tick(void);

/* Fill in the state of the service. */
void service_status(struct ipc_status *ret);

#endif
