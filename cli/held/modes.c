/* SPDX-License-Identifier: Apache-2.0 */
#include "held/modes.h"

#include <string.h>

#include "common/text/format.h"

#define ESCAPE 0x1b
#define BELL 0x07
#define CANCEL 0x18
#define SUBSTITUTE 0x1a
#define ENQUIRY 0x05
#define SHIFT_OUT 0x0e
#define SHIFT_IN 0x0f

#define NUMBERS_MAX 16
#define NUMBER_MOST 65535

enum state {
	STATE_TEXT,
	STATE_ESCAPE,     /* after ESC, and bytes in between */
	STATE_CONTROL,    /* CSI */
	STATE_STRING,     /* OSC, DCS, APC, PM or SOS */
	STATE_STRING_END, /* ESC in a string */
};

/* Private modes (CSI ? N h) that outlive a picture. */
static const struct {
	uint16_t number;
	bool is_on; /* in a terminal that begins */
} privates[] = {
	{ 1, false },    /* keys of the cursor for applications */
	{ 5, false },    /* dark on light */
	{ 6, false },    /* positions count from the scrolling region */
	{ 7, true },     /* long lines go on in the next */
	{ 9, false },    /* the mouse's keys, as X10 */
	{ 25, true },    /* the cursor is visible */
	{ 66, false },   /* keypad for applications */
	{ 1000, false }, /* the mouse's keys */
	{ 1002, false }, /* and its motion with a key down */
	{ 1003, false }, /* and each motion */
	{ 1004, false }, /* the window has the keys */
	{ 1005, false }, /* ways to say where the mouse is */
	{ 1006, false }, { 1015, false },
	{ 1016, false }, { 1007, false }, /* the wheel is keys of the cursor */
	{ 2004, false },                  /* bracketed paste */
	{ 2026, false },                  /* the picture waits for the end of an update */
	{ 2031, false },                  /* the colours have changed */
	{ 2048, false },                  /* the size has changed */
};

#define PRIVATES (sizeof(privates) / sizeof(privates[0]))
_Static_assert(PRIVATES <= 32, "struct modes has a bit for each");

struct control {
	char prefix; /* one of < = > ?, or 0 */
	char between;
	char final;
	uint32_t count;
	uint32_t numbers[NUMBERS_MAX];
};

/* --- reading a sequence ------------------------------------------------------------------------
 */

/* Read the sequence of STATE_CONTROL. Numbers that are left out are 0. */
static struct control read_control(const struct modes *modes)
{
	struct control control = { .count = 1 };
	size_t at = 2; /* ESC [ */

	control.final = (char)modes->sequence[modes->size - 1];
	if (modes->sequence[at] >= '<' && modes->sequence[at] <= '?')
		control.prefix = (char)modes->sequence[at++];
	for (; at + 1 < modes->size; at++) {
		const uint8_t byte = modes->sequence[at];
		uint32_t *number = &control.numbers[control.count - 1];

		if (byte >= '0' && byte <= '9' && *number < NUMBER_MOST)
			*number = *number * 10 + (byte - '0');
		else if ((byte == ';' || byte == ':') && control.count < NUMBERS_MAX)
			control.count++;
		else if (byte >= 0x20 && byte < 0x30)
			control.between = (char)byte;
	}
	return control;
}

static struct modes_screen *present_screen(struct modes *modes)
{
	return &modes->screens[modes->alternate != 0];
}

/* Forget everything but the parser's place. */
static void forget_modes(struct modes *modes)
{
	struct modes empty = { .state = modes->state, .size = modes->size };

	memcpy(empty.sequence, modes->sequence, modes->size);
	*modes = empty;
}

static enum modes_part switch_screen(struct modes *modes, uint32_t number, bool is_on)
{
	if (is_on == (modes->alternate != 0))
		return MODES_MODE;
	if (is_on)
		modes->screens[1] = (struct modes_screen){ 0 };
	modes->alternate = is_on ? (uint16_t)number : 0;
	return MODES_SWITCHED;
}

/* CSI ? N ; ... h or l */
static enum modes_part set_privates(struct modes *modes, const struct control *control)
{
	const bool is_on = control->final == 'h';
	enum modes_part part = MODES_MODE;

	for (uint32_t i = 0; i < control->count; i++) {
		const uint32_t number = control->numbers[i];

		if (number == 47 || number == 1047 || number == 1049)
			part = switch_screen(modes, number, is_on);
		for (size_t row = 0; row < PRIVATES; row++) {
			if (privates[row].number != number)
				continue;
			modes->changed &= ~(1U << row);
			modes->changed |= (uint32_t)(privates[row].is_on != is_on) << row;
		}
	}
	return part;
}

/* CSI with > < = and u: flags of the keyboard, on a stack for each screen. */
static enum modes_part set_keys(struct modes *modes, const struct control *control)
{
	struct modes_screen *screen = present_screen(modes);
	const uint32_t number = control->numbers[0];

	if (control->prefix == '>') {
		if (screen->depth < MODES_KEYS_MAX)
			screen->keys[screen->depth++] = number;
	} else if (control->prefix == '<') {
		const uint32_t popped = number ? number : 1;

		screen->depth -= popped < screen->depth ? popped : screen->depth;
	} else if (screen->depth > 0) {
		screen->keys[screen->depth - 1] = number;
	} else {
		screen->keys[0] = number;
		screen->has_keys = number != 0;
	}
	return MODES_MODE;
}

/* CSI ! p: the part of a reset that shows. */
static enum modes_part reset_softly(struct modes *modes)
{
	for (size_t row = 0; row < PRIVATES; row++)
		if (privates[row].number <= 25)
			modes->changed &= ~(1U << row);
	modes->has_keypad = false;
	modes->top = modes->bottom = 0;
	return MODES_MODE;
}

static enum modes_part judge_plain(struct modes *modes, const struct control *control)
{
	const uint32_t *numbers = control->numbers;

	if (control->between == ' ' && control->final == 'q') {
		modes->cursor = (uint8_t)(numbers[0] <= 6 ? numbers[0] : 0);
		return MODES_MODE;
	}
	if (control->between == '!' && control->final == 'p')
		return reset_softly(modes);
	if (control->between)
		return control->between == '$' && control->final == 'p' ? MODES_QUERY : MODES_SHOWN;
	switch (control->final) {
	case 'r':
		modes->top = (uint16_t)numbers[0];
		modes->bottom = (uint16_t)(control->count > 1 ? numbers[1] : 0);
		return MODES_SHOWN;
	case 'J':
		return numbers[0] == 3 ? MODES_CLEARED : MODES_SHOWN;
	case 'c': /* the kind of the terminal */
	case 'n': /* the place of the cursor */
	case 'x':
		return MODES_QUERY;
	case 't': /* the window: its size, its title, its place */
		return numbers[0] >= 11 && numbers[0] <= 21 ? MODES_QUERY : MODES_DROPPED;
	case 'i': /* print */
		return MODES_DROPPED;
	default:
		return MODES_SHOWN;
	}
}

static enum modes_part judge_control(struct modes *modes)
{
	const struct control control = read_control(modes);

	if (!control.prefix)
		return judge_plain(modes, &control);
	if (control.prefix == '?' && !control.between &&
	    (control.final == 'h' || control.final == 'l'))
		return set_privates(modes, &control);
	if (control.prefix != '?' && control.final == 'u')
		return set_keys(modes, &control);
	if (control.prefix == '>' && control.final == 'm') {
		if (control.numbers[0] == 4)
			modes->other_keys =
				(uint8_t)(control.count > 1 ? control.numbers[1] & 3 : 0);
		return MODES_MODE;
	}
	if (control.prefix == '?' && (control.final == 'J' || control.final == 'K'))
		return MODES_SHOWN;
	return MODES_QUERY;
}

static enum modes_part judge_escape(struct modes *modes)
{
	const uint8_t final = modes->sequence[modes->size - 1];

	if (modes->size == 3 && modes->sequence[1] == '(') {
		modes->has_line = final == '0';
		return MODES_SHOWN;
	}
	if (modes->size != 2)
		return MODES_SHOWN;
	switch (final) {
	case 'c':
		forget_modes(modes);
		return MODES_CLEARED;
	case '=':
	case '>':
		modes->has_keypad = final == '=';
		return MODES_MODE;
	case 'Z':
		return MODES_QUERY;
	default:
		return MODES_SHOWN;
	}
}

/* Titles and links are of the picture; a colour is asked for with a question mark. */
static enum modes_part judge_string(const struct modes *modes)
{
	const char *text = (const char *)modes->sequence + 1;
	const size_t size = modes->size - 1U;

	if (modes->is_long || size < 2)
		return MODES_DROPPED;
	if (text[0] == 'P')
		return text[1] == '$' || text[1] == '+' ? MODES_QUERY : MODES_DROPPED;
	if (text[0] != ']')
		return MODES_DROPPED;
	if (size > 2 && text[1] && strchr("0128", text[1]) && text[2] == ';')
		return MODES_SHOWN;
	return memchr(text, '?', size) && strncmp(text + 1, "52", 2) != 0 ? MODES_QUERY
									  : MODES_DROPPED;
}

/* --- the bytes ---------------------------------------------------------------------------------
 */

static void give_part(const struct modes_taker *taker, enum modes_part part, const uint8_t *bytes,
		      size_t size)
{
	if (taker && size > 0)
		taker->take(taker->context, part, bytes, size);
}

static void add_byte(struct modes *modes, uint8_t byte)
{
	if (modes->size < MODES_SEQUENCE_MAX)
		modes->sequence[modes->size++] = byte;
	else
		modes->is_long = true;
}

static void begin_sequence(struct modes *modes)
{
	modes->state = STATE_ESCAPE;
	modes->size = 0;
	modes->is_long = false;
	add_byte(modes, ESCAPE);
}

/* End the sequence. A control sequence that is too long to be one is dropped. */
static void end_sequence(struct modes *modes, const struct modes_taker *taker)
{
	const uint8_t state = modes->state;
	enum modes_part part = MODES_DROPPED;

	modes->state = STATE_TEXT;
	if (state == STATE_STRING || state == STATE_STRING_END)
		part = judge_string(modes);
	else if (!modes->is_long)
		part = state == STATE_CONTROL ? judge_control(modes) : judge_escape(modes);
	give_part(taker, part, modes->sequence, modes->size);
}

static void read_escape(struct modes *modes, uint8_t byte, const struct modes_taker *taker)
{
	add_byte(modes, byte);
	if (modes->size == 2 && byte == '[')
		modes->state = STATE_CONTROL;
	else if (modes->size == 2 && strchr("]P_^X", byte))
		modes->state = STATE_STRING;
	else if (byte >= 0x30)
		end_sequence(modes, taker);
}

static void read_in_sequence(struct modes *modes, uint8_t byte, const struct modes_taker *taker)
{
	if (byte == CANCEL || byte == SUBSTITUTE) {
		modes->state = STATE_TEXT;
		return;
	}
	if (modes->state == STATE_STRING) {
		add_byte(modes, byte);
		if (byte == ESCAPE)
			modes->state = STATE_STRING_END;
		else if (byte == BELL)
			end_sequence(modes, taker);
		return;
	}
	if (modes->state == STATE_STRING_END && byte == '\\') {
		add_byte(modes, byte);
		end_sequence(modes, taker);
		return;
	}
	if (modes->state == STATE_STRING_END) /* the string was given up */
		begin_sequence(modes);
	if (byte == ESCAPE) {
		begin_sequence(modes);
	} else if (modes->state == STATE_ESCAPE && byte >= 0x20) {
		read_escape(modes, byte, taker);
	} else if (byte >= 0x20) {
		add_byte(modes, byte);
		if (byte >= 0x40)
			end_sequence(modes, taker);
	}
}

static bool is_plain(uint8_t byte)
{
	return byte != ESCAPE && byte != ENQUIRY && byte != BELL && byte != SHIFT_OUT &&
	       byte != SHIFT_IN;
}

void modes_read(struct modes *modes, const uint8_t *bytes, size_t size,
		const struct modes_taker *taker)
{
	size_t at = 0;

	while (at < size) {
		const size_t from = at;

		if (modes->state != STATE_TEXT) {
			read_in_sequence(modes, bytes[at++], taker);
			continue;
		}
		while (at < size && is_plain(bytes[at]))
			at++;
		give_part(taker, MODES_SHOWN, bytes + from, at - from);
		if (at > from)
			modes->last = bytes[at - 1];
		if (at == size)
			break;
		if (bytes[at] == ESCAPE) {
			begin_sequence(modes);
		} else {
			if (bytes[at] == SHIFT_OUT || bytes[at] == SHIFT_IN)
				modes->is_shifted = bytes[at] == SHIFT_OUT;
			give_part(taker,
				  bytes[at] == BELL      ? MODES_DROPPED
				  : bytes[at] == ENQUIRY ? MODES_QUERY
							 : MODES_SHOWN,
				  bytes + at, 1);
		}
		at++;
	}
}

/* --- writing them ------------------------------------------------------------------------------
 */

struct text {
	char *bytes;
	size_t size;
};

#define ADD(text, ...)                                                                             \
	do {                                                                                       \
		format_text((text)->bytes + (text)->size, MODES_TEXT_MAX - (text)->size,           \
			    __VA_ARGS__);                                                          \
		(text)->size += strlen((text)->bytes + (text)->size);                              \
	} while (0)

static void write_privates(const struct modes *modes, struct text *text, bool is_set)
{
	for (size_t row = 0; row < PRIVATES; row++)
		if (modes->changed & (1U << row))
			ADD(text, "\x1b[?%u%c", privates[row].number,
			    privates[row].is_on != is_set ? 'h' : 'l');
}

size_t modes_write_set(const struct modes *modes, char ret[MODES_TEXT_MAX])
{
	const struct modes_screen *screen = &modes->screens[modes->alternate != 0];
	struct text text = { .bytes = ret };

	ret[0] = '\0';
	if (modes->bottom > 0) /* this moves the cursor */
		ADD(&text, "\x1b\x37\x1b[%u;%ur\x1b\x38", modes->top, modes->bottom);
	write_privates(modes, &text, true);
	if (modes->has_keypad)
		ADD(&text, "\x1b=");
	if (modes->other_keys)
		ADD(&text, "\x1b[>4;%um", modes->other_keys);
	if (screen->has_keys && screen->depth == 0)
		ADD(&text, "\x1b[=%uu", screen->keys[0]);
	for (uint32_t i = 0; i < screen->depth; i++)
		ADD(&text, "\x1b[>%uu", screen->keys[i]);
	if (modes->cursor)
		ADD(&text, "\x1b[%u q", modes->cursor);
	return text.size;
}

static void reset_keys(const struct modes_screen *screen, struct text *text)
{
	if (screen->depth > 0)
		ADD(text, "\x1b[<%uu", screen->depth);
	if (screen->has_keys)
		ADD(text, "\x1b[=0u");
}

size_t modes_write_reset(const struct modes *modes, char ret[MODES_TEXT_MAX])
{
	struct text text = { .bytes = ret };

	ret[0] = '\0';
	if (modes->state == STATE_STRING || modes->state == STATE_STRING_END)
		ADD(&text, "\x1b\\");
	else if (modes->state != STATE_TEXT)
		ADD(&text, "%c", CANCEL);
	write_privates(modes, &text, false);
	if (modes->bottom > 0)
		ADD(&text, "\x1b\x37\x1b[r\x1b\x38");
	if (modes->has_keypad)
		ADD(&text, "\x1b>");
	if (modes->other_keys)
		ADD(&text, "\x1b[>4m");
	if (modes->cursor)
		ADD(&text, "\x1b[0 q");
	if (modes->is_shifted)
		ADD(&text, "%c", SHIFT_IN);
	if (modes->has_line)
		ADD(&text, "\x1b(B");
	reset_keys(&modes->screens[modes->alternate != 0], &text);
	if (modes->alternate) {
		ADD(&text, "\x1b[?%ul", modes->alternate);
		reset_keys(&modes->screens[0], &text);
	}
	ADD(&text, "\x1b[m");
	if (!modes->alternate && modes->last && modes->last != '\n')
		ADD(&text, "\r\n");
	return text.size;
}
