/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/plan_copy.h"

#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"

struct plan_copy plan_copy;

void plan_copy_begin(const struct plan *plan)
{
	memcpy(plan_copy.bytes, plan->bytes, plan->size);
	plan_copy.used = plan->size;
}

uint32_t plan_copy_put(const void *bytes, size_t size)
{
	const uint32_t at = plan_copy.used;

	if (size + PLAN_COPY_ALIGNMENT > sizeof(plan_copy.bytes) - at)
		return 0;
	memcpy(plan_copy.bytes + at, bytes, size);
	plan_copy.used += (uint32_t)size;
	return at;
}

int plan_copy_end(struct config *config, char text[CONFIG_TEXT_MAX])
{
	struct plan_header *header = (void *)plan_copy.bytes;
	struct plan plan = { .bytes = NULL };
	int fd, error;

	/* A plan ends with a NUL. */
	memset(plan_copy.bytes + plan_copy.used, 0, PLAN_COPY_ALIGNMENT);
	header->size = plan_copy.used + PLAN_COPY_ALIGNMENT;
	fd = fd_sealed_from_bytes("msp-policy", plan_copy.bytes, header->size);
	error = fd < 0 ? fd : plan_open_fd(fd, &plan);
	if (error) {
		fd_close(&fd);
		return format_fail(MSP_EXIT_REFUSED, text, CONFIG_TEXT_MAX,
				   "the plan with the paths of this start cannot be made: %s",
				   errno_text(-error));
	}
	config_close(config);
	config->plan_fd = fd;
	config->plan = plan;
	return 0;
}

/* Make the path the source of all records with this flag. False: there is no room. */
static bool set_source(uint32_t flag, const char *path)
{
	const uint32_t source = plan_copy_put(path, strlen(path) + 1);
	const struct plan_header *header = (const void *)plan_copy.bytes;
	const struct plan_profile *profiles = (const void *)(plan_copy.bytes + header->profiles);

	for (uint32_t p = 0; p < header->profile_count; p++) {
		struct plan_mount *mounts = (void *)(plan_copy.bytes + profiles[p].mounts);

		for (uint32_t i = 0; i < profiles[p].mount_count; i++) {
			if (mounts[i].flags & flag)
				mounts[i].source = source;
		}
	}
	return source != 0;
}

int plan_source_put(struct config *config, uint32_t flag, const char *path,
		    char text[CONFIG_TEXT_MAX])
{
	plan_copy_begin(config_plan(config));
	if (!set_source(flag, path))
		return format_fail(-1, text, CONFIG_TEXT_MAX,
				   "the plan has no room for the path %s: use fewer profiles",
				   path);
	return plan_copy_end(config, text) == 0 ? 0 : -1;
}
