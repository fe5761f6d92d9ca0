/* SPDX-License-Identifier: Apache-2.0
 *
 * The levels of notifications/message in the terms of RFC 5424, the least important first.
 */
#ifndef BROKER_MCP_CORE_LOG_LEVEL_H
#define BROKER_MCP_CORE_LOG_LEVEL_H

#include "lib/json/read.h"

enum log_level {
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_INFO,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_ERROR,
	LOG_LEVEL_CRITICAL,
	LOG_LEVEL_ALERT,
	LOG_LEVEL_EMERGENCY,
	LOG_LEVEL_NONE, /* as a threshold: no message passes */
};

/* Read the level that a string names. False: none. */
bool log_level_read(struct json_value *value, enum log_level *ret);

const char *log_level_name(enum log_level level);

#endif
