/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/target.h"

#include <string.h>

#define PORT_HTTP 80U
#define PORT_HTTPS 443U
#define PORT_DIGITS_MAX 5U

bool target_is_tls(const struct target *target)
{
	return target->entry->kind == PLAN_HOST_HTTPS;
}

bool target_find(const struct plan *plan, const struct plan_profile *profile, const char *host,
		 uint16_t port, struct target *ret)
{
	*ret = (struct target){ .plan = plan, .profile = profile, .port = port };
	if (!host_wanted_read(host, &ret->wanted))
		return false;
	memcpy(ret->name, host, strlen(host) + 1);
	ret->entry = host_list_find(plan, profile, &ret->wanted, port);
	if (ret->entry == NULL)
		return false;
	ret->index = (uint32_t)(ret->entry - plan_hosts(plan, profile));
	/* A certificate of ours names a host by its name. */
	return ret->entry->kind == PLAN_HOST_HTTP ||
	       (ret->entry->kind == PLAN_HOST_HTTPS && !ret->wanted.is_address);
}

/* Read the digits of a port, without a zero before them. 0: they are none. */
static uint32_t read_port(const char *text, size_t size)
{
	uint32_t port = 0;

	if (size == 0 || size > PORT_DIGITS_MAX || text[0] == '0')
		return 0;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		port = port * 10 + (uint32_t)(text[i] - '0');
	}
	return port;
}

bool target_is_named(const struct target *target, const char *value, size_t size)
{
	const char *colon = memchr(value, ':', size);
	const size_t name_size = colon ? (size_t)(colon - value) : size;
	const uint32_t own = target_is_tls(target) ? PORT_HTTPS : PORT_HTTP;
	const uint32_t port = colon ? read_port(colon + 1, size - name_size - 1) : own;
	char text[IPC_HOST_MAX + 1];
	struct host_wanted named;

	if (port != target->port || name_size >= sizeof(text) ||
	    memchr(value, '\0', name_size) != NULL)
		return false;
	memcpy(text, value, name_size);
	text[name_size] = '\0';
	if (!host_wanted_read(text, &named) || named.is_address != target->wanted.is_address)
		return false;
	return named.is_address
		       ? memcmp(&named.address, &target->wanted.address, sizeof(named.address)) == 0
		       : strcmp(named.name, target->wanted.name) == 0;
}

bool target_has_rules(const struct target *target)
{
	const struct plan_request *rules = plan_requests(target->plan, target->profile);
	uint32_t i = 0;

	while (i < target->profile->request_count && rules[i].host != target->index)
		i++;
	return i < target->profile->request_count;
}
