/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/lookup.h"

#include <string.h>

#include "common/share.h"
#include "gateway/dial/cache.h"
#include "gateway/dial/servers.h"

#define LOOKUPS_MAX 256U

/* The servers of a machine may change at any time: a look costs two messages. */
#define SERVERS_MS 1000U

static const struct resolution failed = { .end = RESOLVE_FAILED };

static struct lookup {
	bool is_used;
	uint32_t slot;    /* the sandbox's that asked first */
	uint32_t servers; /* the number of the servers that were asked */
	char name[HOST_NAME_MAX_SIZE];
} lookups[LOOKUPS_MAX];

static struct resolver *resolver; /* NULL: there are no servers yet */
static char servers[SERVERS_TEXT_MAX];
static uint32_t servers_number;
static uint64_t now, looked_ms;

static void on_resolved(void *context, const struct resolution *resolution);

/* Look whether there are other servers. Questions to the old ones begin anew. */
static void look_at_servers(void)
{
	char text[SERVERS_TEXT_MAX];
	struct resolver *old = resolver, *new;

	if (looked_ms != 0 && now - looked_ms < SERVERS_MS)
		return;
	looked_ms = now;
	if (!servers_ask(text) || strcmp(text, servers) == 0 || resolver_new(text, &new) != 0)
		return;
	memcpy(servers, text, sizeof(servers));
	servers_number++;
	resolver = new;
	cache_clear();
	if (old)
		resolver_free(old);
}

static void ask_servers(struct lookup *lookup)
{
	lookup->servers = servers_number;
	if (resolver)
		resolver_ask(resolver, lookup->name, on_resolved, lookup);
	else
		on_resolved(lookup, &failed);
}

static void on_resolved(void *context, const struct resolution *resolution)
{
	struct lookup *lookup = context;
	char name[HOST_NAME_MAX_SIZE];

	if (resolution->end == RESOLVE_FAILED && lookup->servers != servers_number) {
		ask_servers(lookup);
		return;
	}
	memcpy(name, lookup->name, sizeof(name));
	lookup->is_used = false;
	cache_keep(name, resolution, now);
	event_lookup_done(name, resolution);
}

const struct resolution *lookup_name(uint32_t slot, const char *name, uint64_t now_ms)
{
	const struct resolution *known;
	struct lookup *lookup = NULL;
	uint32_t own = 0, used = 0;

	now = now_ms;
	look_at_servers();
	known = cache_find(name, now);
	if (known)
		return known;
	for (uint32_t i = 0; i < LOOKUPS_MAX; i++) {
		if (lookups[i].is_used && strcmp(lookups[i].name, name) == 0)
			return NULL;
		if (!lookups[i].is_used)
			lookup = &lookups[i];
		used += lookups[i].is_used;
		own += lookups[i].is_used && lookups[i].slot == slot;
	}
	if (!lookup || !share_grants(own, used, LOOKUPS_MAX, 1))
		return &failed;
	lookup->is_used = true;
	lookup->slot = slot;
	memcpy(lookup->name, name, strlen(name) + 1);
	ask_servers(lookup);
	return NULL;
}

uint32_t lookup_wants(struct pollfd polled[RESOLVE_SOCKETS_MAX], int *timeout_ms)
{
	return resolver ? resolver_wants(resolver, polled, timeout_ms) : 0;
}

void lookup_handle(const struct pollfd *polled, uint32_t count, uint64_t now_ms)
{
	now = now_ms;
	if (resolver)
		resolver_handle(resolver, polled, count);
}
