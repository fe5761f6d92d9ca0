/* SPDX-License-Identifier: Apache-2.0 */
#include "refused_server.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "lib/heap/memory.h"
#include "mcp/core/call.h"
#include "mcp/tools/tools.h"
#include "stdio_server.h"

/* --- the only tool -------------------------------------------------------------------------- */

/* The tool msp_status alone; its text is the host's `refusal`. */
extern const struct catalog catalog_refused;

static void answer_status(struct call *call, const struct json_document *document,
			  struct json_value *const *values)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, call->session->host->refusal);
	call_answer_text(call, &text, false);
}

static const struct tool tool_status = {
	.name = "msp_status",
	.title = "Why nothing can be run",
	.description = "msp refuses to run anything on this machine. Returns what is missing and "
		       "how the user can fix it. Call it first, and tell the user.",
	.is_read_only = true,
	.is_idempotent = true,
	.handler = answer_status,
};

static const struct tool *const tools[] = { &tool_status, NULL };
static const struct prompt *const prompts[] = { NULL };
static const struct resource_provider *const resources[] = { NULL };

const struct catalog catalog_refused = { tools, prompts, resources, 0 };

/* --- the server ----------------------------------------------------------------------------- */

static void on_client_end(void *context)
{
	(void)event_base_loopbreak(context);
}

char *refused_read_text(int fd)
{
	struct stat status;
	char *text;
	size_t size;

	if (!fd_is_kind(fd, 'm') || fstat(fd, &status) != 0 || status.st_size <= 0 ||
	    status.st_size > REFUSED_TEXT_MAX)
		return NULL;
	size = (size_t)status.st_size;
	text = memory_get_zeroed(1, size + 1);
	if (pread(fd, text, size, 0) == (ssize_t)size)
		return text;
	free(text);
	return NULL;
}

int refused_serve(struct event_base *base, int in, int out, const char *text)
{
	struct host host = { .base = base, .catalog = &catalog_refused, .refusal = text };
	struct stdio *stdio = stdio_new(&host, in, out, on_client_end, base);

	stdio_open(stdio);
	if (event_base_dispatch(base) != 0)
		log_fatal(MSP_EXIT_SOFTWARE, "cannot wait for events");
	(void)stdio_free(stdio);
	host_done(&host);
	return MSP_EXIT_REFUSED;
}
