/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/write/links.h"

#include "common/limits.h"
#include "common/text/format.h"
#include "policy/packages/packages.h"
#include "policy/read/policy.h"

#include <string.h>

#define ETC "/etc/"

/* Count the profile's own entries at and below a path; -1: one at it is no plain directory. */
static int count_own(const struct profile *profile, const char *path)
{
	const size_t size = strlen(path);
	int count = 0;

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const char *target = profile->mounts[i].target;

		if (strncmp(target, path, size) != 0 ||
		    (target[size] != '\0' && target[size] != '/'))
			continue;
		if (target[size] == '\0' && profile->mounts[i].kind != PLAN_DIRECTORY)
			return -1;
		count++;
	}
	return count;
}

/* Find the path of the link for a file: the first on the way to it that is free. Return its length;
 * 0: the profile has an entry of its own. */
static size_t find_link(const struct profile *profile, const char *path)
{
	char part[sizeof(ETC) + IPC_PATH_MAX];
	size_t size = 0;
	int own;

	do {
		size += strcspn(path + size + (size > 0), "/") + (size > 0);
		format_text(part, sizeof(part), ETC "%.*s", (int)size, path);
		own = count_own(profile, part);
	} while (own > 0 && path[size] != '\0');
	return own == 0 ? size : 0;
}

uint32_t links_put(struct writer *writer, const struct profile *profile,
		   const struct profile_mount *shown, struct plan_mount *records, uint32_t count)
{
	const struct packages *packages = writer->shown->packages;
	char text[2 * IPC_PATH_MAX], last[IPC_PATH_MAX] = "";

	for (size_t i = 0; i < packages->count && count < PLAN_MOUNTS_MAX; i++) {
		const char *path = packages->files[i].path;
		const size_t size = find_link(profile, path);

		if (size == 0 || (strlen(last) == size && strncmp(last, path, size) == 0))
			continue;
		format_text(last, sizeof(last), "%.*s", (int)size, path);
		records[count] = (struct plan_mount){ .kind = PLAN_SYMLINK, .phase = shown->phase };
		format_text(text, sizeof(text), "%s/%s", shown->target, last);
		records[count].source = writer_put_text(writer, text);
		format_text(text, sizeof(text), ETC "%s", last);
		records[count++].target = writer_put_text(writer, text);
	}
	return count;
}
