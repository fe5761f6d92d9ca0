/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/settings.h"

#include "image/store.h"
#include "policy/read/values.h"

#include <string.h>

/* The longest name that useradd(8) makes. */
#define ACCOUNT_MAX 32

static bool is_account(const char *text)
{
	return strchr("0123456789-", text[0]) == NULL &&
	       reading_is_word(text, "abcdefghijklmnopqrstuvwxyz_0123456789-", ACCOUNT_MAX);
}

static int check_account(const struct reading *reading, const char *account)
{
	if (account == NULL || (is_account(account) && strcmp(account, "root") != 0))
		return 0;
	return reading_fail(reading, "run_as",
			    "\"%s\" is no account that msp could run as; expected the name of an "
			    "account other than root, such as msp",
			    account);
}

static int check_path(const struct reading *entry)
{
	const char *path = entry->said->text;

	if (!reading_is_path(path))
		return reading_fail(entry, "", "\"%s\" is not a path; expected " READING_PATH,
				    path);
	return reading_is_again(entry, "")
		       ? reading_fail(entry, "", "%s given twice; expected once", path)
		       : 0;
}

/* Check a list of paths. An empty list would mean "none", which the plan cannot express. */
static int check_paths(const struct reading *reading, const char *key)
{
	if (reading_says(reading, key) && node_texts(reading->said, key).count == 0)
		return reading_fail(reading, key, "empty; expected absolute paths, or no such key");
	return reading_each(reading, key, check_path);
}

struct policy_settings settings_default(void)
{
	return (struct policy_settings){ .default_profile = "default",
					 .sandboxes_max = 64,
					 .sandboxes_bytes = 20 * VALUE_G,
					 .images_bytes = IMAGE_DISK_DEFAULT };
}

int settings_read(const struct source *source, struct policy_settings *ret,
		  struct policy_error *error)
{
	const struct reading reading = { .place = { .source = source },
					 .said = &source->root,
					 .error = error };
	struct policy_settings settings = *ret;

	settings.file = source->file;
	settings.profiles_line = source_origin(source, "profiles").line;
	if (values_read(&reading, SET_file, &settings) != 0 ||
	    check_account(&reading, settings.run_as) != 0 ||
	    check_paths(&reading, "workspaces") != 0 || check_paths(&reading, "protect") != 0 ||
	    check_paths(&reading, "unprotect") != 0)
		return -1;
	*ret = settings;
	return 0;
}
