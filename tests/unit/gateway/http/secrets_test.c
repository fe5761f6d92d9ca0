/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets go into their fields, and out of answers, in pieces of any size.
 */
#include "gateway/http/secrets.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_http.h"
#include "gateway/http/redact.h"
#include "rig.h"

static char value[SECRETS_FIELD_MAX];
static size_t value_size;

static enum secrets_result put(uint32_t host, const char *name, const char *text)
{
	const struct head_field field = { .name = { name, strlen(name) },
					  .value = { text, strlen(text) } };
	int secret = -1;
	const enum secrets_result result = secrets_put(host, &field, value, &value_size, &secret);

	cr_expect(result == SECRETS_FINE || secret >= 0);
	value[value_size] = '\0';
	return result;
}

static char *base64(const char *text)
{
	static unsigned char coded[1024];

	(void)EVP_EncodeBlock(coded, (const unsigned char *)text, (int)strlen(text));
	return (char *)coded;
}

Test(secrets, in_their_fields)
{
	struct rig rig;
	char text[1100];

	rig_make(&rig);
	cr_expect_eq(put(0, "authorization", "Bearer msp-secret-TOKEN"), SECRETS_FINE);
	cr_expect_str_eq(value, "Bearer " RIG_TOKEN);
	cr_expect_eq(put(0, "Authorization", "amsp-secret-TOKENmsp-secret-TOKENb"), SECRETS_FINE);
	cr_expect_str_eq(value, "a" RIG_TOKEN RIG_TOKEN "b");
	cr_expect_eq(put(2, "X-Api-Key", "msp-secret-TOKEN2"), SECRETS_FINE);
	cr_expect_str_eq(value, RIG_TOKEN2);
	cr_expect_eq(put(1, "Authorization", "Bearer other"), SECRETS_FINE);
	cr_expect_str_eq(value, "Bearer other");
	(void)snprintf(text, sizeof(text), "basic %s", base64("me:msp-secret-PASS"));
	cr_expect_eq(put(2, "Authorization", text), SECRETS_FINE);
	(void)snprintf(text, sizeof(text), "Basic %s", base64("me:" RIG_PASS));
	cr_expect_str_eq(value, text);
	cr_expect_eq(put(2, "Authorization", "Basic !!!!"), SECRETS_FINE);
	cr_expect_str_eq(value, "Basic !!!!");
}

Test(secrets, elsewhere)
{
	struct rig rig;
	char text[1100];

	rig_make(&rig);
	cr_expect_eq(put(0, "X-Other", "msp-secret-TOKEN"), SECRETS_ELSEWHERE);
	cr_expect_eq(put(1, "Authorization", "msp-secret-TOKEN"), SECRETS_OTHER_HOST);
	cr_expect_eq(put(0, "X-Api-Key", "msp-secret-TOKEN2"), SECRETS_OTHER_HOST);
	cr_expect_eq(put(0, "Authorization", "msp-secret-TOKEN msp-secret-PASS"),
		     SECRETS_OTHER_HOST);
	(void)snprintf(text, sizeof(text), "Basic %s", base64("me:msp-secret-PASS"));
	cr_expect_eq(put(0, "Authorization", text), SECRETS_OTHER_HOST);
	cr_expect_eq(put(2, "X-Other", text), SECRETS_ELSEWHERE);
	cr_expect_eq(secrets_find((struct slice){ "/a?b=msp-secret-TOKEN2", 22 }), 1);
	cr_expect_eq(secrets_find((struct slice){ "/a?b=msp-secret-", 16 }), -1);
	cr_expect(secrets_are_for(0) && !secrets_are_for(1) && secrets_are_for(2));
}

Test(secrets, field_has_a_limit)
{
	struct rig rig;
	static char text[SECRETS_FIELD_MAX + 1];

	rig_make(&rig);
	memset(text, 'a', SECRETS_FIELD_MAX);
	memcpy(text, "msp-secret-TOKEN", 16);
	cr_expect_eq(put(0, "Authorization", text), SECRETS_LONG);
}

Test(secrets, values_are_checked)
{
	struct rig rig;
	static char text[HTTP_SECRET_MAX + 1];

	rig_make(&rig);
	memset(text, 'a', sizeof(text));
	cr_expect_eq(rig_give(3, "12345678", 8), -EPROTO);
	cr_expect_eq(rig_give(0, "1234567", 7), -EPROTO);
	cr_expect_eq(rig_give(0, text, HTTP_SECRET_MAX + 1), -EPROTO);
	cr_expect_eq(rig_give(0, "1234567\n", 8), -EPROTO);
	cr_expect_eq(rig_give(0, "1234\r\nX: a", 10), -EPROTO);
	cr_expect_eq(rig_give(0, " 12345678", 9), -EPROTO);
	cr_expect_eq(rig_give(0, "1234567\x80", 8), -EPROTO);
	cr_expect_eq(put(0, "Authorization", "msp-secret-TOKEN"), SECRETS_FINE);
	cr_expect_str_eq(value, RIG_TOKEN);
	cr_expect_eq(rig_give(0, "", 0), 0);
	cr_expect_eq(put(0, "Authorization", "msp-secret-TOKEN"), SECRETS_NO_VALUE);
	cr_expect_eq(rig_give(0, text, HTTP_SECRET_MAX), 0);
	cr_expect_eq(put(0, "Authorization", "msp-secret-TOKEN"), SECRETS_FINE);
	cr_expect_eq(value_size, HTTP_SECRET_MAX);
}

/* --- redaction -------------------------------------------------------------------------------- */

static struct redact redact;

/* Redact a text in pieces. The caller frees it. */
static char *redact_in(const char *text, size_t piece)
{
	struct buffer clean = { .bytes = NULL };
	const size_t size = strlen(text);

	redact_begin(&redact);
	for (size_t at = 0; at < size; at += piece)
		redact_take(&redact,
			    (struct slice){ text + at, size - at < piece ? size - at : piece },
			    &clean);
	redact_end(&redact, &clean);
	cr_expect_eq(redact.size, 0);
	cr_expect_eq(clean.size, size);
	buffer_append(&clean, "", 1);
	return clean.bytes;
}

static void expect_redacted(const char *text, const char *clean)
{
	for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
		char *got = redact_in(text, piece);

		cr_expect_str_eq(got, clean, "in pieces of %zu: %s", piece, got);
		free(got);
	}
}

Test(redact, values)
{
	struct rig rig;

	rig_make(&rig);
	expect_redacted("a" RIG_TOKEN "b", "amsp-secret-TOKEN*******b");
	expect_redacted(RIG_TOKEN RIG_TOKEN, "msp-secret-TOKEN*******msp-secret-TOKEN*******");
	expect_redacted("tok/en+Value-012345678", "tok/en+Value-012345678");
	expect_redacted("tok/en+tok/en+Value-0123456789!", "tok/en+msp-secret-TOKEN*******!");
	expect_redacted("\n" RIG_TOKEN "\n", "\nmsp-secret-TOKEN*******\n");
	expect_redacted("[" RIG_PASS "," RIG_TOKEN2 "]", "[msp-secr,msp-secret-TOKE]");
}

Test(redact, forms_of_a_value)
{
	struct rig rig;
	static const char *const texts[] = {
		"a/b\"c<\\d e+'",
		"612f6222633c5c6420652b27",
		"612F6222633C5C6420652B27",
		"a%2Fb%22c%3C%5Cd%20e%2B%27",
		"a%2fb%22c%3c%5cd%20e%2b%27",
		"a%2Fb%22c%3C%5Cd+e%2B%27",
		"a/b%22c%3C%5Cd%20e%2B%27",
		"a%2Fb%22c%3C%5Cd%20e%2B'",
		"a/b\\\"c<\\\\d e+'",
		"a\\/b\\\"c<\\\\d e+'",
		"a/b\\\"c\\u003c\\\\d e+'",
		"a/b\\\"c\\u003c\\\\d e+\\u0027",
		"a/b\\u0022c\\u003C\\\\d e\\u002B\\u0027",
		"a\\/b\\u0022c\\u003C\\\\d e+\\u0027",
	};

	rig_make(&rig);
	cr_assert_eq(rig_give(0, texts[0], strlen(texts[0])), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		static const char cover[] = "msp-secret-TOKEN*********************************";
		char clean[64];

		(void)snprintf(clean, sizeof(clean), "%.*s", (int)strlen(texts[i]), cover);
		expect_redacted(texts[i], clean);
	}
}

Test(redact, base64_wherever_it_begins)
{
	struct rig rig;
	static const char *const befores[] = { "", "a", "ab", "abc", "me:", "user:" };
	static const char *const afters[] = { "", "x", "xy", "xyz" };

	rig_make(&rig);
	for (size_t i = 0; i < 6 * 4 * 2; i++) {
		const char *before = befores[i / 8], *after = afters[i / 2 % 4];
		/* Each character with a bit of the value is covered, and no other one. */
		const size_t first = 8 * strlen(before) / 6;
		const size_t end = (8 * strlen(before) + 8 * strlen(RIG_TOKEN) + 5) / 6;
		char text[128], coded[256];

		(void)snprintf(text, sizeof(text), "%s" RIG_TOKEN "%s", before, after);
		(void)snprintf(coded, sizeof(coded), "%s", base64(text));
		for (char *at = coded; i % 2 == 1 && *at; at++)
			*at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
		for (size_t piece = 1; piece < 50; piece += 6) {
			char *clean = redact_in(coded, piece);
			size_t kept = 0;

			cr_expect(strstr(clean, "msp-secret-TOKEN"), "%s: %s", text, clean);
			for (size_t at = first; at < end; at++)
				kept += clean[at] == coded[at] &&
					strchr("-mspecrtTOKEN*", clean[at]) == NULL;
			cr_expect_eq(kept, 0, "%s: %s, %s", text, coded, clean);
			cr_expect(first == 0 || clean[first] == '*' || clean[first] == 'm', "%s",
				  clean);
			cr_expect_eq(memcmp(clean, coded, first), 0, "%s", clean);
			cr_expect_str_eq(clean + end, coded + end, "%s", clean);
			free(clean);
		}
	}
}

Test(redact, values_that_share_bytes)
{
	struct rig rig;

	rig_make(&rig);
	cr_assert_eq(rig_give(0, "abcdefgh", 8), 0);
	cr_assert_eq(rig_give(1, "abcdefghijkl", 12), 0);
	cr_assert_eq(rig_give(2, "efghijklmnop", 12), 0);
	/* No byte of the longest is left, whichever begins first. */
	for (size_t piece = 1; piece < 20; piece++) {
		char *clean = redact_in("-abcdefghijklmnop-abcdefghijk-", piece);

		cr_expect_null(strstr(clean, "ijkl"), "%zu: %s", piece, clean);
		cr_expect_null(strstr(clean, "mnop"), "%zu: %s", piece, clean);
		cr_expect_str_eq(strrchr(clean, 'i'), "ijk-", "%zu: %s", piece, clean);
		free(clean);
	}
}

Test(redact, value_before_a_new_one)
{
	struct rig rig;
	char *clean;

	rig_make(&rig);
	cr_assert_eq(rig_give(0, "another value", 13), 0);
	clean = redact_in("(" RIG_TOKEN ")(another value)", 5);
	cr_expect_str_eq(clean, "(msp-secret-TOKEN*******)(msp-secret-TO)");
	free(clean);
	cr_assert_eq(rig_give(0, "", 0), 0);
	clean = redact_in("(another value)", 5);
	cr_expect_str_eq(clean, "(msp-secret-TO)");
	free(clean);
}

Test(redact, new_value_within_a_stream)
{
	struct buffer clean = { .bytes = NULL };
	struct rig rig;

	rig_make(&rig);
	redact_begin(&redact);
	redact_take(&redact, (struct slice){ "(another ", 9 }, &clean);
	cr_assert_eq(rig_give(0, "another value", 13), 0);
	redact_take(&redact, (struct slice){ "value)", 6 }, &clean);
	redact_end(&redact, &clean);
	cr_expect_eq(memcmp(clean.bytes, "(msp-secret-TO)", 15), 0);
	buffer_done(&clean);
}

Test(redact, nothing_waits_beyond_the_end_of_a_line)
{
	static const char *const ends[] = { "\n", "\r\n\r\n", "\t", "\xc3\xa9", "\x7f", "\0" };
	struct buffer clean = { .bytes = NULL };
	struct rig rig;

	rig_make(&rig);
	for (size_t i = 0; i < 6; i++) {
		const size_t size = strlen(ends[i]) + (i == 5);

		redact_begin(&redact);
		redact_take(&redact, (struct slice){ "data: tok", 9 }, &clean);
		cr_expect_eq(clean.size, 0);
		redact_take(&redact, (struct slice){ ends[i], size }, &clean);
		cr_expect_eq(clean.size, 9 + size);
		redact_take(&redact, (struct slice){ "tok", 3 }, &clean);
		cr_expect_eq(clean.size, 9 + size);
		redact_end(&redact, &clean);
		cr_expect_eq(clean.size, 12 + size);
		buffer_done(&clean);
	}
}

/* --- the same for every value ----------------------------------------------------------------- */

#define STREAM_BYTES 3000
#define PIECES_MAX 200

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Draw a value of printable characters, without a space at its ends. */
static void draw_value(char *ret, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ret[i] = (char)('!' + draw('~' - '!' + 1));
}

/* Draw a text with parts of a value: beginnings, ends, all of it; and lines. */
static void draw_text(const char *token, size_t size, char text[STREAM_BYTES])
{
	for (size_t at = 0; at < STREAM_BYTES;) {
		const size_t from = draw(3) == 0 ? draw((uint32_t)size) : 0;
		const size_t wanted =
			draw(4) == 0 ? size - from : draw((uint32_t)(size - from + 1));
		const size_t part = wanted < STREAM_BYTES - at ? wanted : STREAM_BYTES - at;

		memcpy(text + at, token + from, part);
		at += part;
		if (at < STREAM_BYTES)
			text[at++] = draw(9) == 0 ? '\n' : (char)('!' + draw(90));
	}
}

/* Redact a text in given pieces. Return the sizes of what comes out. */
static void measure_pieces(const char *text, const uint32_t *pieces, uint32_t count, size_t *ret)
{
	size_t at = 0;

	redact_begin(&redact);
	for (uint32_t i = 0; i < count; i++) {
		struct buffer clean = { .bytes = NULL };

		redact_take(&redact, (struct slice){ text + at, pieces[i] }, &clean);
		at += pieces[i];
		if (at == STREAM_BYTES)
			redact_end(&redact, &clean);
		ret[i] = clean.size;
		buffer_done(&clean);
	}
	cr_assert_eq(at, STREAM_BYTES);
}

static uint32_t draw_pieces(uint32_t ret[PIECES_MAX])
{
	uint32_t count = 0;

	for (uint32_t left = STREAM_BYTES; left > 0; count++) {
		const uint32_t size = draw(7) == 0 ? 1 : 15 + draw(400);

		ret[count] = size < left ? size : left;
		left -= ret[count];
	}
	return count;
}

Test(redact, sizes_tell_nothing_of_a_value)
{
	static char text[STREAM_BYTES], values[2][200];
	static uint32_t pieces[PIECES_MAX];
	static size_t sizes[2][PIECES_MAX];
	struct rig rig;

	rig_make(&rig);
	for (seed = 0; seed < 300;) {
		const uint32_t began = seed, size = HTTP_SECRET_MIN + seed * 7 % 150;
		uint32_t count;

		seed = seed * 2654435761U + 1;
		draw_value(values[0], size);
		draw_value(values[1], size);
		count = draw_pieces(pieces);
		draw_text(values[0], size, text);
		for (size_t i = 0; i < 2; i++) {
			/* The value before is still looked for: have both go. */
			for (size_t j = 0; j < 2; j++) {
				cr_assert_eq(rig_give(0, "", 0), 0);
				cr_assert_eq(rig_give(0, j == 0 ? "12345678" : values[i],
						      j == 0 ? 8 : size),
					     0);
			}
			measure_pieces(text, pieces, count, sizes[i]);
		}
		cr_expect_eq(memcmp(sizes[0], sizes[1], count * sizeof(size_t)), 0, "seed %u",
			     began);
		seed = began + 1;
	}
}
