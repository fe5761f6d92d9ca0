/* SPDX-License-Identifier: Apache-2.0 */
#include "said.h"

#include <stdarg.h>
#include <stdio.h>

#include "vm/say.h"

char said[1024];

void say(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(said, sizeof(said), format, list);
	va_end(list);
}
