/* SPDX-License-Identifier: Apache-2.0
 *
 * git reads this file behind the system's and before the home's own .gitconfig and the repository's
 * configuration: whatever is set in the sandbox wins.
 */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/files.h"

#define HOME_NAME "home"
#define TEXT_MAX (4 * GIT_USER_MAX + 64)

/* Append a value in git's quotes. A control character could begin another line. */
static void add_value(char text[TEXT_MAX], const char *key, const char *value)
{
	char quoted[2 * GIT_USER_MAX], *at = quoted;
	const size_t used = strlen(text);

	if (strlen(value) >= GIT_USER_MAX)
		return;
	for (; *value; value++) {
		if ((unsigned char)*value < ' ' || *value == '\x7f')
			return;
		if (*value == '"' || *value == '\\')
			*at++ = '\\';
		*at++ = *value;
	}
	*at = '\0';
	(void)snprintf(text + used, TEXT_MAX - used, "%s\t%s = \"%s\"\n", used ? "" : "[user]\n",
		       key, quoted);
}

static void write_text(const struct job *job, char ret[TEXT_MAX])
{
	static const struct {
		const char *mark, *key;
	} rows[] = { { GIT_USER_NAME_MARK, "name" }, { GIT_USER_EMAIL_MARK, "email" } };

	ret[0] = '\0';
	for (size_t at = 0; at < job->named_size; at += strlen(job->named + at) + 1) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const size_t size = strlen(rows[i].mark);

			if (strncmp(job->named + at, rows[i].mark, size) == 0)
				add_value(ret, rows[i].key, job->named + at + size);
		}
	}
}

int identity_write(const struct job *job)
{
	static const char *const directories[] = { HOME_NAME, HOME_NAME "/.config",
						   HOME_NAME "/.config/git" };
	const int layer = job->directories.layers[0];
	char text[TEXT_MAX];
	int error = 0, file = -1, directory = -1;

	write_text(job, text);
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]) && text[0]; i++) {
		const char *name;
		int parent = files_parent(layer, directories[i], &name);

		error = parent < 0 ? parent : mkdirat(parent, name, 0700) == 0 ? 0 : -errno;
		fd_close(&parent);
		if (error)
			return error == -EEXIST ? 0 : error;
	}
	if (!text[0])
		return 0;
	directory = files_open(layer, HOME_NAME "/.config/git", O_PATH | O_DIRECTORY);
	file = directory < 0
		       ? directory
		       : openat(directory, "config", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	error = file < 0 ? -errno : fd_write_all(file, text, strlen(text));
	fd_close(&file);
	fd_close(&directory);
	return error;
}
