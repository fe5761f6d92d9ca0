/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/grants.h"

#include <string.h>

#include "common/clock.h"

static struct grant grants[GRANTS_MAX];
static uint64_t uses; /* so far */

/* A sandbox's rows are its own; those of a client are all its sandboxes'. */
static bool is_of(const struct grant *grant, const struct party *party)
{
	if (grant->used == 0)
		return false;
	if (grant->of.slot < GATEWAY_SLOTS)
		return grant->of.slot == party->slot && grant->of.use == party->use;
	return grant->of.frontend != 0 && grant->of.frontend == party->frontend &&
	       strcmp(grant->of.owner, party->owner) == 0;
}

static bool is_client(const struct grant *grant)
{
	return grant->of.slot == GATEWAY_SLOTS;
}

static bool is_covering(const struct grant *grant, const char *host, uint32_t port)
{
	if (grant->is_cut && grant->host[0] == '\0')
		return true;
	return (grant->is_cut || port == 0 || grant->port == port) &&
	       strcmp(grant->host, host) == 0;
}

/* Return the client's grant that is unused for longest; of all clients if `frontend` is 0. */
static struct grant *find_unused(uint32_t frontend, uint32_t *ret_count)
{
	struct grant *oldest = NULL;

	*ret_count = 0;
	for (uint32_t i = 0; i < GRANTS_MAX; i++) {
		struct grant *grant = &grants[i];

		if (grant->used == 0 || !is_client(grant) ||
		    (frontend != 0 && grant->of.frontend != frontend))
			continue;
		++*ret_count;
		if (!oldest || grant->used < oldest->used)
			oldest = grant;
	}
	return oldest;
}

static struct grant *find_room(const struct party *to)
{
	uint32_t count;
	struct grant *oldest = find_unused(to->frontend, &count);

	if (to->slot == GATEWAY_SLOTS && count >= CLIENT_GRANTS_MAX)
		return oldest;
	for (uint32_t i = 0; i < GRANTS_MAX; i++) {
		if (grants[i].used == 0)
			return &grants[i];
	}
	return find_unused(0, &count);
}

static bool is_same(const struct grant *grant, const struct party *of)
{
	return is_of(grant, of) && is_client(grant) == (of->slot == GATEWAY_SLOTS);
}

static struct grant *take_row(const struct party *of, const char *host)
{
	struct grant *row = find_room(of);

	if (!row)
		return NULL;
	*row = (struct grant){ .used = ++uses, .time_us = clock_now_us(), .of = *of };
	memcpy(row->host, host, strlen(host) + 1);
	return row;
}

const struct grant *grants_add(const struct party *to, const char *host, uint32_t port,
			       bool is_brokers)
{
	struct grant *row;

	for (uint32_t i = 0; i < GRANTS_MAX; i++) {
		if (is_same(&grants[i], to) && !grants[i].is_cut && grants[i].port == port &&
		    grants[i].is_brokers == is_brokers && strcmp(grants[i].host, host) == 0)
			grants[i].used = 0;
	}
	row = take_row(to, host);
	if (row) {
		row->port = port;
		row->is_brokers = is_brokers;
	}
	return row;
}

bool grants_cut(const struct party *from, const char *host)
{
	struct grant *row;

	for (uint32_t i = 0; i < GRANTS_MAX; i++) {
		if (is_same(&grants[i], from) &&
		    (host[0] == '\0' || strcmp(grants[i].host, host) == 0))
			grants[i].used = 0;
	}
	row = take_row(from, host);
	if (row)
		row->is_cut = true;
	return row != NULL;
}

bool grants_give_back(const struct party *to, const char *host, uint32_t port)
{
	struct grant *row;

	for (uint32_t i = 0; i < GRANTS_MAX; i++) {
		if (is_same(&grants[i], to) && grants[i].is_back && grants[i].port == port &&
		    strcmp(grants[i].host, host) == 0)
			grants[i].used = 0;
	}
	row = take_row(to, host);
	if (row) {
		row->port = port;
		row->is_back = true;
	}
	return row != NULL;
}

void grants_remove(const struct grant *grant)
{
	grants[grant - grants].used = 0;
}

/* Return the newest of a sandbox's own rows that covers the host: a person's last word. */
static const struct grant *find_own(const struct party *sandbox, const char *host, uint32_t port)
{
	const struct grant *newest = NULL;

	for (uint32_t i = 0; i < GRANTS_MAX; i++) {
		const struct grant *grant = &grants[i];

		if (is_of(grant, sandbox) && !is_client(grant) && is_covering(grant, host, port) &&
		    (!newest || grant->used > newest->used))
			newest = grant;
	}
	return newest;
}

bool grants_count(const struct grant *grant, uint32_t approval)
{
	return approval == PLAN_HOST_APPROVAL_ASK ||
	       (approval == PLAN_HOST_APPROVAL_PERSON && !grant->is_brokers);
}

bool grants_allow(const struct party *sandbox, uint32_t approval, const char *host, uint32_t port)
{
	if (grants_deny(sandbox, host, port))
		return false;
	for (uint32_t i = 0; i < GRANTS_MAX; i++) {
		struct grant *grant = &grants[i];

		if (grant->is_cut || grant->is_back || !is_of(grant, sandbox) ||
		    !is_covering(grant, host, port) || !grants_count(grant, approval))
			continue;
		if (is_client(grant)) /* own rows stay in the order in which they were made */
			grant->used = ++uses;
		return true;
	}
	return false;
}

bool grants_deny(const struct party *sandbox, const char *host, uint32_t port)
{
	const struct grant *own = find_own(sandbox, host, port);

	return own && own->is_cut;
}

const struct grant *grants_next(const struct party *sandbox, const struct grant *after)
{
	for (uint32_t i = after ? (uint32_t)(after - grants) + 1 : 0; i < GRANTS_MAX; i++) {
		if (is_of(&grants[i], sandbox))
			return &grants[i];
	}
	return NULL;
}

void grants_end(uint32_t slot)
{
	for (uint32_t i = 0; i < GRANTS_MAX; i++) {
		if (grants[i].of.slot == slot)
			grants[i].used = 0;
	}
}
