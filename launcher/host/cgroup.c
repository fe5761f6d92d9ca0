/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the cgroup of this process and saying whether it can be used. Changes nothing.
 */
#include "launcher/host/cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text/format.h"
#include "common/text/text.h"
#include "launcher/host/mounts.h"

static const struct {
	const char *name;
	uint32_t bit;
} controllers[] = {
	{ "cpu", CGROUP_CPU }, { "memory", CGROUP_MEMORY }, { "pids", CGROUP_PIDS },
	{ "io", CGROUP_IO },   { "cpuset", CGROUP_CPUSET },
};

bool cgroup_parse_own(const char *text, char *ret, size_t room)
{
	const char *line = text;

	while (line && strncmp(line, "0::/", 4) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		return false;
	line += 3;
	const size_t size = strcspn(line, "\n");
	if (size >= room || strncmp(line, "/..", 3) == 0)
		return false;
	memcpy(ret, line, size);
	ret[size] = '\0';
	return true;
}

uint32_t cgroup_parse_controllers(const char *text)
{
	uint32_t found = 0;

	while (*text != '\0') {
		const size_t size = strcspn(text, " \n");

		for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
			if (strlen(controllers[i].name) == size &&
			    memcmp(controllers[i].name, text, size) == 0)
				found |= controllers[i].bit;
		}
		text += size;
		text += strspn(text, " \n");
	}
	return found;
}

static bool is_cgroup2(const char *path)
{
	struct statfs status;

	return statfs(path, &status) == 0 && (uint64_t)status.f_type == CGROUP2_SUPER_MAGIC;
}

/* The usual places first: the whole mount table is long on some machines. */
static bool find_directory(const char *own, char *ret, size_t room)
{
	static const char *const usual[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct mounts mounts;
	bool is_found = false;

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		path_move(own, "/", usual[i], ret, room);
		if (is_cgroup2(usual[i]) && access(ret, F_OK) == 0)
			return true;
	}
	if (mounts_read(&mounts) != 0)
		return false;
	for (size_t i = 0; !is_found && i < mounts.count; i++) {
		const struct mount *mount = &mounts.list[i];

		is_found = strcmp(mount->type, "cgroup2") == 0 && path_is_within(own, mount->root);
		if (is_found)
			path_move(own, mount->root, mount->point, ret, room);
	}
	mounts_done(&mounts);
	return is_found;
}

/* Are we in there, and who else? Our own number proves that the directory is ours. */
static enum cgroup_problem check_processes(int directory)
{
	char text[4096];
	bool is_own = false;
	bool is_other = false;
	char *at = text;

	if (text_read_file(directory, "cgroup.procs", text, sizeof(text)) < 0)
		return CGROUP_ABSENT;
	while (*at != '\0') {
		char *end;
		const long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		is_own = is_own || pid == getpid();
		is_other = is_other || pid != getpid();
		at = end + strspn(end, "\n");
	}
	if (!is_own && !is_other)
		return CGROUP_ABSENT;
	return is_other ? CGROUP_SHARED : CGROUP_USABLE;
}

static bool is_writable(int directory)
{
	return faccessat(directory, ".", W_OK, AT_EACCESS) == 0 &&
	       faccessat(directory, "cgroup.procs", W_OK, AT_EACCESS) == 0 &&
	       faccessat(directory, "cgroup.subtree_control", W_OK, AT_EACCESS) == 0;
}

bool cgroup_read_controllers(const char *own, char *ret, size_t room)
{
	char path[4096];

	if (!find_directory(own, path, sizeof(path)))
		return false;
	format_append(path, sizeof(path), "/cgroup.controllers");
	return text_read_file(AT_FDCWD, path, ret, room) >= 0;
}

struct cgroup_state cgroup_examine(void)
{
	struct cgroup_state state = { .problem = CGROUP_ABSENT, .directory = -1 };
	char text[8192];
	char own[2048];

	if (text_read_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0 ||
	    !cgroup_parse_own(text, own, sizeof(own)) ||
	    !find_directory(own, state.path, sizeof(state.path)))
		return state;
	state.directory = open(state.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state.directory < 0 || text_read_file(state.directory, "cgroup.controllers",
						  state.controllers, sizeof(state.controllers)) < 0)
		return state;
	if ((cgroup_parse_controllers(state.controllers) & CGROUP_REQUIRED) != CGROUP_REQUIRED)
		state.problem = CGROUP_CONTROLLERS;
	else if (!is_writable(state.directory))
		state.problem = CGROUP_NOT_WRITABLE;
	else
		state.problem = check_processes(state.directory);
	return state;
}

void cgroup_list_controllers(uint32_t bits, char *ret, size_t room)
{
	ret[0] = '\0';
	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		if (controllers[i].bit & bits)
			format_append(ret, room, "%s%s", ret[0] ? ", " : "", controllers[i].name);
	}
}

/* Controllers that a version 1 hierarchy holds are not there for version 2: the second word of
 * their line in /proc/cgroups is that hierarchy's number. */
static uint32_t controllers_on_v1(void)
{
	char text[4096];
	uint32_t found = 0;

	if (text_read_file(AT_FDCWD, "/proc/cgroups", text, sizeof(text)) < 0)
		return 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, "\n");
		for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
			const size_t size = strlen(controllers[i].name);

			if (strncmp(line, controllers[i].name, size) == 0 && line[size] == '\t' &&
			    line[size + 1] != '0')
				found |= controllers[i].bit;
		}
	}
	return found;
}

static void describe_controllers(const struct cgroup_state *state, char *text)
{
	const uint32_t here = cgroup_parse_controllers(state->controllers);
	char missing[64];
	char on_v1[64];

	cgroup_list_controllers(CGROUP_REQUIRED & ~here, missing, sizeof(missing));
	cgroup_list_controllers(CGROUP_REQUIRED & controllers_on_v1(), on_v1, sizeof(on_v1));
	format_text(text, CGROUP_TEXT_MAX, "%.300s has the controllers \"%s\"; missing: %s",
		    state->path, state->controllers, missing);
	if (on_v1[0])
		format_append(text, CGROUP_TEXT_MAX, "; on this machine cgroup v1 holds %s", on_v1);
}

void cgroup_describe(const struct cgroup_state *state, char text[CGROUP_TEXT_MAX])
{
	switch (state->problem) {
	case CGROUP_USABLE:
		format_text(text, CGROUP_TEXT_MAX, "%.300s is ours, with the controllers \"%s\"",
			    state->path, state->controllers);
		break;
	case CGROUP_ABSENT:
		format_text(text, CGROUP_TEXT_MAX,
			    "no cgroup v2 directory of this process can be seen");
		break;
	case CGROUP_CONTROLLERS:
		describe_controllers(state, text);
		break;
	case CGROUP_NOT_WRITABLE:
		format_text(text, CGROUP_TEXT_MAX, "%.300s is not writable: not delegated to us",
			    state->path);
		break;
	case CGROUP_SHARED:
		format_text(text, CGROUP_TEXT_MAX,
			    "%.300s holds other processes too, and a cgroup that hands its "
			    "controllers on must not",
			    state->path);
		break;
	case CGROUP_FAILED:
		format_text(text, CGROUP_TEXT_MAX, "%.300s could not be prepared: %s", state->path,
			    errno_text(state->error));
		break;
	}
}

#define FIX_SCOPE                                                                                  \
	"have a systemd of your own running ('loginctl enable-linger' starts one), which gives "   \
	"msp a scope"
#define ACCEPT_WEAKER "; or accept weaker limits: 'limits: fallback' in the configuration"

bool cgroup_describe_fix(const struct cgroup_state *state, char text[CGROUP_TEXT_MAX])
{
	const bool is_on_v1 = state->problem <= CGROUP_CONTROLLERS &&
			      (controllers_on_v1() & CGROUP_REQUIRED) != 0;

	if (is_on_v1)
		format_text(text, CGROUP_TEXT_MAX,
			    "boot with systemd.unified_cgroup_hierarchy=1 (or cgroup_no_v1=all) on "
			    "the kernel command line, and " FIX_SCOPE ACCEPT_WEAKER);
	else if (state->problem == CGROUP_CONTROLLERS)
		format_text(text, CGROUP_TEXT_MAX,
			    "have systemd hand them to users: " CGROUP_DROP_IN
			    "; and " FIX_SCOPE ACCEPT_WEAKER);
	else
		format_text(text, CGROUP_TEXT_MAX, FIX_SCOPE ACCEPT_WEAKER);
	return !is_on_v1;
}
