/* SPDX-License-Identifier: Apache-2.0
 *
 * The network of a sandbox as JSON, of `msp network list` and of the resource.
 */
#ifndef FRONTEND_NETWORK_JSON_H
#define FRONTEND_NETWORK_JSON_H

#include "frontend/json_write.h"
#include "frontend/network_watch.h"

/* Write the view as an object. `is_running` is whether the sandbox has a process. */
void network_json_put(struct json_writer *writer, const struct network_view *view, bool is_running);

#endif
