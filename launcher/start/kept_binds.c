/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/kept_binds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/plan/plan.h"
#include "common/text/format.h"
#include "launcher/start/kept_sets.h"
#include "launcher/start/plan_binds.h"

#define PLACE "/binds"

static bool is_suffix(const char *name)
{
	return strlen(name) == KEPT_SUFFIX_MAX - 1 &&
	       strspn(name, "0123456789abcdef") == KEPT_SUFFIX_MAX - 1;
}

int kept_sets_list(struct kept_sets *ret, bool is_made, char text[STATE_PLACE_TEXT_MAX])
{
	char path[IPC_PATH_MAX];
	const struct dirent *entry;
	DIR *list;

	ret->count = 0;
	ret->directory = state_place_enter(PLACE, is_made, path, text);
	if (ret->directory < 0)
		return ret->directory;
	list = fdopendir(fcntl(ret->directory, F_DUPFD_CLOEXEC, 0));
	if (!list)
		return -errno;
	while (ret->count < KEPT_BINDS_MAX && (entry = readdir(list))) {
		if (is_suffix(entry->d_name))
			memcpy(ret->suffixes[ret->count++], entry->d_name, KEPT_SUFFIX_MAX);
	}
	(void)closedir(list);
	return 0;
}

bool kept_sets_read(const struct kept_sets *sets, const char *suffix, struct kept_content *ret)
{
	int fd FD_OWNED = openat(sets->directory, suffix,
				 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	const ssize_t size = fd < 0 ? -1 : read(fd, ret->bytes, sizeof(ret->bytes));

	ret->size = size > 0 ? (size_t)size : 0;
	return ret->size > 0 && ret->bytes[ret->size - 1] == '\0';
}

/* Take the next text of a content; NULL: there is none that has room. */
static const char *next_text(const struct kept_content *content, size_t *at, size_t room)
{
	const char *text = content->bytes + *at;

	if (*at == content->size || strlen(text) >= room)
		return NULL;
	*at += strlen(text) + 1;
	return text;
}

/* Read the binds of a content, without opening them. NULL, or else its profile. */
static const char *parse_content(const struct kept_content *content, struct binds *ret)
{
	size_t at = 0;
	const char *profile = next_text(content, &at, IPC_NAME_MAX);

	ret->count = 0;
	while (profile && at < content->size) {
		struct bind *bind = &ret->list[ret->count];
		const char *host = next_text(content, &at, sizeof(bind->host));
		const char *inside = host ? next_text(content, &at, sizeof(bind->inside)) : NULL;

		if (!inside || ret->count == BINDS_MAX || host[0] != '/' ||
		    bind_check_inside(inside))
			return NULL;
		ret->count++;
		bind->fd = open(host, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		format_text(bind->host, sizeof(bind->host), "%s", host);
		format_text(bind->inside, sizeof(bind->inside), "%s", inside);
	}
	return profile && ret->count > 0 ? profile : NULL;
}

static void close_binds(struct binds *binds)
{
	for (uint32_t i = 0; i < binds->count; i++)
		fd_close(&binds->list[i].fd);
	binds->count = 0;
}

int kept_binds_put(struct config *config, char text[CONFIG_TEXT_MAX])
{
	static struct kept_content content;
	static struct kept_sets sets;
	static struct binds binds;
	char problem[STATE_PLACE_TEXT_MAX];
	bool is_begun = kept_sets_list(&sets, false, problem) == 0 && sets.count > 0 &&
			config_plan(config) && plan_derive_begin(config, sets.count);

	for (uint32_t i = 0; is_begun && i < sets.count; i++) {
		const char *profile = kept_sets_read(&sets, sets.suffixes[i], &content)
					      ? parse_content(&content, &binds)
					      : NULL;

		/* A profile may have been removed, or have other mounts. */
		if (profile)
			(void)plan_derive(config, profile, sets.suffixes[i], &binds, text);
		close_binds(&binds);
	}
	text[0] = '\0';
	fd_close(&sets.directory);
	return is_begun ? plan_derive_end(config, text) : 0;
}
