/* SPDX-License-Identifier: Apache-2.0 */
#include "show/json.h"

#include <unistd.h>

#include "common/fd.h"

#define PENDING_BYTES 4096

static struct {
	struct json_writer writer;
	struct buffer pending;
	int fd;
	int error; /* the first failure to write, -errno */
} output;

static void flush_pending(void)
{
	if (!output.error)
		output.error = fd_write_all(output.fd, output.pending.bytes, output.pending.size);
	buffer_drop(&output.pending, output.pending.size);
}

static void on_written(struct json_writer *writer)
{
	(void)writer;
	if (output.pending.size >= PENDING_BYTES)
		flush_pending();
}

struct json_writer *json_begin(int fd)
{
	output.fd = fd;
	output.error = 0;
	output.pending.size = 0;
	output.writer = (struct json_writer){ .out = &output.pending,
					      .form = JSON_LINES,
					      .written = on_written };
	return &output.writer;
}

struct json_writer *json_begin_object(void)
{
	struct json_writer *writer = json_begin(STDOUT_FILENO);

	json_open_object(writer, NULL);
	return writer;
}

int json_finish(void)
{
	if (output.writer.depth > 0)
		json_close_object(&output.writer);
	buffer_append_text(&output.pending, "\n");
	flush_pending();
	buffer_done(&output.pending);
	return output.error;
}
