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

/* Return whether a row says no more once another one of the same party is there. */
static bool is_replaced(const struct grant *grant, const struct grant *by)
{
	if (by->is_cut && by->host[0] == '\0')
		return true;
	if (strcmp(grant->host, by->host) != 0 || (!by->is_cut && grant->port != by->port))
		return false;
	return by->is_cut || (by->is_back ? grant->is_back
					  : !grant->is_cut && grant->is_brokers == by->is_brokers);
}

/* Add a row in the place of those that it replaces. NULL: there is no room. */
static const struct grant *add_row(struct grant row, const struct party *of, const char *host)
{
	struct grant *place;

	memcpy(row.host, host, strlen(host) + 1);
	for (uint32_t i = 0; i < GRANTS_MAX; i++) {
		if (is_same(&grants[i], of) && is_replaced(&grants[i], &row))
			grants[i].used = 0;
	}
	place = find_room(of);
	if (!place)
		return NULL;
	row.used = ++uses;
	row.time_us = clock_now_us();
	row.of = *of;
	*place = row;
	return place;
}

const struct grant *grants_add(const struct party *to, const char *host, uint32_t port,
			       bool is_brokers)
{
	return add_row((struct grant){ .port = port, .is_brokers = is_brokers }, to, host);
}

bool grants_cut(const struct party *from, const char *host)
{
	return add_row((struct grant){ .is_cut = true }, from, host) != NULL;
}

bool grants_give_back(const struct party *to, const char *host, uint32_t port)
{
	return add_row((struct grant){ .port = port, .is_back = true }, to, host) != NULL;
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
