/* SPDX-License-Identifier: Apache-2.0 */
#include "said.h"

#include <stdio.h>

#include "common/log.h"

char said[1024];

static void keep_line(char *text)
{
	(void)snprintf(said, sizeof(said), "%s", text);
}

__attribute__((constructor)) static void keep_lines(void)
{
	log_make_line = keep_line;
}
