/* SPDX-License-Identifier: Apache-2.0
 *
 * The modes of a terminal: what is read from a program's output, what a later terminal gets, and
 * how one is given back.
 */
#include "held/modes.h"
#include "held/screen.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/format.h"

static struct modes modes;
static struct screen screen;
static char text[MODES_TEXT_MAX];
static char parts[4096];
static uint8_t replay[SCREEN_REPLAY_MAX + 1];

TestSuite(held_modes, .timeout = 60);

/* One letter for each kind of part, and its bytes. */
static void note_part(void *context, enum modes_part part, const uint8_t *bytes, size_t size)
{
	format_append(parts, sizeof(parts), "%c%.*s|", "smqdcw"[part], (int)size,
		      (const char *)bytes);
	(void)context;
}

static const struct modes_taker taker = { .take = note_part };

static void read_text(const char *bytes)
{
	modes_read(&modes, (const uint8_t *)bytes, strlen(bytes), &taker);
}

/* Read bytes at once, and one by one: the parts but for plain text are the same. */
static void assert_parts(const char *bytes, const char *expected)
{
	modes = (struct modes){ 0 };
	parts[0] = '\0';
	read_text(bytes);
	cr_assert_str_eq(parts, expected);
	modes = (struct modes){ 0 };
	for (size_t i = 0; bytes[i]; i++)
		modes_read(&modes, (const uint8_t *)bytes + i, 1, NULL);
	cr_assert_eq(modes.state, 0);
}

static void assert_set(const char *bytes, const char *set, const char *reset)
{
	modes = (struct modes){ 0 };
	read_text(bytes);
	cr_assert_eq(modes_write_set(&modes, text), strlen(set), "%s", text + 1);
	cr_assert_str_eq(text, set);
	(void)modes_write_reset(&modes, text);
	cr_assert_str_eq(text, reset);
}

Test(held_modes, parts)
{
	assert_parts("a\x1b[1mb\r\n", "sa|s\x1b[1m|sb\r\n|");
	assert_parts("\x1b[?2004h\x1b[?25l", "m\x1b[?2004h|m\x1b[?25l|");
	assert_parts("\x1b[6n\x1b[c\x1b[>c\x1b[=c\x1b[?u\x1b[?2026$p\x1b[>q\x1b[18t\x1bZ",
		     "q\x1b[6n|q\x1b[c|q\x1b[>c|q\x1b[=c|q\x1b[?u|q\x1b[?2026$p|q\x1b[>q|"
		     "q\x1b[18t|q\x1bZ|");
	assert_parts("\x05\x07", "q\x05|d\x07|");
	assert_parts("\x1b]0;title\x07\x1b]8;;http://a\x1b\\\x1b]11;?\x1b\\\x1b]52;c;?\x07",
		     "s\x1b]0;title\x07|s\x1b]8;;http://a\x1b\\|q\x1b]11;?\x1b\\|"
		     "d\x1b]52;c;?\x07|");
	assert_parts("\x1bP+q544e\x1b\\\x1bPq#0\x1b\\\x1b_Gi=1\x1b\\",
		     "q\x1bP+q544e\x1b\\|d\x1bPq#0\x1b\\|d\x1b_Gi=1\x1b\\|");
	assert_parts("\x1b[2J\x1b[3J\x1b"
		     "c",
		     "s\x1b[2J|c\x1b[3J|c\x1b"
		     "c|");
	assert_parts("\x1b[?1049h\x1b[?1049h\x1b[?47l", "w\x1b[?1049h|m\x1b[?1049h|w\x1b[?47l|");
	assert_parts("\x1b[22;0t\x1b[5i", "d\x1b[22;0t|d\x1b[5i|");
	/* Sequences that others have cut off. */
	assert_parts("\x1b[12\x18x\x1b]0;a\x1b[1mb", "sx|s\x1b[1m|sb|");
}

Test(held_modes, what_is_on_is_set_and_given_back)
{
	assert_set("", "", "\x1b[m");
	assert_set("\x1b[?25l\x1b[?2004;1002;1006h", "\x1b[?25l\x1b[?1002h\x1b[?1006h\x1b[?2004h",
		   "\x1b[?25h\x1b[?1002l\x1b[?1006l\x1b[?2004l\x1b[m");
	assert_set("\x1b[?25l\x1b[?25h\x1b[?7h\x1b[?2004l", "", "\x1b[m");
	assert_set("\x1b=\x1b[>4;2m\x1b[3 q", "\x1b=\x1b[>4;2m\x1b[3 q",
		   "\x1b>\x1b[>4m\x1b[0 q\x1b[m");
	assert_set("\x1b[2;20r", "\x1b\x37\x1b[2;20r\x1b\x38", "\x1b\x37\x1b[r\x1b\x38\x1b[m");
	assert_set("\x0e\x1b(0", "", "\x0f\x1b(B\x1b[m");
	assert_set("\x1b[?1h\x1b=\x1b[2;3r\x1b[!p", "", "\x1b[m");
	assert_set("\x1b[?1049h\x1b[?1003h\x1b[>1u\x1b"
		   "c",
		   "", "\x1b[m");
	assert_set("text", "", "\x1b[m\r\n");
	assert_set("text\r\n", "", "\x1b[m");
}

Test(held_modes, keyboard_flags_are_of_their_screen)
{
	assert_set("\x1b[>1u\x1b[>5u", "\x1b[>1u\x1b[>5u", "\x1b[<2u\x1b[m");
	assert_set("\x1b[>1u\x1b[>5u\x1b[<u", "\x1b[>1u", "\x1b[<1u\x1b[m");
	assert_set("\x1b[>1u\x1b[<99u", "", "\x1b[m");
	assert_set("\x1b[=3u", "\x1b[=3u", "\x1b[=0u\x1b[m");
	assert_set("\x1b[>1u\x1b[?1049h\x1b[>7u", "\x1b[>7u", "\x1b[<1u\x1b[?1049l\x1b[<1u\x1b[m");
	assert_set("\x1b[?1047h\x1b[>7u\x1b[?1047l", "", "\x1b[m");
	for (int i = 0; i < 100; i++)
		assert_set("\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>"
			   "1u",
			   "\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u",
			   "\x1b[<8u\x1b[m");
}

Test(held_modes, an_unfinished_sequence_is_ended)
{
	assert_set("\x1b[1;2", "", "\x18\x1b[m");
	assert_set("\x1b", "", "\x18\x1b[m");
	assert_set("\x1b]0;tit", "", "\x1b\\\x1b[m");
	assert_set("\x1b]0;tit\x1b", "", "\x1b\\\x1b[m");
}

/* Any bytes end in modes that have texts of a bounded size. */
Test(held_modes, random_bytes)
{
	static const char alphabet[] = "\x1b\x1b\x1b[[?;:0123456789hlruqmpJtc>=<$ !]P\\\x07\x18()#";
	uint8_t bytes[4096];

	srand(1);
	modes = (struct modes){ 0 };
	for (int round = 0; round < 500; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = rand() % 20 == 0
					   ? (uint8_t)rand()
					   : (uint8_t)alphabet[(size_t)rand() % sizeof(alphabet)];
		modes_read(&modes, bytes, sizeof(bytes), NULL);
		cr_assert_lt(modes_write_set(&modes, text), MODES_TEXT_MAX - 64);
		cr_assert_lt(modes_write_reset(&modes, text), MODES_TEXT_MAX - 64);
	}
}

/* --- the screen --------------------------------------------------------------------------------
 */

static void write_screen(const char *bytes)
{
	screen_take(&screen, (const uint8_t *)bytes, strlen(bytes), false);
}

static void assert_replay(const char *expected)
{
	const size_t size = screen_replay(&screen, 2, replay);

	replay[size] = '\0';
	cr_assert_str_eq((const char *)replay, expected);
}

Test(held_modes, a_replay_has_text_modes_and_open_questions)
{
	assert_replay("");
	cr_assert(screen_is_empty(&screen));
	write_screen("plain\r\n");
	assert_replay("plain\r\n");
	write_screen("\x1b[31mred\x07\x1b[?2004h\x1b[6n");
	assert_replay("\n\n\r\x1b[H\x1b[Jplain\r\n\x1b[31mred\x1b[?2004h\x1b[6n");
	assert_replay("\n\n\r\x1b[H\x1b[Jplain\r\n\x1b[31mred\x1b[?2004h"); /* asked once */
	screen_take(&screen, (const uint8_t *)"\x1b[6n", 4, true);
	write_screen("\x1b[?1049h\x1b[5;5Hmenu");
	assert_replay("\n\n\r\x1b[H\x1b[Jplain\r\n\x1b[31mred\x1b[?1049h\x1b[H\x1b[J\x1b[5;5Hmenu"
		      "\x1b[?2004h");
	write_screen("\x1b[?1049l\x1b[3Jnew");
	assert_replay("\n\n\r\x1b[H\x1b[J\x1b[3Jnew\x1b[?2004h");
	write_screen("\x1b[?1049hother\x1b[?1049l\x1b"
		     "c");
	assert_replay("\n\n\r\x1b[H\x1b[J\x1b"
		      "c");
}

Test(held_modes, the_oldest_output_goes_line_by_line)
{
	char line[64];
	size_t size;

	for (int i = 0; i < 20000; i++) {
		format_text(line, sizeof(line), "\x1b[3%dmline %d\n", i % 8, i);
		write_screen(line);
	}
	size = screen_replay(&screen, 1, replay);
	replay[size] = '\0';
	cr_assert_leq(size, SCREEN_BYTES + 64);
	cr_assert_gt(size, SCREEN_BYTES - 64);
	cr_assert_eq(strncmp((const char *)replay, "\n\r\x1b[H\x1b[J\x1b[3", 11), 0);
	cr_assert(strstr((const char *)replay, "line 19999\n"));
	memset(replay, 'x', SCREEN_BYTES + 100);
	screen_take(&screen, replay, SCREEN_BYTES + 100, true);
	cr_assert_leq(screen_replay(&screen, 500, replay), SCREEN_REPLAY_MAX);
}
