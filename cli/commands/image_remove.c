/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp image remove` and `msp image prune`.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask/attach.h"
#include "commands/image.h"
#include "commands/sandboxes.h"
#include "common/fd.h"
#include "common/ipc/ipc_persistent.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/profile_names.h"
#include "launcher/host/state_place.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/figures.h"

/* --- images that sandboxes show -------------------------------------------------------------- */

/* A persistent sandbox that shows an image: a cold one holds no lock, but its profile names the
 * image, and the supervisor knows the sandbox's profile. */
struct user {
	char sandbox[IPC_NAME_MAX]; /* its name or id; empty: there is none */
	char profile[IPC_NAME_MAX];
};

struct search {
	const struct plan *plan;
	const char *digest;
	struct user *user;
};

static bool has_image(const struct plan *plan, const struct plan_profile *profile,
		      const char *digest)
{
	return profile->image != 0 && strcmp(plan_string(plan, profile->image), digest) == 0;
}

/* Keep the first sandbox whose profile has the image. */
static void on_sandbox(void *context, const struct ipc_sandbox_info *info)
{
	const struct search *search = context;
	const struct plan_profile *profile = profile_find(search->plan, info->profile);

	if (!profile || search->user->sandbox[0] ||
	    !has_image(search->plan, profile, search->digest))
		return;
	format_text(search->user->sandbox, sizeof(search->user->sandbox), "%s",
		    info->name[0] ? info->name : info->id);
	format_text(search->user->profile, sizeof(search->user->profile), "%s", info->profile);
}

/* Return whether a supervisor is worth asking: a profile has the image, and a sandbox is there. */
static bool can_be_used(const struct plan *plan, const char *digest)
{
	char path[IPC_PATH_MAX], text[STATE_PLACE_TEXT_MAX];
	const struct dirent *entry;
	bool is_possible = false;
	int error = 0;
	int fd = -1;
	DIR *list;

	for (uint32_t i = 0; i < plan_profile_count(plan) && !is_possible; i++)
		is_possible = has_image(plan, plan_profile(plan, i), digest);
	if (is_possible && state_place_find(STATE_PLACE_SANDBOXES, path, text))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	is_possible = false;
	while (list && !is_possible && (entry = image_next_file(list, &error)))
		is_possible = entry->d_name[0] != '.';
	if (list)
		(void)closedir(list); /* it was only read */
	else
		fd_close(&fd);
	return is_possible || error;
}

/* Ask in a process of its own: one that starts a supervisor holds the images of its plan. */
static int ask_apart(struct search *search, const char *config)
{
	const struct attach_options attach = { .config = config, .limits = LIMITS_UNSAID };
	int status = 0, ends[2], code = MSP_EXIT_SOFTWARE;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return log_fail(MSP_EXIT_SOFTWARE, "a pipe: %s", errno_text(errno));
	pid = fork();
	if (pid == 0) {
		fd_close(&ends[0]);
		code = sandboxes_each(&attach, true, on_sandbox, search);
		if (!code && fd_write_all(ends[1], search->user, sizeof(*search->user)) != 0)
			code = MSP_EXIT_SOFTWARE;
		_exit(code);
	}
	fd_close(&ends[1]);
	if (pid < 0)
		log_line("a process: %s", errno_text(errno));
	else if (waitpid(pid, &status, 0) == pid && WIFEXITED(status))
		code = WEXITSTATUS(status);
	/* It is small enough for a pipe. */
	if (!code &&
	    read(ends[0], search->user, sizeof(*search->user)) != (ssize_t)sizeof(*search->user))
		code = MSP_EXIT_SOFTWARE;
	fd_close(&ends[0]);
	return code;
}

/* Find the first one, live or cold. 0, or the exit code after a line. */
static int find_user(const struct image_options *options, const char *digest, struct user *ret)
{
	struct config config = CONFIG_UNREAD;
	struct search search = { .digest = digest, .user = ret };
	int code = image_read_config(options, &config);

	*ret = (struct user){ .sandbox = "" };
	search.plan = code ? NULL : config_plan(&config);
	if (search.plan && can_be_used(search.plan, digest))
		code = ask_apart(&search, options->config);
	config_close(&config);
	return code;
}

/* --- remove ----------------------------------------------------------------------------------- */

static int tell_busy(const char *digest)
{
	return log_fail(MSP_EXIT_AGAIN,
			"the image %.12s is used by a running msp: end its sandboxes and msp first",
			digest);
}

/* Say that a persistent sandbox needs the image, if one does. 0, or the exit code after a line. */
static int check_user(const struct image_options *options, const char *digest)
{
	struct user user;
	const int code = find_user(options, digest, &user);

	if (code || !user.sandbox[0])
		return code;
	return log_fail(MSP_EXIT_AGAIN,
			"the image %.12s is that of the persistent sandbox '%s', by its profile "
			"%s: 'msp destroy %s' first",
			digest, user.sandbox, user.profile, user.sandbox);
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
		return command_fail("the image cannot be removed", seized);
	for (size_t i = 0; i < names->count && !error; i++)
		error = image_name_remove(keep, names->list[i]);
	if (!error && seized >= 0)
		error = image_discard(keep, names->digest);
	fd_close(&seized);
	if (error)
		return command_fail("the image cannot be removed", error);
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
		return command_fail("the name cannot be removed", error);
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
		code = command_fail("the names of the image", error);
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
	struct user user = { .sandbox = "" };
	int error = image_list_names(pruning->keep->store, entry->digest, &names);
	int seized = -1;

	if (!error && names.count == 0) {
		seized = find_user(pruning->options, entry->digest, &user) || user.sandbox[0]
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
		return command_fail("the images cannot be pruned", error);
	everywhere_note("%u image%s without a name removed, %s%s", pruning->removed,
			pruning->removed == 1 ? "" : "s", figures_bytes(before - after, freed),
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
