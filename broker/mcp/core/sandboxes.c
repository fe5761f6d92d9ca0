/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/sandboxes.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "executions/share.h"
#include "lib/heap/memory.h"
#include "mcp/core/sandbox_search.h"

/* Bytes of a name. */
#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

const char *sandboxes_owner(const struct host *host, uint32_t principal)
{
	const char *name = NULL;

	if (principal == 0)
		return "";
	if (host->name_principal)
		name = host->name_principal(host->principals, principal);
	if (!name)
		bug("a principal without a name");
	return name;
}

void sandboxes_head(const struct session *session, const char *sandbox, struct ipc_head *ret)
{
	(void)strncpy(ret->owner, sandboxes_owner(session->host, session->principal),
		      sizeof(ret->owner) - 1);
	ret->owner[sizeof(ret->owner) - 1] = '\0';
	if (sandbox)
		(void)strncpy(ret->sandbox, sandbox, sizeof(ret->sandbox) - 1);
}

bool sandboxes_is_id(const char *text)
{
	return strlen(text) == SANDBOX_ID_CHARS && strspn(text, IPC_ID_DIGITS) == SANDBOX_ID_CHARS;
}

const char *sandboxes_check_name(const char *name, bool is_sandbox)
{
	if (!name[0] || name[strspn(name, NAME_BYTES)] || name[0] == '.' || name[0] == '-')
		return "but may have letters, digits, '.', '_' and '-' only, and begins with a "
		       "letter, a digit or '_'. Choose another.";
	if (is_sandbox && sandboxes_is_id(name))
		return "which looks like an id. Choose another name.";
	return NULL;
}

/* Return the link that holds the principal's sandbox with this id, or the last link. */
static struct known_sandbox **find_link(struct known_sandbox **link, uint32_t principal,
					const char *id)
{
	while (*link && ((*link)->principal != principal || strlen(id) != SANDBOX_ID_CHARS ||
			 sodium_memcmp((*link)->id, id, SANDBOX_ID_CHARS) != 0))
		link = &(*link)->next;
	return link;
}

static void drop_known(struct known_sandbox **link)
{
	struct known_sandbox *known = *link;

	*link = known->next;
	free(known);
}

/* Forget the principal's oldest if it has more than its share. */
static void fit_known(struct host *host, uint32_t principal)
{
	struct known_sandbox **oldest = NULL;
	size_t own = 0, all = 0;

	for (struct known_sandbox **link = &host->sandboxes; *link; link = &(*link)->next) {
		all++;
		if ((*link)->principal != principal)
			continue;
		own++;
		oldest = link;
	}
	if (oldest && !share_allows(principal, own, all, SANDBOXES_KNOWN_MAX, 0))
		drop_known(oldest);
}

void sandboxes_learn(struct host *host, uint32_t principal, const struct ipc_sandbox_info *info)
{
	struct known_sandbox *known = memory_get_zeroed(1, sizeof(*known));

	sandboxes_forget(host, principal, info->id);
	known->principal = principal;
	memcpy(known->id, info->id, sizeof(known->id));
	memcpy(known->name, info->name, sizeof(known->name));
	memcpy(known->profile, info->profile, sizeof(known->profile));
	known->next = host->sandboxes;
	host->sandboxes = known;
	fit_known(host, principal);
}

void sandboxes_forget(struct host *host, uint32_t principal, const char *id)
{
	struct known_sandbox **link = find_link(&host->sandboxes, principal, id);

	if (*link)
		drop_known(link);
}

void sandboxes_forget_all(struct host *host)
{
	while (host->sandboxes)
		drop_known(&host->sandboxes);
}

const struct known_sandbox *sandboxes_known(const struct host *host, uint32_t principal,
					    const char *id)
{
	struct known_sandbox *first = host->sandboxes;

	return *find_link(&first, principal, id);
}

const struct known_sandbox *sandboxes_next(const struct host *host, uint32_t principal,
					   const struct known_sandbox *before)
{
	const struct known_sandbox *known = before ? before->next : host->sandboxes;

	while (known && known->principal != principal)
		known = known->next;
	return known;
}

const char *sandboxes_id_of(const struct host *host, uint32_t principal, const char *called)
{
	const struct known_sandbox *known = NULL;

	while ((known = sandboxes_next(host, principal, known))) {
		if (strcmp(known->id, called) == 0 || strcmp(known->name, called) == 0)
			return known->id;
	}
	return NULL;
}

/* --- lookup ----------------------------------------------------------------------------------- */

static bool is_meant(const struct sandbox_search *search, const struct ipc_sandbox_info *info)
{
	return strcmp(info->id, search->wanted) == 0 || strcmp(info->name, search->wanted) == 0;
}

static void take_found(struct errand *errand, const struct supervisor_answer *answer)
{
	struct sandbox_search *search = (struct sandbox_search *)errand;
	const struct session *session = errand->call->session;
	struct ipc_execution_refused unknown = { .reason = REFUSAL_SANDBOX_UNKNOWN };

	if (answer->kind == ANSWER_SANDBOX) {
		sandboxes_learn(session->host, session->principal, answer->sandbox);
		if (!is_meant(search, answer->sandbox))
			return;
		search->is_found = true;
		search->info = *answer->sandbox;
	} else if (search->is_found) {
		errand->step = NULL;
		search->found(search);
	} else {
		errand_refuse(errand, &unknown);
	}
}

void sandbox_search_begin(struct sandbox_search *search, struct call *call,
			  void (*found)(struct sandbox_search *search),
			  const struct errand_rules *rules)
{
	struct ipc_sandbox_list request = { .request = 0 };

	errand_begin(&search->errand, call, rules);
	search->errand.step = take_found;
	search->errand.subjects.sandbox = search->wanted;
	search->found = found;
	search->is_found = false;
	errand_ask(&search->errand, sandbox_list, search->wanted, &request, -1);
}
