/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp image remove` and `msp image prune`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/image.h"
#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "options/everywhere.h"
#include "show/figures.h"

static int tell_busy(const char *digest)
{
	log_line("the image %.12s is used by a running msp: end its sandboxes and msp first",
		 digest);
	return MSP_EXIT_AGAIN;
}

/* Say that a persistent sandbox needs the image, if one does. 0, or the exit code after a line. */
static int check_user(const struct image_options *options, const char *digest)
{
	struct image_user user;
	const int code = image_find_user(options, digest, &user);

	if (code || !user.sandbox[0])
		return code;
	log_line("the image %.12s is that of the persistent sandbox '%s', by its profile %s: 'msp "
		 "destroy %s' first",
		 digest, user.sandbox, user.profile, user.sandbox);
	return MSP_EXIT_AGAIN;
}

/* Remove an image with its names: names first, so that none leads to nothing. */
static int remove_whole(const struct image_keep *keep, const struct image_names *names,
			const struct image_options *options)
{
	const int code = check_user(options, names->digest);
	int error = 0;
	int seized = -1;

	if (code)
		return code;
	seized = image_seize(keep, names->digest);
	if (seized == -EBUSY)
		return tell_busy(names->digest);
	if (seized < 0 && seized != -ENOENT)
		return image_fail("the image cannot be removed", seized);
	for (size_t i = 0; i < names->count && !error; i++)
		error = image_name_remove(keep, names->list[i]);
	if (!error && seized >= 0)
		error = image_discard(keep, names->digest);
	fd_close(&seized);
	if (error)
		return image_fail("the image cannot be removed", error);
	everywhere_note("the image %.12s is removed", names->digest);
	return 0;
}

/* Find the name that a person means in the list; NULL: he has given a digest. */
static const char *find_name(const struct image_names *names, const char *name)
{
	const size_t local = strlen("localhost/");

	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->list[i], name) == 0)
			return names->list[i];
	}
	for (size_t i = 0; i < names->count; i++) {
		if (strncmp(names->list[i], "localhost/", local) == 0 &&
		    strcmp(names->list[i] + local, name) == 0)
			return names->list[i];
	}
	return NULL;
}

/* Remove a name that is not an image's last one, or holds none. */
static int remove_name(const struct image_keep *keep, const char *name)
{
	const int error = image_name_remove(keep, name);

	if (error)
		return image_fail("the name cannot be removed", error);
	everywhere_note("the name %s is removed", name);
	return 0;
}

/* Remove one name of several; or, with an image's only name or by its digest, the image. */
static int remove_image(const struct image_keep *keep, const char *wanted,
			const struct image_options *options)
{
	char name[IMAGE_NAME_MAX] = "", digest[IMAGE_DIGEST_MAX], text[IMAGE_TEXT_MAX];
	struct image_names names = { 0 };
	const char *one;
	int error, code;

	(void)image_name_read(wanted, name); /* or it is a digest */
	error = image_resolve(keep->store, wanted, digest, text);
	if (error == -EBADMSG)
		return remove_name(keep, name);
	if (error)
		return image_tell_unfound(error, text);
	error = image_list_names(keep->store, digest, &names);
	one = error ? NULL : find_name(&names, name);
	if (error)
		code = image_fail("the names of the image", error);
	else
		code = one && names.count > 1 ? remove_name(keep, one)
					      : remove_whole(keep, &names, options);
	free(names.list);
	return code;
}

int image_run_remove(const struct image_options *options, char *const words[])
{
	struct image_keep keep;
	int code = image_begin_change(&keep);

	if (!code)
		code = remove_image(&keep, words[0], options);
	return image_end_change(&keep, code);
}

/* --- prune ------------------------------------------------------------------------------------ */

struct pruning {
	const struct image_keep *keep;
	const struct image_options *options;
	uint32_t removed, busy;
};

/* Remove an image without a name. */
static int prune_image(void *context, const struct image_entry *entry)
{
	struct pruning *pruning = context;
	struct image_names names;
	struct image_user user = { .sandbox = "" };
	int error = image_list_names(pruning->keep->store, entry->digest, &names);
	int seized = -1;

	if (!error && names.count == 0) {
		seized = image_find_user(pruning->options, entry->digest, &user) || user.sandbox[0]
				 ? -EBUSY
				 : image_seize(pruning->keep, entry->digest);
		if (seized >= 0)
			error = image_discard(pruning->keep, entry->digest);
		else if (seized != -EBUSY)
			error = seized;
		pruning->removed += seized >= 0 && !error;
		pruning->busy += seized == -EBUSY;
	}
	fd_close(&seized);
	free(names.list);
	return error;
}

/* Remove a name whose image has gone. */
static int prune_name(void *context, const struct image_entry *entry)
{
	const struct pruning *pruning = context;
	static struct image image;

	return image_read(pruning->keep->store, entry->digest, &image) == -ENOENT
		       ? image_name_remove(pruning->keep, entry->name)
		       : 0;
}

static int prune_images(struct pruning *pruning)
{
	char freed[FIGURES_TEXT_MAX];
	uint64_t before = 0, after = 0;
	int error = image_used(pruning->keep->store, &before);

	if (!error)
		error = image_each_name(pruning->keep->store, prune_name, pruning);
	if (!error)
		error = image_each_digest(pruning->keep->store, prune_image, pruning);
	if (!error)
		error = image_used(pruning->keep->store, &after);
	if (error)
		return image_fail("the images cannot be pruned", error);
	everywhere_note("%u images without a name removed, %s%s", pruning->removed,
			figures_bytes(before - after, freed),
			pruning->busy ? "; others are used by a running msp or a persistent sandbox"
				      : "");
	return 0;
}

int image_run_prune(const struct image_options *options, char *const words[])
{
	struct image_keep keep;
	struct pruning pruning = { .keep = &keep, .options = options };
	int code = image_begin_change(&keep);

	if (!code)
		code = prune_images(&pruning);
	return image_end_change(&keep, code);
}
