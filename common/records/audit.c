/* SPDX-License-Identifier: Apache-2.0 */
#include "common/records/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/text/text.h"

#define HASH_TEXT (sizeof(((struct audit_head *)0)->hash) - 1)
#define NUMBER_WIDTH (TEXT_NUMBER_MAX - 1)

static const char seq_key[] = "{\"seq\":";
static const char size_key[] = ",\"size\":";

/* A record's end: the text before, between and behind the two hashes. */
#define PREVIOUS_SIZE (sizeof(AUDIT_PREVIOUS) - 1)
#define MIDDLE_SIZE (sizeof(AUDIT_HASH) - 1)
#define END_SIZE (sizeof(AUDIT_END) - 1)
#define TAIL_SIZE (PREVIOUS_SIZE + HASH_TEXT + 1 + MIDDLE_SIZE + HASH_TEXT + END_SIZE)

const char *audit_event_name(enum audit_event event)
{
	static const char *const names[AUDIT_EVENT_COUNT] = {
#define AUDIT(name, text) [AUDIT_##name] = (text),
#include "common/records/audit.def"
#undef AUDIT
	};

	return event < AUDIT_EVENT_COUNT ? names[event] : "unknown";
}

struct audit_head audit_head_none(void)
{
	struct audit_head none = { .seq = 0 };

	memset(none.hash, '0', HASH_TEXT);
	return none;
}

void audit_file_name(unsigned int number, char ret[AUDIT_NAME_MAX])
{
	struct text name = { .used = 0 };

	text_add(&name, "audit.");
	if (number > 0) {
		text_add_number(&name, number);
		text_add(&name, ".");
	}
	text_add(&name, "jsonl");
	memcpy(ret, name.bytes, name.used + 1);
}

void audit_hash(const void *data, size_t size, char ret[AUDIT_HASH_MAX])
{
	uint8_t hash[SHA256_BYTES];

	sha256(data, size, hash);
	sha256_text(hash, ret);
}

/* Spaces in front of a number are JSON too, and keep all in its place. */
void audit_head_write(const struct audit_head *head, char ret[AUDIT_HEAD_BYTES])
{
	char text[AUDIT_HEAD_BYTES + 1];

	(void)snprintf(text, sizeof(text), "%s%*" PRIu64 "%s%*" PRIu64 AUDIT_HASH "%s" AUDIT_END,
		       seq_key, NUMBER_WIDTH, head->seq, size_key, NUMBER_WIDTH, head->size,
		       head->hash);
	memcpy(ret, text, AUDIT_HEAD_BYTES);
}

/* Digits, at least one; *at is moved behind them. */
static bool parse_number(const char **at, const char *end, uint64_t *ret)
{
	const char *start = *at;
	uint64_t number = 0;

	for (; *at < end && **at >= '0' && **at <= '9' && *at - start < NUMBER_WIDTH; (*at)++)
		number = number * 10 + (uint64_t)(**at - '0');
	*ret = number;
	return *at > start;
}

static bool expect_text(const char **at, const char *end, const char *text)
{
	const size_t size = strlen(text);

	if ((size_t)(end - *at) < size || memcmp(*at, text, size) != 0)
		return false;
	*at += size;
	return true;
}

/* At `*at` there are HASH_TEXT bytes, or more; it is moved behind them. */
static bool parse_hash(const char **at, char ret[AUDIT_HASH_MAX])
{
	memcpy(ret, *at, HASH_TEXT);
	ret[HASH_TEXT] = '\0';
	*at += HASH_TEXT;
	return strspn(ret, "0123456789abcdef") == HASH_TEXT;
}

/* Parse a number with spaces in front, as parse_number(). */
static bool parse_padded(const char **at, const char *end, uint64_t *ret)
{
	while (*at < end && **at == ' ')
		(*at)++;
	return parse_number(at, end, ret);
}

bool audit_head_read(const char text[AUDIT_HEAD_BYTES], struct audit_head *ret)
{
	/* cppcheck-suppress ctuPointerArith; nothing is read there */
	const char *end = text + AUDIT_HEAD_BYTES;
	const char *at = text;

	return expect_text(&at, end, seq_key) && parse_padded(&at, end, &ret->seq) &&
	       expect_text(&at, end, size_key) && parse_padded(&at, end, &ret->size) &&
	       expect_text(&at, end, AUDIT_HASH) && (size_t)(end - at) == HASH_TEXT + END_SIZE &&
	       parse_hash(&at, ret->hash) && expect_text(&at, end, AUDIT_END);
}

bool audit_link_read(const char *line, size_t size, struct audit_link *ret)
{
	const char *at = line;
	const char *end = line + size;
	char hash[AUDIT_HASH_MAX];

	if (size > AUDIT_LINE_MAX || !expect_text(&at, end, seq_key) ||
	    !parse_number(&at, end, &ret->seq) || !expect_text(&at, end, ",") ||
	    (size_t)(end - at) < TAIL_SIZE)
		return false;
	at = end - TAIL_SIZE;
	if (!expect_text(&at, end, AUDIT_PREVIOUS) || !parse_hash(&at, ret->previous) ||
	    !expect_text(&at, end, "\"") || !expect_text(&at, end, AUDIT_HASH) ||
	    !parse_hash(&at, ret->hash) || !expect_text(&at, end, AUDIT_END))
		return false;
	/* The quote in front of `,"hash":` closes `previous` and is hashed. */
	audit_hash(line, size - END_SIZE - HASH_TEXT - MIDDLE_SIZE, hash);
	ret->is_intact = strcmp(hash, ret->hash) == 0;
	return true;
}

bool audit_is_torn(const char *bytes, size_t size, uint64_t seq)
{
	struct text begin = { .used = 0 };

	text_add(&begin, seq_key);
	text_add_number(&begin, seq);
	text_add(&begin, ",\"time_us\":");
	return size > 0 && size < AUDIT_LINE_MAX && !memchr(bytes, '\n', size) &&
	       memcmp(bytes, begin.bytes, size < begin.used ? size : begin.used) == 0;
}
