/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of a program on a held terminal, and what a person types: texts stay within their
 * room, a terminal that was given back has no mode left, pieces are read as the whole, and without
 * keys that detach each byte is passed on.
 */
#include "held/keys.h"
#include "held/modes.h"
#include "held/screen.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "property.h"

static void check_reset(struct modes modes)
{
	char text[MODES_TEXT_MAX];
	const size_t size = modes_write_reset(&modes, text);

	must(size < MODES_TEXT_MAX - 1);
	modes_read(&modes, (const uint8_t *)text, size, NULL);
	must(modes_write_set(&modes, text) == 0);
	must(modes.alternate == 0 && modes.state == 0);
}

static void check_screen(const uint8_t *data, size_t size)
{
	static struct screen screen, pieces;
	static uint8_t replay[SCREEN_REPLAY_MAX];
	char text[MODES_TEXT_MAX];

	memset(&screen, 0, sizeof(screen));
	memset(&pieces, 0, sizeof(pieces));
	screen_take(&screen, data, size, false);
	for (size_t i = 0; i < size; i++)
		screen_take(&pieces, data + i, 1, true);
	must(memcmp(&screen.modes, &pieces.modes, sizeof(screen.modes)) == 0);
	must(screen.rings[0].total == pieces.rings[0].total);
	must(screen.rings[1].total == pieces.rings[1].total);
	must(modes_write_set(&screen.modes, text) < MODES_TEXT_MAX - 1);
	must(screen_replay(&screen, UINT16_MAX, replay) <= SCREEN_REPLAY_MAX);
	check_reset(screen.modes);
}

static void check_typing(const uint8_t *data, size_t size, const char *keys)
{
	struct held_typing typing = { 0 };
	uint8_t *ret = malloc(HELD_TYPED_MAX(size));
	bool detach;
	size_t passed;

	must(ret && !held_keys_parse(&typing.keys, keys));
	passed = held_typing_read(&typing, data, size, ret, &detach);
	must(passed <= HELD_TYPED_MAX(size));
	if (typing.keys.count == 0)
		must(!detach && passed == size && memcmp(ret, data, size) == 0);
	free(ret);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_screen(data, size);
	check_typing(data, size, HELD_KEYS_DEFAULT);
	check_typing(data, size, "none");
	return 0;
}
