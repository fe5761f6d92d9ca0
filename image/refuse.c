/* SPDX-License-Identifier: Apache-2.0 */
#include "image/refuse.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/log.h"

struct image_report report;

static uint32_t layer_number, layer_count;
static const char *layer_diff_id;
static const char *entry;
_Thread_local char *refuse_aside;

void refuse_in_layer(uint32_t number, uint32_t count, const char *diff_id)
{
	layer_number = number;
	layer_count = count;
	layer_diff_id = diff_id;
	entry = NULL;
}

void refuse_in_entry(const char *path)
{
	entry = path;
}

int refuse(const char *format, ...)
{
	char *const text = refuse_aside ? refuse_aside : report.text;
	va_list arguments;
	int used = 0;

	if (text[0])
		return -1;
	if (!refuse_aside && layer_number)
		used += snprintf(text, IMAGE_REPORT_TEXT_MAX, "layer %u of %u (%.12s)%s",
				 layer_number, layer_count, layer_diff_id, entry ? ", " : ": ");
	if (!refuse_aside && entry)
		used += snprintf(text + used, IMAGE_REPORT_TEXT_MAX - (size_t)used,
				 "'%.300s': ", entry);
	va_start(arguments, format);
	(void)vsnprintf(text + used, IMAGE_REPORT_TEXT_MAX - (size_t)used, format, arguments);
	va_end(arguments);
	return -1;
}

int refuse_call(const char *act, int error)
{
	return refuse("%s: %s", act, errno_text(error < 0 ? -error : error));
}

int refuse_archive(const char *act, struct archive *archive)
{
	const char *text = archive_error_string(archive);

	return refuse("%s: %s", act, text ? text : "libarchive gives no reason");
}
