/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets go into their fields, and out of answers, in pieces of any size.
 */
#include "http/secrets.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "http/redact.h"
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

/* Redact a text in pieces. The caller frees it. */
static char *redact_in(const char *text, size_t piece)
{
	static struct redact redact;
	struct buffer clean = { .bytes = NULL };
	const size_t size = strlen(text);

	redact_begin(&redact);
	for (size_t at = 0; at < size; at += piece)
		redact_take(&redact,
			    (struct slice){ text + at, size - at < piece ? size - at : piece },
			    &clean);
	redact_end(&redact, &clean);
	cr_expect_eq(redact.size, 0);
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
	expect_redacted("a" RIG_TOKEN "b", "amsp-secret-TOKENb");
	expect_redacted(RIG_TOKEN RIG_TOKEN, "msp-secret-TOKENmsp-secret-TOKEN");
	expect_redacted("tok/en+Value-012345678", "tok/en+Value-012345678");
	expect_redacted("tok/en+tok/en+Value-0123456789!", "tok/en+msp-secret-TOKEN!");
	expect_redacted("[" RIG_PASS "," RIG_TOKEN2 "]", "[msp-secret-PASS,msp-secret-TOKEN2]");
}

Test(redact, escaped_values)
{
	struct rig rig;

	rig_make(&rig);
	cr_assert_eq(rig_give(0, "a/b\"c\\d e+", 10), 0);
	expect_redacted("\"a/b\\\"c\\\\d e+\"", "\"msp-secret-TOKEN\"");
	expect_redacted("\"a\\/b\\\"c\\\\d e+\"", "\"msp-secret-TOKEN\"");
	expect_redacted("?a%2Fb%22c%5Cd%20e%2B&", "?msp-secret-TOKEN&");
}

Test(redact, base64_wherever_it_begins)
{
	struct rig rig;
	static const char *const befores[] = { "", "a", "ab", "abc", "me:", "user:" };
	static const char *const afters[] = { "", "x", "xy", "xyz" };

	rig_make(&rig);
	for (size_t i = 0; i < 6; i++) {
		for (size_t j = 0; j < 4; j++) {
			char text[128], twin[256], *clean;

			(void)snprintf(text, sizeof(text), "%s%s%s", befores[i], RIG_TOKEN,
				       afters[j]);
			(void)snprintf(twin, sizeof(twin), "%s", base64(text));
			clean = redact_in(twin, 7);
			cr_expect(strstr(clean, "msp-secret-TOKEN"), "%s: %s", text, clean);
			cr_expect_lt(strlen(clean), 16 + 4 + 12, "%s: %s", text, clean);
			free(clean);
			for (char *at = twin; *at; at++)
				*at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
			clean = redact_in(twin, 7);
			cr_expect(strstr(clean, "msp-secret-TOKEN"), "%s: %s", twin, clean);
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
	cr_expect_str_eq(clean, "(msp-secret-TOKEN)(msp-secret-TOKEN)");
	free(clean);
	cr_assert_eq(rig_give(0, "", 0), 0);
	clean = redact_in("(another value)", 5);
	cr_expect_str_eq(clean, "(msp-secret-TOKEN)");
	free(clean);
}

Test(redact, nothing_waits_that_is_no_beginning)
{
	static struct redact redact;
	struct buffer clean = { .bytes = NULL };
	struct rig rig;

	rig_make(&rig);
	redact_begin(&redact);
	redact_take(&redact, (struct slice){ "data: a\n\n", 9 }, &clean);
	cr_expect_eq(clean.size, 9);
	redact_take(&redact, (struct slice){ "tok", 3 }, &clean);
	cr_expect_eq(clean.size, 9);
	redact_take(&redact, (struct slice){ "yo", 2 }, &clean);
	cr_expect_eq(clean.size, 14);
	buffer_done(&clean);
}
