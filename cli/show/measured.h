/* SPDX-License-Identifier: Apache-2.0
 *
 * A posture for people and for programs.
 */
#ifndef CLI_SHOW_MEASURED_H
#define CLI_SHOW_MEASURED_H

#include <stddef.h>

#include "show/json.h"

struct ipc_posture_full;

/* "14 layers hold; not tried: landlock tcp" and what else is to be said in one paragraph. */
void measured_describe(const struct ipc_posture_full *posture, char *text, size_t room);

/* Members of the object that is open; nothing when nothing was measured. */
void measured_write(struct json_writer *json, const struct ipc_posture_full *posture);

#endif
