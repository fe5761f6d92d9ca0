/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of persistent sandboxes: the persistent mounts (places), which `files` names, and
 * the keys of `lasting`.
 */
#include "policy/read/numbers.h"

#include <string.h>

#include "common/limits.h"
#include "common/workspace_mode.h"

#define M NUMBER_M
#define G NUMBER_G
#define T NUMBER_T
#define DAY NUMBER_DAY

/* clang-format off */
static const struct number numbers[] = {
	NUMBER(lasting, disk,     disk_bytes,    UNIT_SIZE,   M,   T),
	NUMBER(lasting, inodes,   disk_inodes,   UNIT_AMOUNT, 100, G),
	NUMBER(lasting, idle,     idle_s,        UNIT_SPAN,   1,   DAY),
	NUMBER(lasting, ttl,      ttl_default_s, UNIT_SPAN,   1,   365 * DAY),
	NUMBER(lasting, ttl_most, ttl_max_s,     UNIT_SPAN,   1,   365 * DAY),
	NUMBER(lasting, wall_default, wall_persistent_ms, UNIT_DURATION, 100, DAY * 1000),
};
/* clang-format on */
#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

/* Words in the order of enum workspace_mode, from its second value. */
static const char *const workspace_words[] = { "copy-on-write", "read-only", "read-write" };
/* Words in the order of enum plan_apply. */
static const char *const apply_words[] = { "person", "ask", "agent" };

/* Words in the order of enum plan_bridge. */
static const char *const bridge_words[PLAN_BRIDGE_COUNT] = { "person", "ask" };

#define WORD_COUNT 3

_Static_assert(sizeof(workspace_words) / sizeof(workspace_words[0]) == WORD_COUNT &&
		       WORKSPACE_MODE_COUNT == WORD_COUNT + 1,
	       "a word for each");
_Static_assert(sizeof(apply_words) / sizeof(apply_words[0]) == WORD_COUNT &&
		       PLAN_APPLY_COUNT == WORD_COUNT,
	       "a word for each");

enum said {
	SAID_WALL = 1 << (NUMBER_COUNT - 1),
	SAID_WORKSPACE = 1 << NUMBER_COUNT,
	SAID_APPLY = 1 << (NUMBER_COUNT + 1),
	SAID_BRIDGE = 1 << (NUMBER_COUNT + 2),
};

_Static_assert(NUMBER_COUNT + 3 == PROFILE_LASTING, "as many origins");

/* Return the index of the word, or -1 with the error set. */
static int read_word(const struct reading *reading, const char *key, const char *said,
		     const char *const words[WORD_COUNT])
{
	for (int i = 0; i < WORD_COUNT; i++) {
		if (strcmp(words[i], said) == 0)
			return i;
	}
	return reading_fail(reading, key, "\"%s\" is not known; expected %s, %s or %s", said,
			    words[0], words[1], words[2]);
}

static int apply_words_said(const struct reading *reading, const struct source_lasting *said)
{
	struct profile *profile = reading->profile;
	struct origin *origins = profile->origins.lasting;
	int word;

	if (said->workspace != NULL) {
		word = read_word(reading, "lasting.workspace", said->workspace, workspace_words);
		if (word < 0)
			return -1;
		profile->numbers.workspace_mode = (uint32_t)word + WORKSPACE_COPY;
		origins[NUMBER_COUNT] = reading_origin(reading, "lasting.workspace");
		profile->said_lasting |= SAID_WORKSPACE;
	}
	if (said->apply != NULL) {
		word = read_word(reading, "lasting.apply", said->apply, apply_words);
		if (word < 0)
			return -1;
		profile->numbers.apply = (uint32_t)word;
		origins[NUMBER_COUNT + 1] = reading_origin(reading, "lasting.apply");
		profile->said_lasting |= SAID_APPLY;
	}
	return 0;
}

static int bridge_word_said(const struct reading *reading, const char *said)
{
	struct profile *profile = reading->profile;
	uint32_t word = 0;

	if (said == NULL)
		return 0;
	while (word < PLAN_BRIDGE_COUNT && strcmp(bridge_words[word], said) != 0)
		word++;
	if (word == PLAN_BRIDGE_COUNT)
		return reading_fail(reading, "lasting.bridge",
				    "\"%s\" is not known; expected person or ask", said);
	profile->numbers.bridge = word;
	profile->origins.lasting[NUMBER_COUNT + 2] = reading_origin(reading, "lasting.bridge");
	profile->said_lasting |= SAID_BRIDGE;
	return 0;
}

static bool is_pattern(const char *text)
{
	char path[IPC_LIST_MAX];
	const size_t size = strlen(text);

	if (size == 0 || size + 2 > sizeof(path))
		return false;
	for (const char *at = text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	}
	path[0] = '/';
	memcpy(path + 1, text, size + 1);
	if (path[size] == '/')
		path[size] = '\0';
	return reading_is_path(path);
}

static int add_held(const struct reading *reading, uint32_t index)
{
	struct profile *profile = reading->profile;
	const char *pattern = reading->said->lasting->hold[index];
	size_t bytes = strlen(pattern) + 1;
	char key[KEY_MAX];

	(void)reading_key(key, "lasting.hold", index, "");
	if (!is_pattern(pattern))
		return reading_fail(reading, key,
				    "\"%s\" is not a pattern; expected a path in the workspace, "
				    "without / at its start, empty parts, . and .., such as "
				    "scripts/*.sh",
				    pattern);
	if (pattern[0] == '@' && strcmp(pattern, "@tools") != 0 &&
	    strcmp(pattern, "@dotfiles") != 0)
		return reading_fail(reading, key,
				    "\"%s\" is no group; expected \"@tools\" or \"@dotfiles\", or "
				    "[@] where a name begins with @",
				    pattern);
	for (uint32_t i = 0; i < profile->held_count; i++) {
		if (strcmp(profile->held[i], pattern) == 0)
			return reading_fail(reading, key, "%s is held already; expected it once",
					    pattern);
		bytes += strlen(profile->held[i]) + 1;
	}
	if (profile->held_count == PROFILE_HELD_MAX || bytes > IPC_LIST_MAX)
		return reading_fail(reading, key,
				    "too much; expected at most %u patterns of %d bytes in all",
				    PROFILE_HELD_MAX, IPC_LIST_MAX);
	profile->held[profile->held_count] = pattern;
	profile->origins.held[profile->held_count++] = reading_origin(reading, key);
	return 0;
}

int lasting_apply(const struct reading *reading)
{
	const struct source_lasting *said = reading->said->lasting;
	struct profile *profile = reading->profile;

	if (said == NULL)
		return 0;
	if (numbers_apply(reading, numbers, NUMBER_COUNT, said, profile->origins.lasting,
			  &profile->said_lasting) != 0 ||
	    apply_words_said(reading, said) != 0 || bridge_word_said(reading, said->bridge) != 0)
		return -1;
	for (uint32_t i = 0; i < said->hold_count; i++) {
		if (add_held(reading, i) != 0)
			return -1;
	}
	return 0;
}

bool profile_lasts(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (profile->mounts[i].place != NULL)
			return true;
	}
	return false;
}

/* Return whether an earlier entry has the same place. */
static bool is_again(const struct profile *profile, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++) {
		if (profile->mounts[i].place != NULL &&
		    strcmp(profile->mounts[i].place, profile->mounts[index].place) == 0)
			return true;
	}
	return false;
}

static int check_places(const struct reading *reading)
{
	const struct profile *profile = reading->profile;
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const struct profile_mount *mount = &profile->mounts[i];

		if (mount->place == NULL)
			continue;
		if (is_again(profile, i))
			return reading_fail(reading, "files",
					    "%s: there is a place \"%s\" already; expected another "
					    "name",
					    mount->target, mount->place);
		if (++count > PLACES_MAX)
			return reading_fail(reading, "files",
					    "%s: too many places; expected at most %d",
					    mount->target, PLACES_MAX);
	}
	return 0;
}

/* Without the key, or above the most, executions in a sandbox have the time of all others. */
static void settle_wall(struct profile *profile)
{
	struct plan_profile *is = &profile->numbers;

	if ((profile->said_lasting & SAID_WALL) == 0 || !profile_lasts(profile))
		is->wall_persistent_ms = is->wall_default_ms;
	if (is->wall_persistent_ms < is->wall_default_ms)
		is->wall_persistent_ms = is->wall_default_ms;
	if (is->wall_persistent_ms > is->wall_max_ms)
		is->wall_persistent_ms = is->wall_max_ms;
}

int lasting_check(const struct reading *reading)
{
	struct profile *profile = reading->profile;

	settle_wall(profile);
	if (profile->numbers.ttl_default_s > profile->numbers.ttl_max_s &&
	    profile->numbers.ttl_max_s > 0)
		return reading_fail(reading, "lasting.ttl",
				    "greater than lasting.ttl_most; expected at most as much");
	if (!profile_lasts(profile))
		return reading->said->lasting == NULL
			       ? 0
			       : reading_fail(reading, "lasting",
					      "this profile keeps no files; expected an entry of "
					      "files with a place, or no such key");
	if (numbers_check(reading, numbers, NUMBER_COUNT, profile->said_lasting | SAID_WALL) != 0)
		return -1;
	if ((profile->said_lasting & SAID_WORKSPACE) == 0)
		return reading_fail(reading, "lasting.workspace",
				    "missing; expected copy-on-write, read-only or read-write");
	if ((profile->said_lasting & SAID_APPLY) == 0)
		return reading_fail(reading, "lasting.apply",
				    "missing; expected person, ask or agent");
	return check_places(reading);
}

const char *lasting_value(const struct profile *profile, uint32_t index, char ret[32])
{
	static const char *const keys[] = { "workspace", "apply", "bridge" };
	const struct plan_profile *said = &profile->numbers;
	const char *word;

	if (index >= PROFILE_LASTING || (profile->said_lasting & 1U << index) == 0)
		return NULL;
	if (index < NUMBER_COUNT)
		return number_value(profile, &numbers[index], ret);
	word = index == NUMBER_COUNT       ? workspace_words[said->workspace_mode - WORKSPACE_COPY]
	       : index == NUMBER_COUNT + 1 ? apply_words[said->apply]
					   : bridge_words[said->bridge];
	memcpy(ret, word, strlen(word) + 1);
	return keys[index - NUMBER_COUNT];
}
