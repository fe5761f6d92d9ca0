/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages about files, and about a project that is not there.
 */
#include "frontend/hint_search.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/names.h"

/* The user's own directories, as models name them. */
static bool is_users(const char *path)
{
	static const char *const places[] = { "/home",  "/root", "/Users", "/mnt",
					      "/media", "/srv",  "/data" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const size_t size = strlen(places[i]);

		if (strncmp(path, places[i], size) == 0 && (!path[size] || path[size] == '/'))
			return true;
	}
	return false;
}

static void hint_absent(const struct search *search, const char *path, struct denial_view *view)
{
	const char *workspace = hint_workspace(search);
	char shown[HINT_PATH_MAX];

	hint_path(path, shown);
	if (strncmp(path, "/proc/", 6) == 0)
		hint_put(view->hint, "%s is not visible: other processes are hidden", shown);
	else if (is_users(path) && workspace && search->source->is_persistent)
		hint_put(view->hint, "%s is not visible here; a workspace is at %.30s", shown,
			 workspace);
	else if (is_users(path) && workspace && search->source->is_tool)
		hint_put(view->hint, "the user's files are not here; for a project: create_sandbox "
				     "with workspace, then pass sandbox");
	else
		hint_put(view->hint, "%s is not visible here", shown);
}

static void hint_file(const struct search *search, const struct operation *operation,
		      const struct decision *decision, struct denial_view *view)
{
	char shown[HINT_PATH_MAX], places[HINT_TARGET_MAX];

	hint_path(operation->target, shown);
	if (decision->error == ENOENT) {
		hint_absent(search, operation->target, view);
	} else if (decision->error == EROFS && operation->kind == OPERATION_DELETE) {
		hint_put(view->hint, "%s cannot be removed (read-only)", shown);
	} else if (decision->error == EROFS) {
		hint_places(search, "create", places);
		hint_put(view->hint, "%s cannot be written (read-only)%s%s", shown,
			 places[0] ? "; use " : "", places);
	} else if (operation->kind == OPERATION_EXEC) {
		hint_places(search, "exec", places);
		hint_put(view->hint, "%s may not be executed there%s%s", shown,
			 places[0] ? "; copy it to " : "", places);
	} else {
		hint_put(view->hint, "the policy refuses to %s %s",
			 operation_kind_name(operation->kind), shown);
	}
}

/* Say that the name is missing in a directory of the sandbox's own, which the host may have. */
static void note_missing(const struct search *search, const char *path)
{
	const struct plan_mount *mount = hint_own_mount(search, path);
	struct denial_views *views = search->views;
	char shown[HINT_PATH_MAX];

	if (views->note[0] || !search->is_clear)
		return;
	hint_path(path, shown);
	if (!mount)
		hint_put(views->note,
			 "%s is missing, or a link to a place that is not visible here", shown);
	else if (hint_is_workspace(search, mount) && search->source->is_persistent)
		return;
	else if (hint_is_workspace(search, mount) && search->source->is_tool)
		hint_put(views->note,
			 "%s does not exist; this run had no sandbox argument, so %.30s was empty",
			 shown, plan_string(search->source->plan, mount->target));
	else
		hint_put(views->note,
			 "%s does not exist; %.30s is the sandbox's own, not the host's", shown,
			 plan_string(search->source->plan, mount->target));
}

static void say_other(const struct search *search, const struct phrase *phrase, const char *path)
{
	char shown[HINT_PATH_MAX];

	if (phrase->error == ENOENT) {
		note_missing(search, path);
		return;
	}
	hint_path(path, shown);
	if (search->is_clear && !search->views->other[0])
		hint_put(search->views->other,
			 "not the sandbox: its policy allows %s; look at the file's mode", shown);
}

/* The workload may have changed its directory: a relative path counts only if it does not exist,
 * and is assumed to be in a directory of the workload's own. */
static bool find_path(const struct search *search, const struct finding *finding,
		      char ret[HINT_TARGET_MAX])
{
	char name[HINT_TARGET_MAX];
	int length;

	if (finding->phrase->says) {
		(void)snprintf(ret, HINT_TARGET_MAX, "%s", finding->phrase->says);
		return true;
	}
	if (hint_text_path(finding->line, ret))
		return true;
	if (finding->phrase->error != ENOENT ||
	    !hint_text_name(finding->line, finding->words, name) || name[0] == '/' ||
	    name[0] == '~' || strstr(name, ".."))
		return false;
	while (strncmp(name, "./", 2) == 0)
		memmove(name, name + 2, strlen(name) - 1);
	length = snprintf(ret, HINT_TARGET_MAX, "%s/%s", search->cwd, name);
	return length > 0 && (size_t)length < HINT_TARGET_MAX;
}

static const char *first_kind(const char *line)
{
	static const struct {
		const char *word, *kind;
	} words[] = {
		{ "creat", "create" },  { "mkdir", "create" },  { "touch", "create" },
		{ "remove", "delete" }, { "unlink", "delete" }, { "exec", "exec" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (hint_text_find(line, words[i].word))
			return words[i].kind;
	}
	return "read";
}

/* Return whether it was one of the acts that the policy was asked about. Of further acts with these
 * errors (another owner, a socket, two paths) it says nothing. */
static bool is_plain(const struct phrase *phrase, const char *line)
{
	static const char *const others[] = { "bind",  "connect", "socket", "move",   "rename",
					      "link",  "chmod",   "chown",  "change", "changing",
					      "ioctl", "attr",    "lock",   "mount" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (phrase->error == EACCES && hint_text_find(line, others[i]))
			return false;
	}
	return phrase->error == ENOENT || phrase->error == EACCES;
}

/* A read-only error is the sandbox's in any directory but its own. */
static void add_read_only(const struct search *search)
{
	char places[HINT_TARGET_MAX];
	struct denial_view *view;

	hint_places(search, "create", places);
	view = places[0] ? hint_add_view(search, "mounts", "write", "") : NULL;
	if (!view)
		return;
	(void)snprintf(view->reason, sizeof(view->reason), "%s", errno_text(EROFS));
	hint_put(view->hint, "this directory is read-only; use %s", places);
}

void hint_judge_file(const struct search *search, const struct finding *finding)
{
	const char *const kinds[] = {
		first_kind(finding->line), "read", "write", "create", "exec", "list", "delete"
	};
	const int error = finding->phrase->error;
	char path[HINT_TARGET_MAX];
	char text[HINT_TARGET_MAX + 16];
	struct operation operation;
	struct decision decision;
	struct denial_view *view;

	if (!find_path(search, finding, path)) {
		if (error == EROFS)
			add_read_only(search);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s %s", kinds[i], path);
		if (!hint_ask_policy(search, text, &operation, &decision))
			return; /* not a path that the policy could speak of */
		if (decision.answer <= DECISION_CONDITIONAL || decision.error != error)
			continue;
		view = hint_add_view(search, decision.layer, kinds[i], path);
		if (view) {
			hint_describe(search, &decision, view);
			hint_file(search, &operation, &decision, view);
		}
		return;
	}
	if (is_plain(finding->phrase, finding->line))
		say_other(search, finding->phrase, path);
}

/* A socket in the file system, of a service of the host. */
void hint_judge_socket(const struct search *search, const struct finding *finding)
{
	const char *url = hint_text_find(finding->line, "unix:///");
	char path[HINT_TARGET_MAX], shown[HINT_PATH_MAX];
	char text[HINT_TARGET_MAX + 16];
	struct operation operation;
	struct decision decision;
	struct denial_view *view;

	if (!(url ? hint_text_word(url + strlen("unix://"), path)
		  : hint_text_path(finding->line, path)))
		return;
	path[strcspn(path, ":")] = '\0';
	if (path[strlen(path) - 1] == '.')
		path[strlen(path) - 1] = '\0';
	(void)snprintf(text, sizeof(text), "connect unix:%s", path);
	if (!hint_ask_policy(search, text, &operation, &decision)) { /* too long for a socket */
		hint_judge_file(search, finding);
		return;
	}
	view = decision.answer < DECISION_REFUSED
		       ? NULL
		       : hint_add_view(search, decision.layer, "connect", path);
	if (!view)
		return;
	hint_describe(search, &decision, view);
	hint_path(path, shown);
	hint_put(view->hint, "%s is not visible here; services of the host cannot be reached",
		 shown);
}

/* A project's parts were not found where no project is. */
void hint_judge_project(const struct search *search, const struct finding *finding)
{
	const struct plan_mount *mount = hint_own_mount(search, search->cwd);
	struct denial_views *views = search->views;

	(void)finding;
	if (hint_is_workspace(search, mount) && search->source->is_tool &&
	    !search->source->is_persistent && !views->note[0] && search->is_clear)
		hint_put(views->note, "this run had no sandbox argument, so %.60s was empty",
			 plan_string(search->source->plan, mount->target));
}
