/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/kernel.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/mounts.h"
#include "launcher/host/shown.h"

const char *bind_split(const char *word, char host[IPC_PATH_MAX], char inside[IPC_PATH_MAX])
{
	const char *split = NULL;
	size_t size;

	for (const char *at = word; (at = strstr(at, ":/")); at++)
		split = at;
	size = split ? (size_t)(split - word) : strlen(word);
	if (size == 0)
		return "HOST or HOST:INSIDE, where HOST is not empty";
	if (size >= IPC_PATH_MAX || (split && strlen(split + 1) >= IPC_PATH_MAX))
		return "HOST or HOST:INSIDE, each shorter than 4096 bytes";
	memcpy(host, word, size);
	host[size] = '\0';
	format_text(inside, IPC_PATH_MAX, "%s", split ? split + 1 : "");
	return NULL;
}

/* The sandbox's own, with everything below. */
static const char *const never_inside[] = { "/proc", "/dev", "/sys", "/var/empty" };

/* Links there: what is put below would come to lie elsewhere, and perhaps under something else. */
static const char *const never_through[] = {
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/var/run", "/var/tmp", "/var/lock",
};

static const char *const never_itself[] = {
	"/usr", "/etc", "/home", "/home/agent", "/workspace", "/tmp", "/run", "/var", "/root",
};

static bool is_within_any(const char *path, const char *const list[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (path_is_within(path, list[i]))
			return true;
	}
	return false;
}

static bool is_normalised(const char *path)
{
	for (const char *part = path; *part == '/'; part += strcspn(part + 1, "/") + 1) {
		const size_t size = strcspn(part + 1, "/");

		if (size == 0 || (size <= 2 && memcmp(part + 1, "..", size) == 0))
			return false;
	}
	return path[0] == '/';
}

const char *bind_check_inside(const char *inside)
{
	if (strcmp(inside, "/") == 0)
		return "a path below the sandbox's root, such as /data";
	if (!is_normalised(inside))
		return "an absolute path without '.', '..', empty parts or a '/' at the end";
	if (is_within_any(inside, never_inside, sizeof(never_inside) / sizeof(never_inside[0])))
		return "outside /proc, /dev, /sys and /var/empty, which are the sandbox's own";
	if (is_within_any(inside, never_through, sizeof(never_through) / sizeof(never_through[0])))
		return "outside /bin, /lib, /sbin, /var/run and /var/tmp, which are links in the "
		       "sandbox: give another place, as --ro HOST:/data";
	for (size_t i = 0; i < sizeof(never_itself) / sizeof(never_itself[0]); i++) {
		if (strcmp(inside, never_itself[i]) == 0)
			return "a path of its own, not one that the sandbox is made of (/usr, "
			       "/etc, /home/agent, /workspace, /tmp, ...): choose another, such as "
			       "/data";
	}
	return NULL;
}

/* Write the line for a bind that cannot be shown, and return -1. */
#define REFUSE(text, ...) format_fail(-1, (text), BIND_TEXT_MAX, "--ro: " __VA_ARGS__)

static int open_host(struct bind *bind, char *text)
{
	int error;

	bind->fd = kernel_openat2(AT_FDCWD, bind->host, O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
	if (bind->fd < 0)
		return REFUSE(text,
			      "'%.300s' cannot be opened: %s. HOST must be an existing file or "
			      "folder, and INSIDE, after a colon, an absolute path",
			      bind->host, errno_text(errno));
	error = shown_real_path(bind->fd, bind->host);
	if (error)
		return REFUSE(text, "'%.300s' has no path of its own: %s", bind->host,
			      errno_text(-error));
	return 0;
}

static int open_one(const char *word, const struct mounts *mounts, const struct protected_set *set,
		    struct bind *bind, char *text)
{
	char problem[SHOWN_TEXT_MAX];
	const char *rule = bind_split(word, bind->host, bind->inside);

	if (rule)
		return REFUSE(text, "'%.300s' is refused: it must be %s", word, rule);
	if (open_host(bind, text) != 0)
		return -1;
	if (shown_check(bind->fd, bind->host, PROTECTED_READ, mounts, set, problem) != 0)
		return REFUSE(text, "%s", problem);
	if (bind->inside[0] == '\0')
		memcpy(bind->inside, bind->host, sizeof(bind->inside));
	rule = bind_check_inside(bind->inside);
	if (rule)
		return REFUSE(text,
			      "the place inside the sandbox, '%.300s', is refused: it must be %s",
			      bind->inside, rule);
	return 0;
}

static int refuse_same_place(const struct binds *binds, const struct bind *bind, char *text)
{
	for (uint32_t i = 0; i < binds->count; i++) {
		if (strcmp(binds->list[i].inside, bind->inside) != 0)
			continue;
		return REFUSE(text,
			      "two binds for '%.300s': give one of them another place inside, as "
			      "--ro HOST:INSIDE",
			      bind->inside);
	}
	return 0;
}

int binds_open(const struct bind_words *words, const struct protected_set *set, struct binds *ret,
	       char text[BIND_TEXT_MAX])
{
	struct mounts mounts;
	int result = 0;

	ret->count = 0;
	if (words->count == 0)
		return 0;
	result = mounts_read(&mounts);
	if (result)
		return REFUSE(text,
			      "the mount table cannot be read (/proc/self/mountinfo: %s), so "
			      "nothing can be compared with the protected paths",
			      errno_text(-result));
	for (uint32_t i = 0; result == 0 && i < words->count; i++) {
		struct bind *bind = &ret->list[ret->count];

		result = open_one(words->words[i], &mounts, set, bind, text);
		if (result == 0)
			result = refuse_same_place(ret, bind, text);
		if (result == 0)
			ret->count++;
	}
	mounts_done(&mounts);
	return result;
}
