/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys that detach: which texts name them, and which bytes are them.
 */
#include "held/keys.h"

#include <criterion/criterion.h>
#include <string.h>

static struct held_typing typing;

TestSuite(held_keys, .timeout = 60);

static void set_keys(const char *text)
{
	typing = (struct held_typing){ 0 };
	cr_assert_null(held_keys_parse(&typing.keys, text), "%s", text);
}

/* Type bytes and compare what is passed on. */
static void assert_typed(const char *bytes, const char *passed, bool is_detached)
{
	uint8_t ret[HELD_TYPED_MAX(512)];
	bool detach;
	const size_t size =
		held_typing_read(&typing, (const uint8_t *)bytes, strlen(bytes), ret, &detach);

	cr_assert_eq(detach, is_detached, "%s", bytes);
	cr_assert_eq(size, strlen(passed), "%s: %zu bytes", bytes, size);
	cr_assert_eq(memcmp(ret, passed, size), 0, "%s", bytes);
}

static void assert_refused(const char *text, const char *says)
{
	struct held_keys keys = { .count = 7 };
	const char *rule = held_keys_parse(&keys, text);

	cr_assert(rule && strstr(rule, says), "'%s': %s", text, rule ? rule : "taken");
	cr_assert_eq(keys.count, 7, "a refused text changes nothing");
}

Test(held_keys, a_text_names_one_or_two)
{
	struct held_keys keys;
	char text[HELD_KEYS_TEXT_MAX];

	cr_assert_null(held_keys_parse(&keys, HELD_KEYS_DEFAULT));
	cr_assert_eq(keys.count, 2);
	cr_assert_eq(keys.keys[0], 0x1c);
	cr_assert_eq(keys.keys[1], 'd');
	held_keys_describe(&keys, text);
	cr_assert_str_eq(text, "ctrl-\\ d");
	cr_assert_null(held_keys_parse(&keys, "ctrl-P,ctrl-@"));
	cr_assert_eq(keys.keys[0], 0x10);
	cr_assert_eq(keys.keys[1], 0);
	held_keys_describe(&keys, text);
	cr_assert_str_eq(text, "ctrl-p ctrl-@");
	cr_assert_null(held_keys_parse(&keys, "ctrl-a,,"));
	cr_assert_eq(keys.keys[1], ',');
	cr_assert_null(held_keys_parse(&keys, "none"));
	cr_assert_eq(keys.count, 0);
	assert_refused("", "one or two keys");
	assert_refused("ctrl-", "one or two keys");
	assert_refused("ctrl-1", "one or two keys");
	assert_refused("ctrl-a,", "one or two keys");
	assert_refused("ctrl-a,b,c", "one or two keys");
	assert_refused("ctrl-ab", "one or two keys");
	assert_refused("ctrl-a \x7f", "one or two keys");
	assert_refused("\xc3\xa4", "one or two keys");
	assert_refused("d", "one with ctrl-");
	assert_refused("d,ctrl-a", "one with ctrl-");
	assert_refused("ctrl-[", "Escape");
	assert_refused("ctrl-a,ctrl-[", "Escape");
}

Test(held_keys, bytes_and_reports_are_the_same_keys)
{
	static const char *const firsts[] = { "\x1c",          "\x1b[92;5u",   "\x1b[92;5:1u",
					      "\x1b[92;5:2u",  "\x1b[92;133u", "\x1b[27;5;92~",
					      "\x1b[92::92;5u" };
	static const char *const seconds[] = { "d", "\x1b[100u", "\x1b[100;1u", "\x1b[100;1:1u",
					       "\x1b[100;65u" };

	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		for (size_t k = 0; k < sizeof(seconds) / sizeof(seconds[0]); k++) {
			set_keys(HELD_KEYS_DEFAULT);
			assert_typed("a", "a", false);
			assert_typed(firsts[i], "", false);
			assert_typed("\x1b[92;5:3u", "", false); /* its release */
			assert_typed("\x1b[57442;1:3u", "", false);
			assert_typed(seconds[k], "", true);
		}
	}
}

Test(held_keys, everything_else_is_passed_on)
{
	static const char *const others[] = { "x",
					      "\x1b[A",
					      "\x1bOP",
					      "\x1b[92;6u",
					      "\x1b[93;5u",
					      "\x1b[4096u",
					      "\x1b[99999999999999999999u",
					      "\x1b[27;5;93~",
					      "\x1b[;u",
					      "\x1b[<0;1;1M",
					      "\x1b[?1u",
					      "\x1b\x1b",
					      "\xe4\xbd\xa0" };

	set_keys(HELD_KEYS_DEFAULT);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char both[64] = "\x1c";

		assert_typed(others[i], others[i], false);
		typing.size = 0; /* two Escapes are no complete report */
		typing.state = 0;
		typing.is_passed = false;
		if (strcmp(others[i], "\x1b\x1b") == 0)
			continue;
		assert_typed("\x1c", "", false);
		assert_typed(others[i], strcat(both, others[i]), false);
		typing = (struct held_typing){ .keys = typing.keys };
	}
	assert_typed("\x1c\x1c", "\x1c", false); /* twice is once */
	assert_typed("d", "d", false);
	assert_typed("\x1c\x1cx\x1c", "\x1cx", false);
	assert_typed("drest", "", true);
}

Test(held_keys, escape_does_not_wait_and_pieces_join)
{
	set_keys(HELD_KEYS_DEFAULT);
	assert_typed("\x1b", "\x1b", false);
	assert_typed("[", "[", false);
	assert_typed("A", "A", false);
	assert_typed("\x1c", "", false);
	assert_typed("d", "", true);
}

Test(held_keys, pasted_text_has_no_keys)
{
	char long_text[400];

	set_keys(HELD_KEYS_DEFAULT);
	assert_typed("\x1b[200~\x1c"
		     "d\x1b[92;5u\x1b[100u",
		     "\x1b[200~\x1c"
		     "d\x1b[92;5u\x1b[100u",
		     false);
	assert_typed("\x1c"
		     "d\x1b[20",
		     "\x1c"
		     "d\x1b[20",
		     false);
	assert_typed("1~\x1c", "1~", false);
	assert_typed("d", "", true);
	set_keys(HELD_KEYS_DEFAULT);
	memset(long_text, '1', sizeof(long_text));
	memcpy(long_text, "\x1b[", 2);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_typed(long_text, long_text, false);
	assert_typed("u\x1c", "u", false);
	assert_typed("d", "", true);
}

Test(held_keys, one_key_and_none)
{
	set_keys("ctrl-g");
	assert_typed("ab\x07 not read", "ab", true);
	set_keys("none");
	assert_typed("\x1c"
		     "d\x07",
		     "\x1c"
		     "d\x07",
		     false);
}
