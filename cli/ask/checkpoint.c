/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ask/ask.h"
#include "common/log.h"

struct named {
	const char *name;
	uint32_t number;
};

static void on_named(void *context, const struct ipc_checkpoint_info *info)
{
	struct named *named = context;

	if (strcmp(info->name, named->name) == 0)
		named->number = info->number;
}

bool ask_is_number(const char *word, uint32_t *ret)
{
	uint64_t number = 0;

	for (const char *c = word; *c != '\0'; c++) {
		if (*c < '0' || *c > '9' || number > UINT32_MAX)
			return false;
		number = number * 10 + (uint64_t)(*c - '0');
	}
	*ret = (uint32_t)number;
	return number > 0 && number <= UINT32_MAX;
}

int ask_for_checkpoint(struct asking *asking, const char *sandbox, const char *checkpoint,
		       uint32_t *ret)
{
	static const struct ask_handlers list_handlers = { .on_checkpoint = on_named };
	static struct question question = { .kind = ASK_CHECKPOINT };
	struct named named = { .name = checkpoint, .number = 0 };
	int code;

	if (ask_is_number(checkpoint, ret))
		return 0;
	question.is.checkpoint.operation = CHECKPOINT_LIST;
	question.words = (struct refusal_words){ .sandbox = sandbox };
	code = ask(asking, &question, &list_handlers, &named);
	if (code)
		return code;
	if (named.number == 0)
		return log_fail(MSP_EXIT_USAGE,
				"sandbox '%s' has no checkpoint '%s': 'msp checkpoints %s' shows "
				"those that there are",
				sandbox, checkpoint, sandbox);
	*ret = named.number;
	return 0;
}
