/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths that no entry of a profile can show, by their text: the launcher refuses the protected ones
 * when it opens them (launcher/host/protected.c). No remedy names what it would refuse.
 */
#include "policy/decide/decide_parts.h"

#include <string.h>

/* A protected path, and whether it may be shown read-only. */
struct protected_path {
	const char *path;
	enum {
		KEPT_SECRET,  /* never shown, nor what contains it */
		KEPT_SHARED,  /* itself not shown, but files in it are */
		KEPT_STARTED, /* not written to */
	} rule;
};

static const struct protected_path system_paths[] = {
#define SYSTEM(path, rule) { path, KEPT_##rule },
#include "common/plan/protected.def"
};

/* Return whether `path` is `outer` or lies in it. */
static bool is_inside(const char *path, const char *outer)
{
	const size_t size = strlen(outer);

	return strncmp(path, outer, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

/* Return whether a rule of protected.def meets the path. */
static bool is_met(const struct protected_path *place, const char *path, bool is_written)
{
	const bool is_inner = is_inside(path, place->path);
	const bool is_outer = is_inside(place->path, path);

	if (place->rule == KEPT_STARTED && !is_written)
		return false;
	return place->rule == KEPT_SHARED ? is_outer : is_inner || is_outer;
}

/* Return whether the path is a home, contains homes, or is hidden in one. */
static bool is_home(const char *path)
{
	const char *inner;

	if (!is_inside(path, "/home"))
		return strcmp(path, "/") == 0;
	inner = strlen(path) > strlen("/home/") ? strchr(path + strlen("/home/"), '/') : NULL;
	return !inner || inner[1] == '.' || strncmp(inner, "/snap", 5) == 0;
}

static bool is_free(const char *path, bool is_written)
{
	if (path[0] != '/' || strstr(path, "//") || strstr(path, "/./") || strstr(path, "/../") ||
	    is_home(path))
		return false;
	for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++) {
		if (is_met(&system_paths[i], path, is_written))
			return false;
	}
	return true;
}

bool decide_can_be_shown(const char *path, const char *found)
{
	return is_free(path, false) && (is_inside(path, found) || is_free(found, false));
}

bool decide_can_be_written(const char *path)
{
	return is_free(path, true);
}
