/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/config_file.h"

#include "common/log.h"
#include "policy/read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file of root, for all accounts. */
#define SYSTEM_FILE "/etc/msp/config.yaml"

/* The uid of every account that is not mapped into the user namespace. */
#define OVERFLOW_UID 65534

static int fail_reading(const char *path, struct policy_error *error)
{
	return policy_error_set(error, path, 1, "",
				"cannot be read: %s; expected a file that user %ld can read",
				errno_text(errno), (long)geteuid());
}

/* An access list shows in the group's bits of the mode, as the most rights that it gives. */
const char *config_file_problem(mode_t mode, uid_t owner, uid_t caller)
{
	if (!S_ISREG(mode))
		return "not a regular file; expected one";
	if (owner != 0 && owner != caller)
		return "belongs to another user, who could change what sandboxes may do; expected "
		       "a "
		       "file of yours or of root: chown it, or copy it";
	if ((mode & (S_IWGRP | S_IWOTH)) != 0)
		return "others can write it and so change what sandboxes may do; expected a file "
		       "that only its owner can write: chmod go-w";
	return NULL;
}

static int read_all(int fd, const char *path, struct buffer *ret, struct policy_error *error)
{
	char bytes[4096];

	buffer_append(ret, "", 0);
	while (ret->size <= SOURCE_BYTES_MAX) {
		const ssize_t size = read(fd, bytes, sizeof(bytes));

		if (size < 0 && errno != EINTR)
			return fail_reading(path, error);
		if (size == 0)
			break;
		if (size > 0)
			buffer_append(ret, bytes, (size_t)size);
	}
	return 0;
}

/* Return whether our user namespace maps root. If that is unknown, true: root's files must then
 * show uid 0. */
static bool is_root_mapped(void)
{
	FILE *map = fopen("/proc/self/uid_map", "re");
	bool is_mapped = map == NULL;
	char line[128];

	while (!is_mapped && fgets(line, sizeof(line), map) != NULL)
		is_mapped = strtoul(line, NULL, 10) == 0; /* the first user of a range */
	if (map != NULL)
		(void)fclose(map); /* it was only read */
	return is_mapped;
}

/* Return whether the file is root's. Without a mapped root, as in a unit with PrivateUsers, the
 * files of root and of others show OVERFLOW_UID; only root can put one into the system's folder. */
static bool is_roots(const char *path, const struct stat *status)
{
	struct stat entry;

	if (status->st_uid == 0)
		return true;
	return status->st_uid == OVERFLOW_UID && strcmp(path, SYSTEM_FILE) == 0 &&
	       lstat(path, &entry) == 0 && S_ISREG(entry.st_mode) && !is_root_mapped();
}

int config_file_read(const char *path, struct buffer *ret, struct policy_error *error)
{
	/* Opening a FIFO would wait for its writer, a terminal could become this process's. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *problem;
	struct stat status;
	int result;

	if (fd < 0)
		return fail_reading(path, error);
	if (fstat(fd, &status) != 0) {
		result = fail_reading(path, error);
	} else {
		problem = config_file_problem(
			status.st_mode, is_roots(path, &status) ? 0 : status.st_uid, geteuid());
		result = problem != NULL ? policy_error_set(error, path, 1, "", "%s", problem)
					 : read_all(fd, path, ret, error);
	}
	(void)close(fd); /* it was only read */
	return result;
}
