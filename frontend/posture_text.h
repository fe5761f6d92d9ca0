/* SPDX-License-Identifier: Apache-2.0
 *
 * The measured posture of a profile (common/ipc/ipc_posture.h) for people and programs.
 */
#ifndef FRONTEND_POSTURE_TEXT_H
#define FRONTEND_POSTURE_TEXT_H

#include "frontend/json_write.h"

struct ipc_posture_full;

/* Write the members of an open object; none if nothing was measured. */
void posture_put(struct json_writer *writer, const struct ipc_posture_full *posture);

/* Write them as the member "posture", if there are any. */
void posture_put_object(struct json_writer *writer, const struct ipc_posture_full *posture);

/* Append "14 layers hold; not tried: landlock tcp" and the other sets, for people. */
void posture_describe(const struct ipc_posture_full *posture, struct buffer *text);

#endif
