/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/state_place.h"
#include "launcher/start/compile.h"
#include "launcher/start/machine_place.h"
#include "launcher/start/plan_cache.h"

#define VARIABLE "MSP_CONFIG"

/* Try to open a file for reading, without waiting: 0 or -errno. */
static int try_file(const char *path)
{
	int fd FD_OWNED = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return -errno;
	return S_ISREG(status.st_mode) ? 0 : S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
}

static const char *explain_open(int error)
{
	return error == -EINVAL ? "it is no regular file" : errno_text(-error);
}

static int explain_file(const char *path, const char *who, int error, char text[CONFIG_TEXT_MAX])
{
	return format_fail(-1, text, CONFIG_TEXT_MAX,
			   "the configuration %.900s%s cannot be read: %s", path, who,
			   explain_open(error));
}

/* A file that was named must be there. */
static int take_named(const char *path, const char *who, char ret[IPC_PATH_MAX],
		      char text[CONFIG_TEXT_MAX])
{
	const int error = strlen(path) >= IPC_PATH_MAX ? -ENAMETOOLONG : try_file(path);

	if (error)
		return explain_file(path, who, error, text);
	format_text(ret, IPC_PATH_MAX, "%s", path);
	return 0;
}

/* Take a file that was found; one that was not named may be missing. 1: it is there. */
static int take_found(const char *folder, const char *name, char ret[IPC_PATH_MAX],
		      char text[CONFIG_TEXT_MAX])
{
	char path[IPC_PATH_MAX];
	int error;

	if (strlen(folder) + 1 + strlen(name) >= sizeof(path))
		return explain_file(folder, "", -ENAMETOOLONG, text);
	format_text(path, sizeof(path), "%s%s%s", folder, folder[0] ? "/" : "", name);
	error = try_file(path);
	if (error == -ENOENT || error == -ENOTDIR)
		return 0;
	if (error)
		return explain_file(path, "", error, text);
	format_text(ret, IPC_PATH_MAX, "%s", path);
	return 1;
}

int config_search(const struct config_places *places, char ret[IPC_PATH_MAX],
		  char text[CONFIG_TEXT_MAX])
{
	int found = 0;

	ret[0] = '\0';
	if (places->given)
		return take_named(places->given, "", ret, text);
	if (places->variable && places->variable[0] != '\0') {
		/* A client starts msp in the folder of a project, whose files are not policy. */
		if (places->variable[0] != '/')
			return format_fail(-1, text, CONFIG_TEXT_MAX,
					   VARIABLE
					   "=%.900s is refused: it must be an absolute path",
					   places->variable);
		return take_named(places->variable, ", which " VARIABLE " names,", ret, text);
	}
	if (places->home)
		found = take_found(places->home, CONFIG_HOME_FILE, ret, text);
	if (!found && places->system)
		found = take_found("", places->system, ret, text);
	return found < 0 ? -1 : 0;
}

/* HOME, where that is a folder of ours, as it need not be after a change of user; else what the
 * account database says. */
static const char *find_home(void)
{
	const char *home = getenv("HOME");
	const char *listed =
		account_owns_folder(home, geteuid()) ? NULL : account_listed_home(NULL);

	if (listed)
		home = listed;
	return home && home[0] == '/' ? home : NULL;
}

static int find_file(const char *given, bool is_roots, char ret[IPC_PATH_MAX],
		     char text[CONFIG_TEXT_MAX])
{
	struct config_places places = { .given = given,
					.variable = getenv(VARIABLE),
					.system = CONFIG_SYSTEM_FILE };

	if (!given && !(places.variable && places.variable[0]) && !is_roots)
		places.home = find_home();
	return config_search(&places, ret, text);
}

int config_find(const char *given, char ret[IPC_PATH_MAX], char text[CONFIG_TEXT_MAX])
{
	return find_file(given, geteuid() == 0, ret, text);
}

bool config_is_named(const struct config *config)
{
	const char *variable = getenv(VARIABLE);

	return config->given || (variable && variable[0] != '\0');
}

/* Take the plan of an earlier start; false: there is none that passes the supervisor's check. */
static bool take_cached(struct config *config, const struct compile_input *input,
			struct plan_cache_key *ret)
{
	config->plan_fd = plan_cache_find(input, ret);
	if (config->plan_fd >= 0 && plan_open_fd(config->plan_fd, &config->plan) != 0)
		fd_close(&config->plan_fd);
	return config->plan_fd >= 0;
}

/* Check a new plan as the supervisor will. */
static int compile_plan(struct config *config, const struct compile_input *input,
			char text[CONFIG_TEXT_MAX])
{
	int error;

	config->plan_fd = compile_config(input, text);
	error = config->plan_fd < 0 ? 0 : plan_open_fd(config->plan_fd, &config->plan);
	if (!error)
		return config->plan_fd < 0 ? MSP_EXIT_REFUSED : 0;
	fd_close(&config->plan_fd);
	return format_fail(MSP_EXIT_REFUSED, text, CONFIG_TEXT_MAX,
			   "msp-policy is not of this version (%s): install all of msp's programs "
			   "together",
			   errno_text(-error));
}

/* Compiling may itself change what it depends on, the watched paths: the second plan is kept. */
static int take_compiled(struct config *config, const struct compile_input *input,
			 char text[CONFIG_TEXT_MAX])
{
	struct plan_cache_key key;
	int code = 0;

	for (unsigned int tries = 0; tries < 2; tries++) {
		config_close(config);
		if (take_cached(config, input, &key))
			return 0;
		if (!key.is_known && !input->path[0]) { /* without msp-policy nothing is said */
			text[0] = '\0';
			return MSP_EXIT_REFUSED;
		}
		code = compile_plan(config, input, text);
		if (code || plan_cache_keep(input, &key, &config->plan))
			break;
	}
	return code;
}

/* Find the place for copies of the packages' configuration. False: there is none.
 * A sandbox sees in its table of mounts where it is, so it is not below a home. */
static bool find_packages(char ret[IPC_PATH_MAX])
{
	char text[STATE_PLACE_TEXT_MAX];

	if (geteuid() == 0) { /* the account that sandboxes run as reaches it */
		format_text(ret, IPC_PATH_MAX, "/run/msp-packages");
		return mkdir(ret, 0755) == 0 || errno == EEXIST;
	}
	state_place_memory(ret);

	int place FD_OWNED = state_place_open(ret, true, text);

	return place >= 0;
}

/* Find the binds that sandboxes of this account keep. False: there are none, or not for this. */
static bool find_kept(const struct config *config, char ret[IPC_PATH_MAX])
{
	char text[STATE_PLACE_TEXT_MAX];

	return config->has_kept && geteuid() != 0 &&
	       state_place_find(STATE_PLACE_BINDS, ret, text) && access(ret, F_OK) == 0;
}

static int take_builtin(struct config *config, char text[CONFIG_TEXT_MAX])
{
	const int fd = fd_sealed_from_file("msp-policy", config->builtin);

	if (fd < 0)
		return format_fail(MSP_EXIT_SANDBOX, text, CONFIG_TEXT_MAX,
				   "builtin.policy cannot be read: %s", errno_text(-fd));
	config->plan_fd = fd;
	return 0;
}

int config_read(struct config *config, char text[CONFIG_TEXT_MAX])
{
	char images[IPC_PATH_MAX], packages[IPC_PATH_MAX], machine[IPC_PATH_MAX],
		kept[IPC_PATH_MAX];
	int code = 0;

	if (config->is_read)
		return 0;
	config->is_roots = config->is_roots || geteuid() == 0;
	if (find_file(config->given, config->is_roots, config->path, text) != 0)
		return MSP_EXIT_REFUSED;

	const struct compile_input input = {
		.path = config->path,
		.images = config->path[0] && state_place_images(images) ? images : NULL,
		.packages = find_packages(packages) ? packages : NULL,
		.machine = machine_place_find(machine) ? machine : NULL,
		.kept = find_kept(config, kept) ? kept : NULL,
	};

	if (config->path[0] || config->builtin >= 0)
		code = take_compiled(config, &input, text);
	if (code && !config->path[0]) {
		if (text[0])
			log_line("the host's packages are not shown: %s", text);
		code = take_builtin(config, text);
	}
	config->is_read = code == 0;
	return code;
}

int config_read_again(const struct config *config, struct config *ret, char text[CONFIG_TEXT_MAX])
{
	*ret = (struct config)CONFIG_UNREAD;
	ret->given = config->path[0] != '\0' ? config->path : NULL;
	ret->builtin = config->builtin;
	ret->is_roots = config->is_roots;
	ret->has_kept = config->has_kept;
	return config_read(ret, text);
}

void config_become(struct config *config)
{
	char kept[IPC_PATH_MAX], text[CONFIG_TEXT_MAX];
	struct config again;

	if (!find_kept(config, kept))
		return;
	if (config_read_again(config, &again, text) != 0) {
		log_line("sandboxes with --ro cannot be used: %s", text);
		return;
	}
	config_close(config);
	config->plan_fd = again.plan_fd;
	config->plan = again.plan;
}

void config_close(struct config *config)
{
	plan_close(&config->plan);
	fd_close(&config->plan_fd);
}

const struct plan *config_plan(struct config *config)
{
	if (!config->plan.bytes && plan_open_fd(config->plan_fd, &config->plan) != 0)
		return NULL;
	return &config->plan;
}

/* The built-in profiles come without anything that an operator says of all of them. */
static const struct plan_header *find_header(struct config *config)
{
	const struct plan *plan = config->path[0] != '\0' ? config_plan(config) : NULL;

	return plan ? plan_header(plan) : NULL;
}

uint32_t config_limits(struct config *config, uint32_t said)
{
	const struct plan_header *header = said == LIMITS_UNSAID ? find_header(config) : NULL;

	if (said != LIMITS_UNSAID)
		return said;
	return header && header->limits_fallback ? LIMITS_FALLBACK : LIMITS_CGROUP;
}

const char *config_run_as(struct config *config)
{
	const struct plan_header *header = find_header(config);

	return header && header->run_as ? plan_string(&config->plan, header->run_as) : NULL;
}
