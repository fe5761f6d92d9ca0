/* SPDX-License-Identifier: Apache-2.0
 *
 * The entries of `languages`: commands that run code given as text.
 */
#include "common/limits.h"
#include "common/plan/plan.h"
#include "policy/read/images.h"
#include "policy/read/profile_parts.h"
#include "policy/read/values.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MARK "{file}"
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789+#._-"

static bool is_name(const char *text)
{
	return reading_is_word(text, NAME_CHARACTERS, IPC_NAME_MAX - 1);
}

static uint32_t count_marks(const struct profile_language *language)
{
	uint32_t marks = 0;

	for (uint32_t i = 0; i < language->run.count; i++)
		marks += strcmp(language->run.items[i], FILE_MARK) == 0;
	return marks;
}

/* Return whether an earlier entry has the same name and program. */
static bool is_language_again(const struct reading *entry, const struct profile_language *language)
{
	for (const struct node *other = entry->first; other < entry->said; other++) {
		if (strcmp(node_text(other, "name"), language->name) == 0 &&
		    strcmp(node_text(other, "program"), language->program) == 0)
			return true;
	}
	return false;
}

static int check_entry(const struct reading *entry, const struct profile_language *language)
{
	if (language->name == NULL || !is_name(language->name))
		return reading_fail(entry, "name", "expected a short name such as python");
	for (uint32_t i = 0; i < language->aliases.count; i++) {
		if (!is_name(language->aliases.items[i]))
			return reading_fail(entry, "aliases", "expected short names such as py");
	}
	if (language->program == NULL || !reading_is_path(language->program))
		return reading_fail(entry, "program",
				    "expected the absolute path of the interpreter or compiler");
	if (language->file == NULL || !reading_is_path(language->file))
		return reading_fail(entry, "file",
				    "expected the absolute path where the code is put");
	if (language->run.count == 0 || language->run.items[0][0] != '/')
		return reading_fail(entry, "run",
				    "expected a command line that begins with an absolute path");
	if (count_marks(language) != 1)
		return reading_fail(
			entry, "run",
			"expected exactly one argument \"{file}\", by itself; a program "
			"that takes it otherwise is started by a shell: [/bin/sh, -c, "
			"'... \"$0\" \"$@\"', \"{file}\"]");
	return is_language_again(entry, language)
		       ? reading_fail(entry, "name", "given twice with this program; expected once")
		       : 0;
}

static int read_language(const struct reading *entry)
{
	struct profile_language language = { .origin = reading_origin(entry, "name") };
	struct profile *profile = entry->profile;
	uint32_t place = 0;

	if (values_read(entry, SET_languages, &language) != 0 || check_entry(entry, &language) != 0)
		return -1;
	while (place < profile->language_count &&
	       (strcmp(profile->languages[place].name, language.name) != 0 ||
		strcmp(profile->languages[place].program, language.program) != 0))
		place++;
	if (place == PLAN_LANGUAGES_MAX)
		return reading_fail(entry, "name", "too many entries; expected at most %u",
				    PLAN_LANGUAGES_MAX);
	profile->languages[place] = language;
	if (place == profile->language_count)
		profile->language_count++;
	return 0;
}

int languages_apply(const struct reading *reading)
{
	return reading_each(reading, "languages", read_language);
}

/* Return whether `name` is the name or an alias of `language`. */
static bool answers_to(const struct profile_language *language, const char *name)
{
	if (strcmp(language->name, name) == 0)
		return true;
	for (uint32_t i = 0; i < language->aliases.count; i++) {
		if (strcmp(language->aliases.items[i], name) == 0)
			return true;
	}
	return false;
}

static const char *find_clash(const struct profile_language *a, const struct profile_language *b)
{
	if (strcmp(a->name, b->name) == 0)
		return NULL;
	if (answers_to(b, a->name))
		return a->name;
	for (uint32_t i = 0; i < a->aliases.count; i++) {
		if (answers_to(b, a->aliases.items[i]))
			return a->aliases.items[i];
	}
	return NULL;
}

static int check_place(const struct reading *reading, const struct profile_language *language)
{
	const struct profile_mount *around = mounts_around(reading->profile, language->file);

	if (around == NULL || around->kind != PLAN_TMPFS ||
	    strcmp(around->target, language->file) == 0)
		return reading_fail(
			reading, "languages",
			"%s: %s is not inside a tmpfs of this profile; expected a file in "
			"one",
			language->name, language->file);
	if (language->ahead && around->place != NULL)
		return reading_fail(
			reading, "languages",
			"%s: %s is kept in persistent sandboxes, where an interpreter that "
			"waits must not leave a file; expected one in another tmpfs, or ahead: "
			"false",
			language->name, language->file);
	return 0;
}

/* Return whether the image shows a program there, with its path on the host in `ret`. */
static bool is_in_image(const struct profile *profile, const char *path, char ret[PATH_MAX])
{
	const mode_t mode = profile->tree != NULL ? images_look(profile->tree, path, ret) : 0;

	return S_ISREG(mode) && (mode & S_IXUSR) != 0;
}

void languages_print_program(const struct profile *profile, const char *program, char ret[PATH_MAX])
{
	const struct profile_mount *around = mounts_around(profile, program);
	const uint32_t kind = around != NULL ? around->kind : PLAN_DIRECTORY;

	if (kind == PLAN_BIND || kind == PLAN_OVERLAY || kind == PLAN_COPY)
		(void)snprintf(ret, PATH_MAX, "%s%s", around->source,
			       program + strlen(around->target));
	else if (kind == PLAN_FILE && (around->mode & S_IXUSR) != 0)
		(void)snprintf(ret, PATH_MAX, "/"); /* which is there, too */
	else if (kind != PLAN_DIRECTORY || !is_in_image(profile, program, ret))
		ret[0] = '\0';
}

bool languages_have_shell(const struct profile *profile)
{
	char program[PATH_MAX];

	languages_print_program(profile, profile->shell.items[0], program);
	return profile->tree == NULL || program[0] != '\0';
}

int languages_check(const struct reading *reading)
{
	const struct profile *profile = reading->profile;

	for (uint32_t i = 0; i < profile->language_count; i++) {
		if (check_place(reading, &profile->languages[i]) != 0)
			return -1;
		for (uint32_t j = 0; j < i; j++) {
			const char *clash =
				find_clash(&profile->languages[i], &profile->languages[j]);

			if (clash != NULL)
				return reading_fail(reading, "languages",
						    "\"%s\" means two languages, %s and %s; "
						    "expected one meaning",
						    clash, profile->languages[j].name,
						    profile->languages[i].name);
		}
	}
	return 0;
}
