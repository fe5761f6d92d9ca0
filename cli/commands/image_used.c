/* SPDX-License-Identifier: Apache-2.0
 *
 * Images that persistent sandboxes show: a cold one holds no lock, but its profile names the image,
 * and the supervisor knows the sandbox's profile.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask/ask.h"
#include "commands/image.h"
#include "common/fd.h"
#include "common/format.h"
#include "common/limits.h"
#include "common/log.h"
#include "launcher/host/state_place.h"

struct search {
	const struct plan *plan;
	const char *digest;
	struct image_user *user;
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
	const int index = plan_profile_find(search->plan, info->profile);

	if (index < 0 || search->user->sandbox[0] ||
	    !has_image(search->plan, plan_profile(search->plan, (uint32_t)index), search->digest))
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

	if (pipe2(ends, O_CLOEXEC) != 0) {
		log_line("a pipe: %s", errno_text(errno));
		return MSP_EXIT_SOFTWARE;
	}
	pid = fork();
	if (pid == 0) {
		fd_close(&ends[0]);
		code = ask_for_sandboxes(&attach, true, on_sandbox, search);
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

int image_find_user(const struct image_options *options, const char *digest, struct image_user *ret)
{
	struct config config = CONFIG_UNREAD;
	struct search search = { .digest = digest, .user = ret };
	int code = image_read_config(options, &config);

	*ret = (struct image_user){ .sandbox = "" };
	search.plan = code ? NULL : config_plan(&config);
	if (search.plan && can_be_used(search.plan, digest))
		code = ask_apart(&search, options->config);
	config_close(&config);
	return code;
}
