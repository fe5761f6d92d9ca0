/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/host_groups.h"

#include <string.h>

static const struct host_group groups[] = {
#define HOST_GROUP(name, about, ...) { name, about, { __VA_ARGS__ } },
#include "policy/host_groups.def"
#undef HOST_GROUP
};

#define GROUP_COUNT (sizeof(groups) / sizeof(groups[0]))

const struct host_group *host_group_find(const char *name)
{
	for (size_t i = 0; i < GROUP_COUNT; i++) {
		if (strcmp(groups[i].name, name) == 0)
			return &groups[i];
	}
	return NULL;
}

void host_groups_list(struct buffer *text)
{
	for (size_t i = 0; i < GROUP_COUNT; i++)
		buffer_format(text, "%s%c%s", i > 0 ? ", " : "", HOST_GROUP_MARK, groups[i].name);
}

void host_groups_print(struct buffer *text)
{
	for (size_t i = 0; i < GROUP_COUNT; i++) {
		buffer_format(text, "%s%c%s  %s\n", i > 0 ? "\n" : "", HOST_GROUP_MARK,
			      groups[i].name, groups[i].about);
		for (const char *const *entry = groups[i].entries; *entry != NULL; entry++)
			buffer_format(text, "  %s\n", *entry);
	}
}
