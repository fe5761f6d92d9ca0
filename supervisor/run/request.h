/* SPDX-License-Identifier: Apache-2.0
 *
 * A frontend's request, checked against the plan, as a spawn message. A request can only narrow
 * what its profile says.
 */
#ifndef SUPERVISOR_RUN_REQUEST_H
#define SUPERVISOR_RUN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc/refusal.h"
#include "common/limits.h"
#include "common/plan/plan.h"

struct ipc_code_start;
struct ipc_execution_start;
struct ipc_file_start;
struct ipc_spawn;

/* A request that passed. The spawn message is in static storage until the next request. */
struct request {
	uint64_t number;
	const char *owner; /* the client's sandboxes have it */
	uint64_t id;       /* the execution's, unique in this supervisor */
	uint64_t heard_us;
	uint32_t profile;
	uint32_t timeout_ms; /* 0: none */
	struct ipc_spawn *spawn;
	const char *code_path;    /* NULL without code */
	const char *standby_file; /* file of a language with a standby interpreter, or NULL */
	struct sandbox *sandbox;  /* that lasts, in which it shall run; NULL: a new one */
	bool is_file;             /* msp-file is executed */
};

/* Check a request: REFUSAL_NONE and *ret filled, or the reason, with its detail in `detail`. */
enum refusal request_command(const struct ipc_execution_start *from, struct request *ret,
			     char detail[IPC_LIST_MAX]);
enum refusal request_code(const struct ipc_code_start *from, struct request *ret,
			  char detail[IPC_LIST_MAX]);

/* Check a request for msp-file, in a sandbox of this profile, as above. */
enum refusal request_file(const struct ipc_file_start *from, const char *profile,
			  struct request *ret, char detail[IPC_LIST_MAX]);

/* Return the path for the next code of a language with this file, in a persistent sandbox or not;
 * in static storage until the next call. NULL: there is no room for the path. */
const char *request_place_code(const char *file, bool lasts);

/* Append to `list`, which holds `*used` of `room` bytes; false when there is no room. */
bool request_put(uint8_t *list, uint32_t room, uint32_t *used, const void *bytes, size_t size);

/* Find the index of the profile that a request names; empty: the default one. Without hosts it is
 * that of the same profile without its hosts. */
enum refusal request_profile(const char *name, uint32_t no_hosts, uint32_t *ret);

/* Write the names of the languages of a profile that are installed, with a NUL after each. Return
 * the size; what does not fit is left out. */
uint32_t request_list_languages(const struct plan_profile *profile, uint8_t list[IPC_LIST_MAX]);

#endif
