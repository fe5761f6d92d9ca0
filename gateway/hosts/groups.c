/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/hosts/groups.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/hosts/list.h"

const struct host_group host_groups[] = {
#define HOST_GROUP(name, about, profile, ...) { name, about, profile, { __VA_ARGS__ } },
#include "gateway/hosts/groups.def"
#undef HOST_GROUP
};

const uint32_t host_group_count = sizeof(host_groups) / sizeof(host_groups[0]);

const struct host_group *host_group_find(const char *name)
{
	for (uint32_t i = 0; i < host_group_count; i++) {
		if (strcmp(host_groups[i].name, name) == 0)
			return &host_groups[i];
	}
	return NULL;
}

/* Return whether an entry, "HOST" or "HOST:PORT,PORT", has the host and the port. */
static bool has_host(const char *entry, const char *host, uint16_t port)
{
	const size_t length = strlen(host);
	const char *at = entry + length;

	if (strncmp(entry, host, length) != 0)
		return false;
	if (*at == '\0')
		return port == HOST_PORT_DEFAULT;
	for (; *at == ':' || *at == ','; at += strcspn(at, ",")) {
		at++;
		if (strtoul(at, NULL, 10) == port)
			return true;
	}
	return false;
}

const struct host_group *host_group_covering(const char *host, uint16_t port)
{
	for (uint32_t i = 0; i < host_group_count; i++) {
		for (const char *const *entry = host_groups[i].entries; *entry != NULL; entry++) {
			if (has_host(*entry, host, port))
				return &host_groups[i];
		}
	}
	return NULL;
}
