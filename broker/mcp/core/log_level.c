/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/log_level.h"

static const char *const names[LOG_LEVEL_NONE] = {
	[LOG_LEVEL_DEBUG] = "debug",   [LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_NOTICE] = "notice", [LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_ERROR] = "error",   [LOG_LEVEL_CRITICAL] = "critical",
	[LOG_LEVEL_ALERT] = "alert",   [LOG_LEVEL_EMERGENCY] = "emergency",
};

bool log_level_read(struct json_value *value, enum log_level *ret)
{
	for (enum log_level level = 0; level < LOG_LEVEL_NONE; level++) {
		if (json_equals(value, names[level])) {
			*ret = level;
			return true;
		}
	}
	return false;
}

const char *log_level_name(enum log_level level)
{
	return names[level];
}
