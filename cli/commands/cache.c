/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp cache`: the lines of a profile whose sandboxes share a package manager's cache, read-only.
 */
#include "commands/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/mounts.h"
#include "launcher/host/protected.h"
#include "launcher/host/shown.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "options/command.h"
#include "show/print.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Most names by which a cache is known, each with the lines that it needs. */
#define SHAPES_MAX 4

struct cache_options {
	const char *config;
};

static const struct option_row rows[] = {
	OPTION_CONFIG(struct cache_options, config),
};

/* A directory with a match of `pattern`, as of glob(3), is such a cache. `lines` follow the name of
 * the profile; NULL: those of the tool. */
struct shape {
	const char *pattern, *lines;
};

struct tool {
	const char *name, *profile, *lines;
	const char *missing; /* the part that a directory without a match lacks */
	const char *fill; /* the command that fills a directory, before its path, and behind it */
	const char *fill_end;
	struct shape shapes[SHAPES_MAX];
};

#define CARGO_LINES(source)                                                                        \
	"    files:\n"                                                                             \
	"      - at: /.cargo/config.toml\n"                                                        \
	"        kind: file\n"                                                                     \
	"        text: |\n"                                                                        \
	"          [source.crates-io]\n"                                                           \
	"          replace-with = \"cache\"\n"                                                     \
	"          [source.cache]\n"                                                               \
	"          " source " = \"/cache/cargo\"\n"

static const struct tool tools[] = {
	{ .name = "npm",
	  .profile = "node-dev",
	  .lines = "    environment:\n"
		   "      - npm_config_cache=/cache/npm\n"
		   "      - npm_config_offline=true\n"
		   "    files:\n",
	  .missing = "_cacache/index-v5",
	  .fill = "npm ci --cache ",
	  .fill_end = "' in a project whose lock file has \"resolved\" entries",
	  .shapes = { { "_cacache/index-v5", NULL } } },
	{ .name = "pip",
	  .profile = "python-dev",
	  .lines = "    environment:\n"
		   "      - PIP_FIND_LINKS=/cache/pip\n"
		   "      - PIP_NO_INDEX=1\n"
		   "    files:\n",
	  .missing = "wheel (*.whl) or source archive",
	  .fill = "pip download -r requirements.txt -d ",
	  .fill_end = "' with the Python of the sandboxes",
	  .shapes = { { "*.whl", NULL }, { "*.tar.gz", NULL } } },
	{ .name = "cargo",
	  .profile = "rust-dev",
	  .missing = "vendored crate, and no index of a local registry",
	  .fill = "cargo vendor ",
	  .fill_end = "' in a project",
	  .shapes = { { "*/.cargo-checksum.json", CARGO_LINES("directory") },
		      { "index/config.json", CARGO_LINES("local-registry") },
		      { "index/*/*/*", CARGO_LINES("local-registry") } } },
	{ .name = "go",
	  .profile = "go-dev",
	  .lines = "    environment:\n"
		   "      - GOPROXY=file://"
		   "/cache/go/cache/download\n"
		   "      - GOSUMDB=off\n"
		   "    files:\n",
	  .missing = "cache/download",
	  .fill = "GOMODCACHE=",
	  .fill_end = " go mod download' in a project",
	  .shapes = { { "cache/download/*", NULL } } },
	{ .name = "maven",
	  .profile = "java-dev",
	  .lines = "    environment:\n"
		   "      - MAVEN_ARGS=--offline -Dmaven.repo.local.tail=/cache/maven\n"
		   "      # Maven before 3.9 knows no tail, and can then install nothing:\n"
		   "      # - MAVEN_OPTS=-Xmx1g -Dmaven.repo.local=/cache/maven\n"
		   "    files:\n",
	  .missing = "GROUP/ARTIFACT/VERSION with a .pom",
	  .fill = "mvn -Dmaven.repo.local=",
	  .fill_end = " dependency:go-offline' in a project",
	  .shapes = { { "*/*/*/*.pom", NULL },
		      { "*/*/*/*/*.pom", NULL },
		      { "*/*/*/*/*/*.pom", NULL } } },
};

void cache_list_tools(char *text, size_t room)
{
	for (size_t i = 0; i < LENGTH(tools); i++)
		format_append(text, room, "%s%s", i > 0 ? " " : "", tools[i].name);
}

static const struct tool *find_tool(const char *name)
{
	for (size_t i = 0; i < LENGTH(tools); i++) {
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	}
	return NULL;
}

/* Return whether all of the text can stand in quotes of YAML as it is. */
static bool is_quotable(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		if (*at < ' ' || *at >= 0x7f || *at == '"' || *at == '\\')
			return false;
	}
	return true;
}

/* Return the shape that the current directory has; NULL: none. */
static const struct shape *find_shape(const struct tool *tool)
{
	for (size_t i = 0; i < SHAPES_MAX && tool->shapes[i].pattern; i++) {
		glob_t found;
		const int result = glob(tool->shapes[i].pattern, GLOB_NOSORT, NULL, &found);

		globfree(&found);
		if (result == 0)
			return &tool->shapes[i];
	}
	return NULL;
}

static void print_profile(const struct tool *tool, const struct shape *shape, const char *path)
{
	(void)printf("# For the configuration; the keys can also go into a profile of yours.\n"
		     "profiles:\n"
		     "  - name: %s-cached\n"
		     "    extends: %s\n"
		     "%s"
		     "      - {at: /cache/%s, from: \"%s\", kind: bind, noexec: true}\n"
		     "    landlock:\n"
		     "      - {path: /cache/%s, rights: [read]}\n",
		     tool->name, tool->profile, shape->lines ? shape->lines : tool->lines,
		     tool->name, path, tool->name);
	if (tool->shapes[0].lines)
		(void)printf("      - {path: /.cargo, rights: [read]}\n");
}

/* Check that sandboxes may be shown the opened directory. 0, or -1 with a line in `text`. */
static int check_shown(int fd, const char *path, const struct plan *plan,
		       char text[LAUNCH_TEXT_MAX])
{
	const struct protected_set set = protected_set_of(plan);
	struct mounts mounts;
	const int error = mounts_read(&mounts);
	int result;

	if (error)
		return format_fail(-1, text, LAUNCH_TEXT_MAX,
				   "/proc/self/mountinfo cannot be read: %s", errno_text(-error));
	result = shown_check(fd, path, PROTECTED_READ, &mounts, &set, text);
	mounts_done(&mounts);
	return result;
}

/* Check whose directory it is, and its path. 0, or -1 with a line in `text`. */
static int check_directory(int fd, const char *given, char path[IPC_PATH_MAX],
			   char text[LAUNCH_TEXT_MAX])
{
	struct stat status;
	int error = fstat(fd, &status) != 0 ? -errno : shown_real_path(fd, path);

	if (error)
		format_text(text, LAUNCH_TEXT_MAX, "'%.300s' cannot be examined: %s", given,
			    errno_text(-error));
	else if (status.st_uid != geteuid())
		format_text(text, LAUNCH_TEXT_MAX,
			    "'%.300s' belongs to user %u, and sandboxes would see its files as "
			    "nobody's: copy it with 'cp -r', and name the copy",
			    path, status.st_uid);
	else if (!is_quotable(path))
		format_text(text, LAUNCH_TEXT_MAX,
			    "'%.300s' has characters that this does not write into a "
			    "configuration: name a directory with plain letters",
			    path);
	else
		return 0;
	return -1;
}

static int add_cache(const struct tool *tool, const char *given, const struct plan *plan)
{
	char path[IPC_PATH_MAX] = "", text[LAUNCH_TEXT_MAX] = "it cannot be entered";
	int fd = kernel_openat2(AT_FDCWD, given, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				RESOLVE_NO_MAGICLINKS);
	const struct shape *shape = NULL;
	bool is_usable;
	int code = MSP_EXIT_REFUSED;

	if (fd < 0)
		return log_fail(code, "'%s' cannot be opened: %s. Fill one: '%s%s%s", given,
				errno_text(errno), tool->fill, given, tool->fill_end);
	is_usable = check_directory(fd, given, path, text) == 0 &&
		    check_shown(fd, path, plan, text) == 0 && fchdir(fd) == 0;
	if (is_usable)
		shape = find_shape(tool);
	if (!is_usable) {
		log_line("%s", text);
	} else if (!shape) {
		log_line("'%s' is no cache of %s: it has no %s. Fill one: '%s%s%s", path,
			 tool->name, tool->missing, tool->fill, path, tool->fill_end);
	} else {
		print_profile(tool, shape, path);
		code = print_flush() ? MSP_EXIT_SOFTWARE : 0;
	}
	fd_close(&fd);
	return code;
}

static int refuse_operands(const struct command *command, const struct tool *tool)
{
	if (!tool)
		return command_usage_error(
			command, "add takes npm, pip, cargo, go or maven, and a directory");
	return command_usage_error(command, "add %s takes one directory. Fill one: '%sDIRECTORY%s",
				   tool->name, tool->fill, tool->fill_end);
}

static int run_cache(const struct command *command, int argc, char *argv[])
{
	struct cache_options options = { 0 };
	struct command_words words = { .most = COMMAND_WORDS_MAX };
	struct config config = CONFIG_UNREAD;
	struct images images;
	char text[LAUNCH_TEXT_MAX] = "/dev/null cannot be opened";
	const struct tool *tool;
	const struct plan *plan = NULL;
	int code;

	if (!command_parse_action(command, argc, argv, &options, &words, &code))
		return code;
	tool = words.count > 1 ? find_tool(words.list[1]) : NULL;
	if (!tool || words.count != 3 || !words.list[2][0])
		return refuse_operands(command, tool);
	command_name_lines(command);
	code = MSP_EXIT_REFUSED;
	config.given = options.config;
	if (launch_standard_fds() >= 0 && launch_open_images(&images, text) == 0) {
		config.builtin = images.policy;
		if (launch_drop_root(NULL, &config, &code, text) == 0)
			code = config_read(&config, text);
		plan = code ? NULL : launch_open_plan(&config, text);
	}
	if (plan)
		return add_cache(tool, words.list[2], plan);
	return log_fail(code ? code : MSP_EXIT_REFUSED, "%s", text);
}

static const struct command_action actions[] = { { "add", 0, COMMAND_WORDS_MAX, NULL } };

const struct command command_cache = {
	.name = "cache",
	.operands = "add TOOL DIRECTORY",
	.summary = "print the profile that shares a cache of packages with sandboxes",
	.help = "Sandboxes of the profile take packages from the directory without a network, and\n"
		"cannot write to it. It is examined and nothing is changed: put the lines into\n"
		"the configuration.\n"
		"\n"
		"  add npm DIRECTORY    filled by 'npm ci --cache DIRECTORY'\n"
		"  add pip DIRECTORY    filled by 'pip download -d DIRECTORY'\n"
		"  add cargo DIRECTORY  filled by 'cargo vendor DIRECTORY', or a local registry\n"
		"  add go DIRECTORY     filled by 'GOMODCACHE=DIRECTORY go mod download'\n"
		"  add maven DIRECTORY  filled by 'mvn -Dmaven.repo.local=DIRECTORY'\n"
		"\n"
		"The exit code is 0; 64 when the command line is wrong; 78 when the directory is\n"
		"no such cache, belongs to another user or must not be shown.\n",
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.actions = ACTION_ROWS(actions),
	.run = run_cache,
};
