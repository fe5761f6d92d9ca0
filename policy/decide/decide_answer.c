/* SPDX-License-Identifier: Apache-2.0
 *
 * Set the fields of an answer.
 */
#include "policy/decide/decide_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void decision_write(char *to, size_t size, const char *format, ...)
{
	static const char more[] = "...";
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(to, size, format, arguments);
	va_end(arguments);
	if (length >= 0 && (size_t)length < size)
		return;
	length = (int)(size - sizeof(more));
	while (length > 0 && ((unsigned char)to[length] & 0xc0) == 0x80) /* whole characters */
		length--;
	memcpy(to + length, more, sizeof(more));
}

void decision_allow(struct decision *ret, const char *layer)
{
	ret->answer = ret->condition[0] != '\0' ? DECISION_CONDITIONAL : DECISION_ALLOWED;
	ret->layer = layer;
	ret->error = 0;
}

void decision_refuse(struct decision *ret, const char *layer, int error)
{
	ret->answer = error == ENOENT ? DECISION_ABSENT : DECISION_REFUSED;
	ret->layer = layer;
	ret->error = error;
	ret->condition[0] = '\0';
}
