/* SPDX-License-Identifier: Apache-2.0 */
#include "held/held.h"

#include "common/log.h"

int held_attach(const char *command_id, const struct held_options *options, struct held_end *ret)
{
	(void)options;
	(void)ret;
	return log_fail(MSP_EXIT_USAGE, "%s has no terminal", command_id);
}
