/* SPDX-License-Identifier: Apache-2.0
 *
 * `image`, `root`, `system`, `user` and `pretend`. An image gives the profile's root, and what no
 * key of the profile says: variables, the working directory and the command. Its root's directories
 * get Landlock rules one by one, since a rule on "/" would count for what is mounted there as well.
 */
#include "common/limits.h"
#include "common/plan/plan.h"
#include "lib/heap/memory.h"
#include "policy/read/images.h"
#include "policy/read/profile_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The place at which a persistent sandbox keeps a root that may be written. */
#define PLACE_SYSTEM "system"

/* The work of the set-up alone. */
#define SMALL_BYTES (4U << 20)
#define SMALL_INODES 4096U
#define OWN_INODES (1U << 20)

#define PATH_VARIABLE "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static int check_pretended(const struct reading *entry)
{
	if (strcmp(entry->said->text, "ownership") != 0)
		return reading_fail(entry, "", "\"%s\" is not known; expected ownership",
				    entry->said->text);
	return reading_is_again(entry, "")
		       ? reading_fail(entry, "", "ownership given twice; expected once")
		       : 0;
}

int image_apply(const struct reading *reading)
{
	struct profile *profile = reading->profile;

	profile->numbers.user = profile->is_user_root ? PLAN_USER_ROOT : PLAN_USER_AGENT;
	if (profile->image != NULL && profile->is_system_writable)
		profile->is_root_writable = true;
	if (reading_says(reading, "pretend"))
		profile->seccomp.pretends_ownership =
			node_texts(reading->said, "pretend").count > 0;
	return reading_each(reading, "pretend", check_pretended);
}

bool image_is_awaited(const struct profile *profile)
{
	return profile->image != NULL && strcmp(profile->image, IMAGE_AWAITED) == 0;
}

/* Take the first text of two lists, and so on; NULL behind the last. */
static const char *word_at(const struct image_words *first, const struct image_words *second,
			   uint32_t index)
{
	if (index < first->count)
		return first->list[index];
	index -= first->count;
	return index < second->count ? second->list[index] : NULL;
}

const char *image_command(const struct profile *profile, uint32_t index)
{
	const struct image *image = profile->tree != NULL ? profile->tree->image : NULL;

	return image != NULL ? word_at(&image->entrypoint, &image->command, index) : NULL;
}

const char *image_variable(const struct profile *profile, uint32_t index)
{
	const struct image_words *own = &profile->tree->image->environment;
	const bool is_path = index == own->count;
	const char *variable = is_path              ? PATH_VARIABLE
			       : index < own->count ? own->list[index]
						    : NULL;
	bool is_said = variable != NULL && environment_has(profile, variable);

	for (uint32_t i = 0; is_path && i < own->count; i++)
		is_said = is_said || strncmp(own->list[i], "PATH=", strlen("PATH=")) == 0;
	return is_said ? "" : variable;
}

/* Keep the reason why the image cannot be used. Returns -1. */
static int miss_image(const struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int miss_image(const struct reading *reading, const char *format, ...)
{
	char text[IMAGE_TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	reading->profile->missing = memory_text(text, strlen(text));
	return -1;
}

/* Add the image's variables to the profile's as far as there is room. */
static int check_variables(const struct reading *reading)
{
	const struct profile *profile = reading->profile;
	const char *variable;
	size_t bytes = 0;

	for (uint32_t i = 0; i < profile->environment_count; i++)
		bytes += strlen(profile->environment[i]) + 1;
	for (uint32_t i = 0; (variable = image_variable(profile, i)) != NULL; i++)
		bytes += strlen(variable) + 1;
	return bytes <= IPC_ENVIRONMENT_MAX / 2
		       ? 0
		       : miss_image(
				 reading,
				 "%.160s: its variables and the profile's are too long, %zu bytes; "
				 "expected at most %d bytes in all",
				 profile->image, bytes, IPC_ENVIRONMENT_MAX / 2);
}

static int check_command(const struct reading *reading)
{
	const char *word;
	size_t bytes = 0;

	for (uint32_t i = 0; (word = image_command(reading->profile, i)) != NULL; i++)
		bytes += strlen(word) + 1;
	return bytes <= IPC_ARGV_MAX
		       ? 0
		       : miss_image(
				 reading,
				 "%.160s: its command is too long, %zu bytes; expected at most %d",
				 reading->profile->image, bytes, IPC_ARGV_MAX);
}

/* Take the image's directory unless a key says one; in the root itself nothing can be done. */
static int set_cwd(const struct reading *reading)
{
	struct profile *profile = reading->profile;
	const char *cwd = profile->tree != NULL ? profile->tree->image->cwd : NULL;

	if (profile->cwd != NULL)
		return 0;
	profile->is_cwd_of_image = true;
	profile->cwd = cwd != NULL && cwd[0] != '\0' && strcmp(cwd, "/") != 0 ? cwd : IMAGE_CWD;
	profile->origins.keys[KEY_profile_cwd] = profile->origins.keys[KEY_profile_image];
	return reading_is_path(profile->cwd)
		       ? 0
		       : miss_image(reading,
				    "%.160s: its working directory \"%.160s\" is not " READING_PATH
				    "; expected cwd in the profile",
				    profile->image, profile->cwd);
}

static bool has_rule(const struct profile *profile, const char *path)
{
	for (uint32_t i = 0; i < profile->rule_count; i++) {
		if (strcmp(profile->rules[i].path, path) == 0)
			return true;
	}
	return false;
}

/* Add a rule for a path; false: there is no room. */
static bool grant_rights(struct profile *profile, const char *path, bool is_writable,
			 enum key_id key)
{
	static char read[] = "read", execute[] = "execute", write[] = "write", create[] = "create";
	static char *const words[] = { read, execute, write, create };
	struct profile_rule rule = { .words = { words, is_writable ? 4 : 2 },
				     .is_implied = true,
				     .origin = profile->origins.keys[key] };

	if (profile->rule_count == PLAN_RULES_MAX)
		return false;
	for (uint32_t i = 0; i < rule.words.count; i++)
		rule.rights |= profile_right(words[i]);
	rule.path = profile->rule_paths[profile->owned_rules++] = memory_text(path, strlen(path));
	profile->rules[profile->rule_count++] = rule;
	return true;
}

/* Add the rule of a name in the image's root. */
static int add_rule(void *context, const char *name, mode_t mode)
{
	const struct reading *reading = context;
	struct profile *profile = reading->profile;
	char path[IPC_PATH_MAX + 1];

	(void)snprintf(path, sizeof(path), "/%s", name);
	if ((!S_ISDIR(mode) && !S_ISREG(mode)) || has_rule(profile, path) ||
	    grant_rights(profile, path, profile->is_root_writable, KEY_profile_image))
		return 0;
	return miss_image(reading,
			  "%.160s: too many files in its root; expected at most %u, with the "
			  "profile's rules of landlock",
			  profile->image, PLAN_RULES_MAX);
}

/* Add the rule of the directory in the root that a path lies in. */
static int add_top(struct reading *reading, const char *path)
{
	char name[IPC_PATH_MAX];

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(path + 1, "/"), path + 1);
	return add_rule(reading, name, S_IFDIR);
}

/* Add the rules of what entries make in the root beside the image's files. A mount has the rule
 * that the profile gives it. */
static int add_made(struct reading *reading)
{
	const struct profile *profile = reading->profile;
	int result = 0;

	for (uint32_t i = 0; i < profile->mount_count && result == 0; i++) {
		const uint32_t kind = profile->mounts[i].kind;

		if (kind < PLAN_BIND)
			result = add_top(reading, profile->mounts[i].target);
	}
	return result;
}

/* Show a directory of trusted certificates, as `default` does, where requests are read: its place
 * gets that of msp, which signs for the hosts. */
static void add_trust(struct profile *profile)
{
	static const char place[] = "/etc/ssl/certs";
	const struct profile_mount *around = mounts_around(profile, place);
	const bool is_read = profile->network == NETWORK_HOSTS &&
			     (profile->request_count > 0 || profile->secret_count > 0);

	if (!is_read || profile->mount_count == PROFILE_MOUNTS_MAX ||
	    (around != NULL && strcmp(around->target, place) == 0))
		return;
	profile->mounts[profile->mount_count++] =
		(struct profile_mount){ .kind = PLAN_BIND,
					.flags = PLAN_OPTIONAL,
					.source = place,
					.target = place,
					.is_noexec = true,
					.is_implied = true,
					.is_builtin = true,
					.origin = profile->origins.keys[KEY_profile_image] };
}

static bool has_system(const struct profile *profile)
{
	const bool is_own = profile->is_root_writable || profile_has_system(profile);

	for (uint32_t i = 0; is_own && i < profile->mount_count; i++) {
		const char *place = profile->mounts[i].place;

		if (place != NULL && strcmp(place, PLACE_SYSTEM) == 0)
			return true;
	}
	return false;
}

/* Is the image hidden at a path, by a mount of the profile? */
static bool is_hidden(const struct profile *profile, const char *path)
{
	const struct profile_mount *around = mounts_around(profile, path);

	return around != NULL && around->kind >= PLAN_BIND && around->kind != PLAN_IMAGE;
}

/* Is something else than a directory at a path in the image? A link to one may be on the way to an
 * entry, and not in its place. */
static bool is_no_directory(const struct profile *profile, const char *path, bool may_be_link)
{
	char found[PATH_MAX];
	const mode_t itself = images_look_itself(profile->tree, path);
	const mode_t mode = may_be_link ? images_look(profile->tree, path, found) : itself;

	return itself != 0 && !S_ISDIR(mode);
}

/* Find the path at which the image has something else than the directory that an entry needs. */
static bool find_blocked(const struct profile *profile, char ret[IPC_PATH_MAX])
{
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const struct profile_mount *mount = &profile->mounts[i];
		const char *end = mount->target;

		while ((end = strchr(end + 1, '/')) != NULL) {
			(void)snprintf(ret, IPC_PATH_MAX, "%.*s", (int)(end - mount->target),
				       mount->target);
			if (is_hidden(profile, ret))
				break;
			if (is_no_directory(profile, ret, true))
				return true;
		}
		(void)snprintf(ret, IPC_PATH_MAX, "%s", mount->target);
		if (end == NULL && mount->kind >= PLAN_TMPFS && mount->kind != PLAN_MASK &&
		    is_no_directory(profile, ret, false))
			return true;
	}
	return false;
}

/* Add what the image gives to the profile. */
static int take_image(const struct reading *reading)
{
	struct profile *profile = reading->profile;
	struct reading adding = *reading;
	int result;

	add_trust(profile);
	if (has_system(profile))
		return reading_fail(reading, "files",
				    "the place " PLACE_SYSTEM " is that of a root which may be "
				    "written; expected another name");
	result = images_each_top(profile->tree, add_rule, &adding);
	if (result == 0)
		result = add_made(&adding);
	if (result < -1)
		result = miss_image(reading, "%.160s: its layers cannot be read", profile->image);
	return result != 0 || check_variables(reading) != 0 || check_command(reading) != 0
		       ? -1
		       : set_cwd(reading);
}

/* Go on without the image: the profile is complete but for it, and others may extend it. */
static int leave_image(const struct reading *reading)
{
	struct profile *profile = reading->profile;

	profile->tree = NULL;
	if (profile->is_cwd_of_image)
		profile->cwd = NULL;
	return set_cwd(reading);
}

/* Add the rights in what the sandbox has of its own: a rule beside the profile's for the same path
 * adds to it. */
static int open_system(const struct reading *reading)
{
	static const char *const tops[] = { "/usr", "/etc", "/opt", "/var" };

	if (has_system(reading->profile))
		return reading_fail(reading, "files",
				    "the place " PLACE_SYSTEM " is that of a system which may be "
				    "written; expected another name");
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		if (!grant_rights(reading->profile, tops[i], true, KEY_profile_system))
			return reading_fail(reading, "system",
					    "too many rules of landlock; expected at most %u, with "
					    "the four that this key adds",
					    PLAN_RULES_MAX);
	}
	return 0;
}

int image_check(const struct reading *reading)
{
	struct profile *profile = reading->profile;
	char text[IPC_PATH_MAX];
	int result;

	if (profile->seccomp.pretends_ownership && profile->numbers.user != PLAN_USER_ROOT)
		return reading_fail(reading, reading_says(reading, "pretend") ? "pretend" : "user",
				    "ownership is pretended to user 0 alone; expected user: root "
				    "beside pretend: [ownership], or pretend: []");
	if (profile->image == NULL && profile->origins.keys[KEY_profile_root].file != NULL)
		return reading_fail(reading, "root",
				    "does not belong to a profile without an image; expected image "
				    "beside it, or system: writable");
	if (profile->image == NULL)
		return profile_has_system(profile) ? open_system(reading) : 0;
	if (image_is_awaited(profile))
		return reading->place.is_builtin
			       ? set_cwd(reading)
			       : reading_fail(reading, "image",
					      "missing; expected the name of an image, such as "
					      "python:3.12, that msp image import brought");
	profile->tree = images_find(reading->place.images, profile->image, text);
	if (profile->tree == NULL)
		result = miss_image(reading, "%s", text);
	else if (find_blocked(profile, text))
		result = miss_image(
			reading,
			"the image '%.160s' has a file or a link at %.160s, where the "
			"profile needs a directory: take an image with a directory there",
			profile->image, text);
	else
		result = take_image(reading);
	return result != 0 && profile->missing != NULL ? leave_image(reading) : result;
}

struct profile_mount image_mount(const struct profile *profile)
{
	const bool is_system = profile_has_system(profile);
	const bool is_own = profile->is_root_writable || is_system;

	return (struct profile_mount){
		.kind = PLAN_IMAGE,
		.phase = is_own ? PLAN_PHASE_SANDBOX : PLAN_PHASE_BASE,
		.mode = 0755,
		.target = "/",
		.place = is_own && profile_lasts(profile) ? PLACE_SYSTEM : NULL,
		.size_bytes = is_own ? profile->numbers.memory_bytes : SMALL_BYTES,
		.inodes = is_own ? OWN_INODES : SMALL_INODES,
		.is_writable = is_own,
		.is_implied = true,
		.origin = profile->origins.keys[is_system ? KEY_profile_system : KEY_profile_image],
	};
}

/* Give an overlay of a system that can be written a place, if the profile's sandboxes last. Its
 * name follows from the path: system-usr. */
static void set_system_place(struct profile *profile, struct profile_mount *mount)
{
	char name[IPC_PATH_MAX];

	(void)snprintf(name, sizeof(name), PLACE_SYSTEM "%s", mount->target);
	for (char *slash = name; (slash = strchr(slash, '/')) != NULL;)
		*slash = '-';
	if (profile_lasts(profile) && plan_is_place(name) &&
	    profile->owned_count < PROFILE_MOUNTS_MAX)
		mount->place = profile->owned[profile->owned_count++] =
			memory_text(name, strlen(name));
}

void image_settle_system(struct profile *profile, struct profile_mount *mount)
{
	static const char *const tops[] = { "/usr", "/opt", "/var" };
	struct stat source;
	bool is_in = false;

	if (mount->is_system) { /* a parent's */
		mount->kind = PLAN_BIND;
		mount->flags |= mount->is_optional ? PLAN_OPTIONAL : 0U;
		mount->place = NULL;
		mount->is_system = false;
	}
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		const size_t size = strlen(tops[i]);

		is_in = is_in || (strncmp(mount->target, tops[i], size) == 0 &&
				  (mount->target[size] == '\0' || mount->target[size] == '/'));
	}
	/* Each sandbox of the profile has a place, so what is missing cannot be one. */
	if (!profile_has_system(profile) || !is_in || mount->kind != PLAN_BIND ||
	    mount->is_writable || mount->is_toolchain || mount->place != NULL ||
	    stat(mount->source, &source) != 0 || !S_ISDIR(source.st_mode))
		return;
	mount->is_system = true;
	mount->kind = PLAN_OVERLAY;
	mount->mode = 0755;
	mount->flags &= ~(uint32_t)PLAN_OPTIONAL;
	mount->size_bytes = profile->numbers.memory_bytes;
	mount->inodes = OWN_INODES;
	set_system_place(profile, mount);
}
