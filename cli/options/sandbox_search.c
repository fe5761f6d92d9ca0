/* SPDX-License-Identifier: Apache-2.0 */
#include "options/sandbox_search.h"

#include <string.h>

#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/text/format.h"

bool sandbox_is_recent(const char *word, uint32_t *ret_number)
{
	const size_t size = strlen(word);

	if (word[0] != '-' || size < 2 || size > 3 || word[1] == '0' ||
	    strspn(word + 1, "0123456789") != size - 1)
		return false;
	*ret_number = 0;
	for (word++; *word != '\0'; word++)
		*ret_number = *ret_number * 10 + (uint32_t)(*word - '0');
	return true;
}

bool sandbox_search_begin(struct sandbox_search *search, const char *word)
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz"; /* Crockford's */
	const size_t size = strlen(word);

	memset(search, 0, sizeof(*search));
	search->word = word;
	search->is_beginning =
		size >= SANDBOX_SEARCH_MIN && size < IPC_ID_MAX && strspn(word, digits) == size;
	return search->is_beginning;
}

static void keep_found(struct sandbox_search *search, const struct ipc_sandbox_info *info)
{
	format_text(search->id, sizeof(search->id), "%s", info->id);
	format_text(search->name, sizeof(search->name), "%s", info->name);
	format_text(search->owner, sizeof(search->owner), "%s", info->owner);
	format_text(search->profile, sizeof(search->profile), "%s", info->profile);
	search->is_live = info->is_live != 0;
}

void sandbox_search_add(struct sandbox_search *search, const struct ipc_sandbox_info *info)
{
	if (!search->is_beginning || search->is_exact ||
	    strncmp(info->id, search->word, strlen(search->word)) != 0)
		return;
	search->found++;
	keep_found(search, info);
}

void sandbox_search_add_named(void *context, const struct ipc_sandbox_info *info)
{
	struct sandbox_search *search = context;

	if (strcmp(info->name, search->word) != 0 && strcmp(info->id, search->word) != 0) {
		sandbox_search_add(search, info);
		return;
	}
	search->is_exact = true;
	search->found = 1;
	keep_found(search, info);
}

void sandbox_search_explain(const struct sandbox_search *search, struct ipc_execution_refused *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->reason = REFUSAL_SANDBOX_UNKNOWN;
	if (search->found > 1)
		format_text(ret->detail, sizeof(ret->detail),
			    "%u ids begin with it: type more of the one that is meant",
			    search->found);
}
