/* SPDX-License-Identifier: Apache-2.0
 *
 * gitignore(5). The rules of a file nearer to the path come after those of one above, and the last
 * that matches decides; nothing beneath an ignored directory is looked at again. In doubt a path is
 * not ignored. An apply brings a .gitignore without a question, so the next apply would find it
 * here as the host's: it hides files, and frees none. An ignored name alone frees nothing that is
 * obeyed by itself: the directory's name must be one of `trees`, too.
 */
#include "ignored.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "layers/base/beneath.h"
#include "layers/base/held.h"
#include "lib/heap/path_match.h"

/* Bytes of a file of rules; a larger one has none. Files that are remembered: one more takes the
 * place of the first, and none is left out, since it may say what is not ignored. */
#define RULES_BYTES_MAX (1 << 20)
#define FILES_MAX 512

static const char *const trees[] = {
	".gradle", ".next", ".nox",           ".nuxt",        ".terraform",
	".tox",    ".venv", "__pypackages__", "_build",       "bower_components",
	"build",   "deps",  "dist",           "node_modules", "obj",
	"out",     "pods",  "target",         "vendor",       "venv",
};

/* Names that a shell, its prompt or git obeys as soon as somebody is in the directory. */
static const char *const entered[] = {
	".git",      "*.git",  "head",   ".envrc",         ".env",   ".env.*leave",
	".autoenv*", ".mise*", "mise.*", ".tool-versions", ".rvmrc", ".direnv",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct {
	struct rules_file {
		char *path, *text; /* text NULL: there are no rules */
	} files[FILES_MAX];
	size_t count; /* the files that were read */

	/* The directories above the last path, with a "/" after each; the last one is ignored, or
	 * none. By all rules, and by those of a person's word. */
	struct above {
		char path[IPC_PATH_MAX];
		size_t ignored;
	} aboves[IGNORED_RULES];

	char there[IPC_PATH_MAX]; /* the directory that the host was last found to have */
} rules;

/* --- files of rules --------------------------------------------------------------------------- */

static char *read_rules(const struct job *job, const char *path)
{
	size_t size;
	char *text;

	if (beneath_text(job->directories.host, path, RULES_BYTES_MAX, &text, &size) != 0)
		return NULL;
	if (!memchr(text, '\0', size))
		return text;
	free(text);
	return NULL;
}

/* Its text, remembered until so many others were asked for; NULL: none. */
static const char *rules_of(const struct job *job, const char *path)
{
	struct rules_file *file = rules.files;

	for (; file < rules.files + FILES_MAX && file->path; file++) {
		if (strcmp(file->path, path) == 0)
			return file->text;
	}
	file = &rules.files[rules.count++ % FILES_MAX];
	free(file->path);
	free(file->text);
	file->path = strdup(path);
	file->text = file->path ? read_rules(job, path) : NULL;
	return file->text;
}

/* One line, of `size` bytes: does it decide, and for what? */
static void try_line(const char *line, size_t size, const char *path, bool is_directory,
		     bool *ret_ignored)
{
	char pattern[IPC_PATH_MAX];
	bool is_negative = false;

	if (size > 0 && line[size - 1] == '\r')
		size--;
	while (size > 0 && line[size - 1] == ' ' && !(size > 1 && line[size - 2] == '\\'))
		size--;
	if (size == 0 || *line == '#')
		return;
	if (*line == '!') {
		is_negative = true;
		line++;
		size--;
	}
	if (size > 0 && line[size - 1] == '/') {
		if (!is_directory)
			return;
		size--;
	}
	if (size == 0 || size >= sizeof(pattern))
		return;
	memcpy(pattern, line, size);
	pattern[size] = '\0';
	if (path_match_rule(pattern, path))
		*ret_ignored = !is_negative;
}

static void try_file(const char *text, const char *path, bool is_directory, bool *ret_ignored)
{
	while (text && *text) {
		const size_t size = strcspn(text, "\n");

		try_line(text, size, path, is_directory, ret_ignored);
		text += size + (text[size] == '\n');
	}
}

/* --- a path ----------------------------------------------------------------------------------- */

/* Is the beginning of a path, of that size, a directory of the host? */
static bool is_hosts_directory(const struct job *job, const char *path, size_t size)
{
	int directory;

	if (strncmp(rules.there, path, size) == 0 && strchr("/", rules.there[size]))
		return true; /* that one, or one above it */
	memcpy(rules.there, path, size);
	rules.there[size] = '\0';
	directory = beneath_directory(job->directories.host, rules.there);
	if (directory < 0)
		rules.there[0] = '\0';
	fd_close(&directory);
	return rules.there[0];
}

/* The files of rules in one directory, named by the first `size` bytes of the path; the rest is the
 * path in there. */
static void try_directory(const struct job *job, enum ignored_rules by, const char *path,
			  size_t size, bool is_directory, bool *ret_ignored)
{
	/* The last one decides: a project may hide from msp files that git keeps. */
	static const char *const names[] = { ".gitignore", ".mspignore" };
	char file[IPC_PATH_MAX + 16];

	memcpy(file, path, size);
	for (size_t i = by == IGNORED_BY_WORD ? 1 : 0; i < COUNT(names); i++) {
		memcpy(file + size, names[i], strlen(names[i]) + 1);
		try_file(rules_of(job, file), path + size, is_directory, ret_ignored);
	}
}

/* One path, when nothing above it is ignored. */
static bool is_ignored_itself(const struct job *job, enum ignored_rules by, const char *path,
			      bool is_directory)
{
	bool is_ignored = false;

	try_file(rules_of(job, ".git/info/exclude"), path, is_directory, &is_ignored);
	try_directory(job, by, path, 0, is_directory, &is_ignored);
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const size_t size = (size_t)(slash + 1 - path);

		if (!is_hosts_directory(job, path, size - 1))
			return is_ignored; /* nor is any below it */
		try_directory(job, by, path, size, is_directory, &is_ignored);
	}
	return is_ignored;
}

/* The length of the highest ignored directory above the path; 0: there is none. Paths come in
 * order, so that most directories were asked about for the one before. */
static size_t find_directory(const struct job *job, enum ignored_rules by, const char *path)
{
	struct above *above = &rules.aboves[by];
	size_t known = 0;

	for (size_t i = 0; above->path[i] && above->path[i] == path[i]; i++)
		known = path[i] == '/' ? i + 1 : known;
	if (above->ignored > 0 && known > above->ignored)
		return above->ignored;
	above->ignored = 0;
	for (const char *slash = strchr(path + known, '/'); slash; slash = strchr(slash + 1, '/')) {
		const size_t size = (size_t)(slash - path);

		memcpy(above->path + known, path + known, size - known);
		above->path[size] = '\0';
		above->ignored = is_ignored_itself(job, by, above->path, true) ? size : 0;
		memcpy(above->path + size, "/", sizeof("/"));
		if (above->ignored > 0)
			return size;
		known = size + 1;
	}
	above->path[known] = '\0';
	return 0;
}

bool ignored_is(const struct job *job, enum ignored_rules by, const char *path, bool is_directory)
{
	return job->directories.host >= 0 && (find_directory(job, by, path) > 0 ||
					      is_ignored_itself(job, by, path, is_directory));
}

static bool is_any_of(const char *const *names, size_t count, const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		if (path_match_name(names[i], strlen(names[i]), name, size, 0))
			return true;
	}
	return false;
}

size_t ignored_tree(const struct job *job, const char *path)
{
	char folded[IPC_PATH_MAX];
	const char *name;
	size_t size = job->directories.host < 0 ? 0 : find_directory(job, IGNORED_BY_WORD, path);
	bool is_tree;

	if (size == 0)
		return 0;
	memcpy(folded, path, size);
	folded[size] = '\0';
	name = strrchr(folded, '/');
	name = name ? name + 1 : folded;
	is_tree = is_any_of(trees, COUNT(trees), name, strlen(name));
	held_fold(path + size + 1, folded);
	for (name = folded; is_tree && name; name = strchr(name, '/')) {
		name += *name == '/';
		is_tree = !is_any_of(entered, COUNT(entered), name, strcspn(name, "/"));
	}
	return is_tree ? size : 0;
}
