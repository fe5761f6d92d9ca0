/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/settings.h"

#include "common/limits.h"
#include "image/store.h"
#include "policy/read/numbers.h"

#include <string.h>

/* The longest name that useradd(8) makes. */
#define ACCOUNT_MAX 32

static bool is_account(const char *text)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz_";
	static const char other[] = "abcdefghijklmnopqrstuvwxyz_0123456789-";

	return text[0] != '\0' && strchr(first, text[0]) != NULL &&
	       strspn(text, other) == strlen(text) && strlen(text) <= ACCOUNT_MAX;
}

static int read_account(const struct source *source, struct policy_settings *ret,
			struct policy_error *error)
{
	const char *said = source->config->run_as;

	if (said == NULL)
		return 0;
	if (!is_account(said) || strcmp(said, "root") == 0)
		return source_fail(source, error, "run_as",
				   "\"%s\" is no account that msp could run as; expected the name "
				   "of an account other than root, such as msp",
				   said);
	ret->run_as = said;
	return 0;
}

/* Read one of two words; *ret is true for the second one. */
static int read_word(const struct source *source, const char *key, const char *said,
		     const char *const words[2], struct policy_error *error)
{
	if (said == NULL || strcmp(said, words[0]) == 0)
		return 0;
	if (strcmp(said, words[1]) == 0)
		return 1;
	return source_fail(source, error, key, "\"%s\" is not known; expected %s or %s", said,
			   words[0], words[1]);
}

static int read_limits(const struct source *source, struct policy_settings *ret,
		       struct policy_error *error)
{
	static const char *const limits[2] = { "required", "fallback" };
	const int fallback = read_word(source, "limits", source->config->limits, limits, error);

	ret->accepts_fallback = fallback == 1;
	return fallback < 0 ? -1 : 0;
}

static int read_audit(const struct source *source, struct policy_settings *ret,
		      struct policy_error *error)
{
	static const char *const records[2] = { "required", "optional" };
	static const char *const commands[2] = { "digest", "text" };
	const struct source_audit *keys = source->config->audit_keys;
	const int optional =
		keys != NULL ? read_word(source, "audit.records", keys->records, records, error)
			     : read_word(source, "audit", source->config->audit, records, error);
	const int text = optional >= 0 && keys != NULL ? read_word(source, "audit.commands",
								   keys->commands, commands, error)
						       : 0;

	ret->is_audit_optional = optional == 1;
	ret->has_audit_text = text == 1;
	return optional < 0 || text < 0 ? -1 : 0;
}

/* Read a list of paths. An empty list would mean "none", which the plan cannot express. */
static int read_paths(const struct source *source, const char *key, const struct strings *said,
		      struct policy_error *error)
{
	char entry[KEY_MAX];

	if (said->count == 0 && source_says(source, key))
		return source_fail(source, error, key,
				   "empty; expected absolute paths, or no such key");
	for (uint32_t i = 0; i < said->count; i++) {
		(void)reading_key(entry, key, i, "");
		if (!reading_is_path(said->items[i]))
			return source_fail(source, error, entry,
					   "\"%s\" is not a path; expected " READING_PATH,
					   said->items[i]);
		for (uint32_t j = 0; j < i; j++) {
			if (strcmp(said->items[i], said->items[j]) == 0)
				return source_fail(source, error, entry,
						   "%s given twice; expected once", said->items[i]);
		}
	}
	return 0;
}

/* The most disk that the largest number of sandboxes can use together. */
#define DISK_MOST (1024 * NUMBER_T)

static const struct number most = { .key = "sandboxes.most",
				    .unit = UNIT_NUMBER,
				    .most = SANDBOXES_MAX };
static const struct number disk = { .key = "sandboxes.disk", .unit = UNIT_SIZE, .most = DISK_MOST };

static const struct number image_disk = {
	.key = "images.disk", .unit = UNIT_SIZE, .least = NUMBER_M, .most = DISK_MOST
};

static int read_number(const struct source *source, const struct number *number, const char *said,
		       uint64_t *ret, struct policy_error *error)
{
	char problem[NUMBER_PROBLEM_MAX];

	if (said == NULL || number_read(number, said, ret, problem))
		return 0;
	return source_fail(source, error, number->key, "%s", problem);
}

static int read_sandboxes(const struct source *source, struct policy_settings *ret,
			  struct policy_error *error)
{
	const struct source_sandboxes *said = source->config->sandboxes;
	uint64_t count = ret->sandboxes_max;

	if (said == NULL)
		return 0;
	if (read_number(source, &most, said->most, &count, error) != 0 ||
	    read_number(source, &disk, said->disk, &ret->sandboxes_bytes, error) != 0)
		return -1;
	ret->sandboxes_max = (uint32_t)count;
	return 0;
}

static int read_images(const struct source *source, struct policy_settings *ret,
		       struct policy_error *error)
{
	const struct source_images *said = source->config->images;

	return said == NULL
		       ? 0
		       : read_number(source, &image_disk, said->disk, &ret->images_bytes, error);
}

static const struct number landlock = { .key = "requirements.landlock",
					.unit = UNIT_NUMBER,
					.least = LANDLOCK_ABI_LEAST,
					.most = LANDLOCK_ABI_MOST };

static int read_requirements(const struct source *source, struct policy_settings *ret,
			     struct policy_error *error)
{
	const struct source_requirements *said = source->config->requirements;
	uint64_t abi = 0;

	if (said != NULL && read_number(source, &landlock, said->landlock, &abi, error) != 0)
		return -1;
	ret->landlock_abi = (uint32_t)abi;
	return 0;
}

struct policy_settings settings_default(void)
{
	return (struct policy_settings){ .default_profile = "default",
					 .sandboxes_max = 64,
					 .sandboxes_bytes = 20 * NUMBER_G,
					 .images_bytes = IMAGE_DISK_DEFAULT };
}

int settings_read(const struct source *source, struct policy_settings *ret,
		  struct policy_error *error)
{
	const struct source_config *said = source->config;
	struct policy_settings settings = {
		.file = source->file,
		.profiles_line = source_origin(source, "profiles").line,
		.default_profile = said->default_profile != NULL ? said->default_profile
								 : ret->default_profile,
		.workspaces = { said->workspaces, said->workspaces_count },
		.protect = { said->protect, said->protect_count },
		.unprotect = { said->unprotect, said->unprotect_count },
		.sandboxes_max = ret->sandboxes_max,
		.sandboxes_bytes = ret->sandboxes_bytes,
		.images_bytes = ret->images_bytes,
	};

	if (read_account(source, &settings, error) != 0 ||
	    read_limits(source, &settings, error) != 0 ||
	    read_audit(source, &settings, error) != 0 ||
	    read_paths(source, "workspaces", &settings.workspaces, error) != 0 ||
	    read_paths(source, "protect", &settings.protect, error) != 0 ||
	    read_paths(source, "unprotect", &settings.unprotect, error) != 0 ||
	    read_sandboxes(source, &settings, error) != 0 ||
	    read_images(source, &settings, error) != 0 ||
	    read_requirements(source, &settings, error) != 0)
		return -1;
	*ret = settings;
	return 0;
}
