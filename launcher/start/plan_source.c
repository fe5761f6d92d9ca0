/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/plan_source.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/format.h"
#include "common/log.h"

/* Put the directory's path behind a plan's bytes, as the source of the records with this flag. */
static void put_path(uint8_t *bytes, uint32_t size, uint32_t flag, const char *path)
{
	struct plan_header *header = (void *)bytes;
	struct plan_profile *profiles = (void *)(bytes + header->profiles);

	memcpy(bytes + size, path, strlen(path) + 1);
	header->size = size + (uint32_t)strlen(path) + 1;
	for (uint32_t p = 0; p < header->profile_count; p++) {
		struct plan_mount *mounts = (void *)(bytes + profiles[p].mounts);

		for (uint32_t i = 0; i < profiles[p].mount_count; i++) {
			if (mounts[i].flags & flag)
				mounts[i].source = size;
		}
	}
}

/* Make a copy of the plan with the path: a sealed memory file, or -errno. */
static int copy_plan(const struct plan *plan, uint32_t flag, const char *path)
{
	const size_t size = plan->size + strlen(path) + 1;
	int fd = memfd_create("msp-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error = fd < 0 || ftruncate(fd, (off_t)size) != 0 ? -errno : 0;
	uint8_t *bytes = MAP_FAILED;

	if (!error)
		bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!error && bytes == MAP_FAILED)
		error = -errno;
	if (!error) {
		memcpy(bytes, plan->bytes, plan->size);
		put_path(bytes, plan->size, flag, path);
		(void)munmap(bytes, size); /* the file has the bytes */
		error = fd_seal(fd);
	}
	if (error)
		fd_close(&fd);
	return error ? error : fd;
}

int plan_source_put(struct config *config, uint32_t flag, const char *path,
		    char text[CONFIG_TEXT_MAX])
{
	struct plan plan = { .bytes = NULL };
	int fd = copy_plan(config_plan(config), flag, path);
	int error = fd < 0 ? fd : plan_open_fd(fd, &plan);

	if (error) {
		fd_close(&fd);
		return format_fail(-1, text, CONFIG_TEXT_MAX,
				   "the plan cannot be completed with the path %s: %s", path,
				   errno_text(-error));
	}
	config_close(config);
	config->plan_fd = fd;
	config->plan = plan;
	return 0;
}
