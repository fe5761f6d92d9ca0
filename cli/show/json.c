/* SPDX-License-Identifier: Apache-2.0 */
#include "show/json.h"

#include "common/fd.h"

#define PENDING_BYTES 4096

static void flush_pending(struct json_output *output)
{
	if (!output->error)
		output->error =
			fd_write_all(output->fd, output->pending.bytes, output->pending.size);
	buffer_drop(&output->pending, output->pending.size);
}

static void on_written(struct json_writer *writer)
{
	struct json_output *output = (struct json_output *)writer;

	if (output->pending.size >= PENDING_BYTES)
		flush_pending(output);
}

void json_begin(struct json_output *output, int fd)
{
	*output = (struct json_output){ .fd = fd };
	output->writer = (struct json_writer){ .out = &output->pending,
					       .form = JSON_LINES,
					       .written = on_written };
}

int json_finish(struct json_output *output)
{
	buffer_append_text(&output->pending, "\n");
	flush_pending(output);
	buffer_done(&output->pending);
	return output->error;
}
