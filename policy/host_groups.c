/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/host_groups.h"

#include "hosts/groups.h"

void host_groups_list(struct buffer *text)
{
	for (uint32_t i = 0; i < host_group_count; i++)
		buffer_format(text, "%s%c%s", i > 0 ? ", " : "", HOST_GROUP_MARK,
			      host_groups[i].name);
}

void host_groups_print(struct buffer *text)
{
	for (uint32_t i = 0; i < host_group_count; i++) {
		buffer_format(text, "%s%c%s  %s\n", i > 0 ? "\n" : "", HOST_GROUP_MARK,
			      host_groups[i].name, host_groups[i].about);
		for (const char *const *entry = host_groups[i].entries; *entry != NULL; entry++)
			buffer_format(text, "  %s\n", *entry);
	}
}
