/* SPDX-License-Identifier: Apache-2.0 */
#include "held/keys.h"

#include <stdlib.h>
#include <string.h>

#include "common/text/format.h"

#define ESCAPE 0x1b
#define CONTROL_MASK 0x1f

/* Modifiers of a report, which is one more than their sum; locks of the keyboard do not count. */
#define WITH_CONTROL 4
#define LOCKS (64 | 128)

#define EVENT_RELEASE 3

/* Keys that are modifiers themselves, in reports. */
#define MODIFIERS_FIRST 57441
#define MODIFIERS_LAST 57454
#define LOCK_FIRST 57358
#define LOCK_LAST 57360

#define KEY_OTHER (-1) /* no key that can detach */
#define KEY_NONE (-2)  /* a release, or a modifier alone */

enum state {
	STATE_KEY,
	STATE_ESCAPE,
	STATE_CONTROL,
	STATE_SINGLE, /* ESC O: one more byte */
};

/* --- the option --------------------------------------------------------------------------------
 */

/* Read a key and step behind it. False: it is none. */
static bool parse_key(const char **text, uint8_t *ret)
{
	static const char prefix[] = "ctrl-";
	const char *at = *text;
	const bool is_control = strncmp(at, prefix, strlen(prefix)) == 0;
	uint8_t byte;

	if (is_control)
		at += strlen(prefix);
	byte = (uint8_t)*at;
	if (byte <= ' ' || byte > '~')
		return false;
	if (is_control && byte >= 'a' && byte <= 'z')
		byte = (uint8_t)(byte - 'a' + 'A');
	if (is_control && (byte < '@' || byte > '_'))
		return false;
	*ret = is_control ? byte & CONTROL_MASK : byte;
	*text = at + 1;
	return true;
}

const char *held_keys_parse(struct held_keys *ret, const char *text)
{
	static const char rule[] =
		"one or two keys are expected, such as 'ctrl-\\,d' or "
		"'ctrl-p,ctrl-q', each a character or ctrl- with a letter or one "
		"of @ [ \\ ] ^ _; or 'none'";
	struct held_keys keys = { 0 };

	if (strcmp(text, "none") == 0) {
		*ret = keys;
		return NULL;
	}
	if (!parse_key(&text, &keys.keys[keys.count++]))
		return rule;
	if (*text == ',') {
		text++;
		if (!parse_key(&text, &keys.keys[keys.count++]))
			return rule;
	}
	if (*text)
		return rule;
	if (keys.keys[0] >= ' ')
		return "the first key is expected to be one with ctrl-, since programs need the "
		       "others";
	if (memchr(keys.keys, ESCAPE, keys.count))
		return "ctrl-[ is Escape, with which other keys begin: another key is expected";
	*ret = keys;
	return NULL;
}

void held_keys_describe(const struct held_keys *keys, char ret[HELD_KEYS_TEXT_MAX])
{
	ret[0] = '\0';
	for (uint8_t i = 0; i < keys->count; i++) {
		const uint8_t key = keys->keys[i];
		const char *between = i > 0 ? " " : "";

		if (key >= ' ')
			format_append(ret, HELD_KEYS_TEXT_MAX, "%s%c", between, key);
		else if (key >= 1 && key <= 26)
			format_append(ret, HELD_KEYS_TEXT_MAX, "%sctrl-%c", between, key + 'a' - 1);
		else
			format_append(ret, HELD_KEYS_TEXT_MAX, "%sctrl-%c", between, key + '@');
	}
}

/* --- typing ------------------------------------------------------------------------------------
 */

/* Return the key with these modifiers, or KEY_OTHER. */
static int modify_key(unsigned long code, unsigned long modifiers)
{
	const unsigned long held = (modifiers > 0 ? modifiers - 1 : 0) & ~(unsigned long)LOCKS;

	if (code > '~')
		return KEY_OTHER;
	if (held == 0)
		return (int)code;
	if (held != WITH_CONTROL || code < '@')
		return KEY_OTHER;
	return (int)(code & CONTROL_MASK);
}

/* Read the next number of a report: those of one field are divided by colons. */
static unsigned long read_number(const char **at)
{
	char *end;
	const unsigned long number = strtoul(*at, &end, 10);

	*at = end;
	return number;
}

/* Skip to the next field. False: there is none. */
static bool skip_field(const char **at)
{
	*at += strcspn(*at, ";");
	if (**at != ';')
		return false;
	(*at)++;
	return true;
}

/* CSI code[:...] [; modifiers [:event] ...] u */
static int read_report_u(const char *at)
{
	const unsigned long code = read_number(&at);
	unsigned long modifiers = 1;
	unsigned long event = 1;

	if (skip_field(&at)) {
		modifiers = read_number(&at);
		if (*at == ':') {
			at++;
			event = read_number(&at);
		}
	}
	if (event == EVENT_RELEASE || (code >= MODIFIERS_FIRST && code <= MODIFIERS_LAST) ||
	    (code >= LOCK_FIRST && code <= LOCK_LAST))
		return KEY_NONE;
	return modify_key(code, modifiers);
}

/* Judge a complete report; see where pasted text begins and ends. */
static int judge_report(struct held_typing *typing)
{
	char text[HELD_KEYS_REPORT_MAX + 1];
	const char *at = text;

	if (typing->size == 1)
		return typing->report[0];
	if (typing->size < 3 || typing->size == HELD_KEYS_REPORT_MAX || typing->report[1] != '[')
		return KEY_OTHER;
	memcpy(text, typing->report + 2, typing->size - 2);
	text[typing->size - 2] = '\0';
	if (strcmp(text, "200~") == 0 || strcmp(text, "201~") == 0) {
		typing->is_pasting = text[2] == '0';
		return KEY_OTHER;
	}
	if (text[typing->size - 3] == 'u' && text[0] >= '0' && text[0] <= '9')
		return read_report_u(text);
	if (strncmp(text, "27;", 3) == 0 && text[typing->size - 3] == '~') {
		unsigned long modifiers;

		at += 3;
		modifiers = read_number(&at);
		return skip_field(&at) ? modify_key(read_number(&at), modifiers) : KEY_OTHER;
	}
	return KEY_OTHER;
}

/* Add a byte to the report. True: it is complete. */
static bool add_byte(struct held_typing *typing, uint8_t byte)
{
	const uint8_t state = typing->state;

	if (typing->size < HELD_KEYS_REPORT_MAX)
		typing->report[typing->size++] = byte;
	if (state == STATE_KEY) {
		typing->state = byte == ESCAPE ? STATE_ESCAPE : STATE_KEY;
	} else if (state == STATE_ESCAPE) {
		typing->state = byte == '['      ? STATE_CONTROL
				: byte == 'O'    ? STATE_SINGLE
				: byte == ESCAPE ? STATE_ESCAPE
						 : STATE_KEY;
	} else if (state == STATE_SINGLE || byte >= 0x40 || byte < 0x20) {
		typing->state = STATE_KEY;
	}
	return typing->state == STATE_KEY;
}

static size_t pass_on(uint8_t *ret, const uint8_t *bytes, size_t size)
{
	memcpy(ret, bytes, size);
	return size;
}

/* Take a key of which nothing was passed on yet. Return the size of what is. */
static size_t judge_key(struct held_typing *typing, int key, uint8_t *ret, bool *ret_detach)
{
	const struct held_keys *keys = &typing->keys;
	size_t size = 0;

	if (typing->is_pending) {
		if (key == KEY_NONE)
			return 0; /* the release of the first one, which the program has not seen */
		typing->is_pending = false;
		*ret_detach = key == keys->keys[1];
		if (*ret_detach)
			return 0;
		size = pass_on(ret, typing->first, typing->first_size);
		if (key == keys->keys[0]) /* twice is once for the program */
			return size;
	} else if (keys->count > 0 && key == keys->keys[0] && !typing->is_pasting) {
		*ret_detach = keys->count == 1;
		typing->is_pending = keys->count > 1;
		typing->first_size = pass_on(typing->first, typing->report, typing->size);
		return 0;
	}
	return size + pass_on(ret + size, typing->report, typing->size);
}

size_t held_typing_read(struct held_typing *typing, const uint8_t *bytes, size_t size, uint8_t *ret,
			bool *ret_detach)
{
	size_t written = 0;

	*ret_detach = false;
	for (size_t i = 0; i < size && !*ret_detach; i++) {
		const bool was_full = typing->size == HELD_KEYS_REPORT_MAX;
		const bool is_complete = add_byte(typing, bytes[i]);

		if (was_full || typing->is_passed) { /* not a key that detaches */
			ret[written++] = bytes[i];
			typing->is_passed = true;
		}
		if (!is_complete && typing->size == HELD_KEYS_REPORT_MAX && !typing->is_passed) {
			written += pass_on(ret + written, typing->report, typing->size);
			typing->is_passed = true;
		}
		if (!is_complete)
			continue;
		if (typing->is_passed)
			(void)judge_report(typing); /* for where pasted text begins and ends */
		else
			written +=
				judge_key(typing, judge_report(typing), ret + written, ret_detach);
		typing->size = 0;
		typing->is_passed = false;
	}
	/* Escape alone is a key, too: it does not wait for another. */
	if (typing->size > 0 && !typing->is_passed && !*ret_detach) {
		written += pass_on(ret + written, typing->report, typing->size);
		typing->is_passed = true;
	}
	return written;
}
