/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/host_groups.h"

#include "gateway/hosts/groups.h"

void host_groups_list(struct buffer *text)
{
	for (uint32_t i = 0; i < host_group_count; i++)
		buffer_format(text, "%s%c%s", i > 0 ? ", " : "", HOST_GROUP_MARK,
			      host_groups[i].name);
}

void host_groups_print(struct buffer *text)
{
	for (uint32_t i = 0; i < host_group_count; i++) {
		const struct host_group *group = &host_groups[i];

		buffer_format(text, "%s%c%s  %s", i > 0 ? "\n" : "", HOST_GROUP_MARK, group->name,
			      group->about);
		if (group->profile)
			buffer_format(text, "; profile %s", group->profile);
		buffer_format(text, "\n");
		for (const char *const *entry = host_groups[i].entries; *entry != NULL; entry++)
			buffer_format(text, "  %s\n", *entry);
	}
}
