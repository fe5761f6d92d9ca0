/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages about files, and about a project that is not there.
 */
#include "frontend/hint_search.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"

/* Return whether the path is one of the places that `|` separates, or beneath one. */
static bool is_beneath(const char *path, const char *places)
{
	for (; *places; places += strspn(places, "|")) {
		const size_t size = strcspn(places, "|");

		if (strncmp(path, places, size) == 0 && (!path[size] || path[size] == '/'))
			return true;
		places += size;
	}
	return false;
}

/* The user's own directories, as models name them. */
static bool is_users(const char *path)
{
	return is_beneath(path, "/home|/root|/Users|/mnt|/media|/srv|/data");
}

/* Return whether the path begins with a directory that hosts have: it is no route of a URL. */
static bool is_of_host(const char *path)
{
	return is_beneath(path, "/bin|/boot|/dev|/etc|/lib|/opt|/proc|/run|/sbin|/sys|/usr|/var") ||
	       is_users(path);
}

static void hint_absent(const struct search *search, const char *path, struct denial_view *view)
{
	const char *workspace = hint_workspace(search);
	char shown[HINT_PATH_MAX];

	hint_path(path, shown);
	if (strncmp(path, "/proc/", 6) == 0)
		SAY(view->hint, "%s is not visible: other processes are hidden", shown);
	else if (is_users(path) && workspace && search->source->is_persistent)
		SAY(view->hint, "%s is not visible here; a workspace is at %.30s", shown,
		    workspace);
	else if (is_users(path) && workspace && search->source->is_tool)
		SAY(view->hint, "the user's files are not here; for a project: create_sandbox "
				"with workspace, then pass sandbox");
	else
		SAY(view->hint, "%s is not visible here", shown);
}

static void hint_file(const struct search *search, const struct operation *operation,
		      const struct decision *decision, const char *wish, struct denial_view *view)
{
	char shown[HINT_PATH_MAX], places[HINT_TARGET_MAX];

	hint_path(operation->target, shown);
	if (decision->error == ENOENT) {
		hint_absent(search, operation->target, view);
	} else if (decision->error == EROFS && operation->kind == OPERATION_DELETE) {
		SAY(view->hint, "%s cannot be %s (read-only)", shown,
		    strcmp(wish, "delete") == 0 ? "removed" : "changed");
	} else if (decision->error == EROFS) {
		hint_places(search, "create", places);
		SAY(view->hint, "%s cannot be written (read-only)%s%s", shown,
		    places[0] ? "; use " : "", places);
	} else if (operation->kind == OPERATION_EXEC) {
		hint_places(search, "exec", places);
		SAY(view->hint, "%s may not be executed there%s%s", shown,
		    places[0] ? "; copy it to " : "", places);
	} else {
		SAY(view->hint, "the policy refuses to %s %s", operation_kind_name(operation->kind),
		    shown);
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
		SAY(views->note, "%s is missing, or a link to a place that is not visible here",
		    shown);
	else if (hint_is_workspace(search, mount) && search->source->is_persistent)
		return;
	else if (hint_is_workspace(search, mount) && search->source->is_tool)
		SAY(views->note,
		    "%s does not exist; this run had no sandbox argument, so %.30s was empty",
		    shown, plan_string(search->source->plan, mount->target));
	else
		SAY(views->note, "%s does not exist; %.30s is the sandbox's own, not the host's",
		    shown, plan_string(search->source->plan, mount->target));
}

static const char *first_kind(const char *line)
{
	if (hint_text_has(line, "creat|mkdir|touch|writ|save|output|database|lock"))
		return "create";
	if (hint_text_has(line, "remove|unlink"))
		return "delete";
	return hint_text_has(line, "exec") ? "exec" : "read";
}

/* Return whether the policy allows the act that the line tells of. If it refuses with another error
 * than the line's, the line is not about this sandbox. */
static bool is_act_allowed(const struct search *search, const char *line, const char *path)
{
	char text[HINT_TARGET_MAX + 16];
	struct operation operation;
	struct decision decision;

	SAY(text, "%s %s", first_kind(line), path);
	return hint_ask_policy(search, text, &operation, &decision) &&
	       decision.answer <= DECISION_CONDITIONAL;
}

static void say_other(const struct search *search, const struct phrase *phrase, const char *line,
		      const char *path)
{
	char shown[HINT_PATH_MAX];

	if (phrase->error == ENOENT) {
		if (!hint_text_has(line, "renam|->|=>")) /* either name may be missing */
			note_missing(search, path);
		return;
	}
	hint_path(path, shown);
	if (search->is_clear && !search->views->other[0] && is_act_allowed(search, line, path))
		SAY(search->views->other,
		    "not the sandbox: its policy allows %s; look at the file's mode", shown);
}

/* Return whether the name is of a program that was looked for in PATH, as Python words it. */
static bool is_program(const struct search *search, const char *name)
{
	return !strchr(name, '/') && hint_text_has(search->text, "_execute_child");
}

/* The workload may have changed its directory: a relative path counts only if it does not exist,
 * and is assumed to be in a directory of the workload's own. */
static bool find_path(const struct search *search, const struct finding *finding,
		      char ret[HINT_TARGET_MAX])
{
	char name[HINT_TARGET_MAX];
	int length;

	if (finding->phrase->says) {
		format_text(ret, HINT_TARGET_MAX, "%s", finding->phrase->says);
		return true;
	}
	if (hint_text_path(finding->line, ret))
		return true;
	if (finding->phrase->error != ENOENT ||
	    !hint_text_name(finding->line, finding->words, name) || name[0] == '/' ||
	    name[0] == '~' || strstr(name, "..") || is_program(search, name))
		return false;
	while (strncmp(name, "./", 2) == 0)
		memmove(name, name + 2, strlen(name) - 1);
	length = snprintf(ret, HINT_TARGET_MAX, "%s/%s", search->cwd, name);
	return length > 0 && (size_t)length < HINT_TARGET_MAX;
}

/* Return whether it was one of the acts that the policy was asked about. Of further acts with these
 * errors (another owner, a socket, two paths) it says nothing. */
static bool is_plain(const struct phrase *phrase, const char *line)
{
	static const char others[] = "bind|connect|socket|move|rename|link|chmod|chown|change|"
				     "changing|ioctl|attr|lock|mount";

	return phrase->error == ENOENT || (phrase->error == EACCES && !hint_text_has(line, others));
}

/* Return whether the policy refuses with the error. `error` 0: with any. Of a write to what the
 * host shows in a read-only mount it knows none: EROFS, or EISDIR. */
static bool is_refusal(const struct decision *decision, int error)
{
	return decision->answer > DECISION_CONDITIONAL &&
	       (!error || decision->error == error || (!decision->error && error == EROFS));
}

/* Ask about the path; add the view if the policy refuses one of the kinds with the error. `error`
 * 0: with any. */
static bool ask_path(const struct search *search, const char *const *kinds, const char *path,
		     int error, bool *ret_is_known)
{
	char text[HINT_TARGET_MAX + 16];
	struct operation operation;
	struct decision decision;
	const char *first = kinds[0];
	struct denial_view *view;

	for (; *kinds; kinds++) {
		SAY(text, "%s %s", *kinds, path);
		*ret_is_known = hint_ask_policy(search, text, &operation, &decision);
		if (!*ret_is_known)
			return false; /* not a path that the policy could speak of */
		if (!is_refusal(&decision, error))
			continue;
		if (!decision.error)
			decision.error = error;
		view = hint_add_view(search, decision.layer, *kinds, path);
		if (view) {
			hint_describe(search, &decision, view);
			hint_file(search, &operation, &decision, first, view);
		}
		return true;
	}
	return false;
}

/* A path that another line or the command has. */
struct elsewhere {
	const char *const *kinds; /* the questions about it */
	int error;                /* the refusal's; 0: any */
	const char *mark;         /* words of which the path has one; NULL: any path */
	bool is_plain;            /* only a word of the shell without quotes is one */
	char path[HINT_TARGET_MAX];
	bool is_ambiguous;
};

/* Return whether the policy refuses one of the kinds on the path with the error. */
static bool is_refused(const struct search *search, const struct elsewhere *place, const char *path)
{
	char text[HINT_TARGET_MAX + 16];
	struct operation operation;
	struct decision decision;

	for (const char *const *kind = place->kinds; *kind; kind++) {
		SAY(text, "%s %s", *kind, path);
		if (hint_ask_policy(search, text, &operation, &decision) &&
		    is_refusal(&decision, place->error))
			return true;
	}
	return false;
}

static bool is_in_quotes(const char *text, const char *at)
{
	size_t count = 0;

	for (; text < at; text++)
		count += strchr("'\"", *text) != NULL;
	return count % 2 == 1;
}

/* Find the refused path of a text; two different ones are ambiguous. */
static void find_refused(const struct search *search, const char *text, struct elsewhere *place)
{
	char path[HINT_TARGET_MAX];

	for (const char *at = strchr(text, '/'); at; at = strchr(at + 1, '/')) {
		if ((at > text && !strchr(" \t\n(=>:'\"`", at[-1])) || !hint_text_word(at, path))
			continue;
		path[strcspn(path, "\\")] = '\0';
		if (!is_of_host(path) || strstr(path, "bin/") ||
		    strncmp(at + strlen(path), "\", line", 7) == 0 || /* a frame of Python */
		    (place->mark && !hint_text_has(path, place->mark)) ||
		    (place->is_plain && is_in_quotes(text, at)) || !is_refused(search, place, path))
			continue;
		place->is_ambiguous = place->path[0] && strcmp(place->path, path) != 0;
		if (place->is_ambiguous)
			return;
		SAY(place->path, "%s", path);
	}
}

/* The message has no path: programs that spread it over lines have it in another, and else the
 * command may have it. */
static bool ask_elsewhere(const struct search *search, struct elsewhere *place)
{
	bool is_known = false;

	find_refused(search, search->text, place);
	if (!place->path[0])
		find_refused(search, search->command, place);
	return place->path[0] && !place->is_ambiguous &&
	       ask_path(search, place->kinds, place->path, place->error, &is_known);
}

/* A read-only error is the sandbox's in any directory but its own. */
static void add_read_only(const struct search *search)
{
	static const char *const kinds[] = { "create", "write", "delete", NULL };
	struct elsewhere place = { .kinds = kinds, .error = EROFS };
	char places[HINT_TARGET_MAX];
	struct denial_view *view;

	if (ask_elsewhere(search, &place))
		return;
	hint_places(search, "create", places);
	view = places[0] ? hint_add_view(search, "mounts", "write", "") : NULL;
	if (!view)
		return;
	SAY(view->reason, "%s", errno_text(EROFS));
	SAY(view->hint, "this directory is read-only; use %s", places);
}

bool hint_judge_file(const struct search *search, const struct finding *finding)
{
	const char *const kinds[] = {
		first_kind(finding->line), "read", "write", "create", "exec", "list", "delete", NULL
	};
	const int error = finding->phrase->error;
	struct elsewhere place = { .kinds = kinds, .error = ENOENT };
	char path[HINT_TARGET_MAX];
	bool is_known = false;

	if (!find_path(search, finding, path)) {
		if (error == EROFS)
			add_read_only(search);
		else if (error == ENOENT)
			(void)ask_elsewhere(search, &place);
		return error != EPERM;
	}
	if (ask_path(search, kinds, path, error, &is_known))
		return true;
	if (is_known && is_plain(finding->phrase, finding->line))
		say_other(search, finding->phrase, finding->line, path);
	return error != EPERM;
}

/* A message without the kernel's error, about a path that only a host has. */
bool hint_judge_open(const struct search *search, const struct finding *finding)
{
	static const char acts[] =
		"open|read|access|creat|writ|find|load|stat |save|directory|file|"
		"exist|found|enter|change to|chdir";
	const char *const kinds[] = { first_kind(finding->line), "read", NULL };
	struct elsewhere place = { .kinds = kinds,
				   .mark = strcmp(kinds[0], "read") == 0 ? NULL : "db|sql" };
	char path[HINT_TARGET_MAX];
	bool is_known = false;

	if (!hint_text_has(finding->line, acts))
		return false;
	if (!hint_text_path(finding->line, path))
		return hint_text_has(finding->line, "file|director|path") &&
		       ask_elsewhere(search, &place);
	while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
		path[strlen(path) - 1] = '\0';
	if (is_of_host(path))
		(void)ask_path(search, kinds, path, 0, &is_known);
	return is_of_host(path);
}

void hint_judge_command_path(const struct search *search, bool is_quiet)
{
	static const char *const kinds[] = { "read", NULL };
	struct elsewhere place = { .kinds = kinds,
				   .error = ENOENT,
				   .mark = "/home/|/root|/Users/|/mnt/|/media/",
				   .is_plain = !is_quiet };
	bool is_known = false;

	find_refused(search, search->command, &place);
	if (place.path[0] && !place.is_ambiguous)
		(void)ask_path(search, kinds, place.path, ENOENT, &is_known);
}

/* Ask about a socket in the file system, of a service of the host. */
static bool ask_socket(const struct search *search, const char *path)
{
	char text[HINT_TARGET_MAX + 16], shown[HINT_PATH_MAX];
	struct operation operation;
	struct decision decision;
	struct denial_view *view;

	SAY(text, "connect unix:%s", path);
	if (!hint_ask_policy(search, text, &operation, &decision)) /* too long for a socket */
		return false;
	view = decision.answer < DECISION_REFUSED
		       ? NULL
		       : hint_add_view(search, decision.layer, "connect", path);
	if (!view)
		return true;
	hint_describe(search, &decision, view);
	hint_path(path, shown);
	SAY(view->hint, "%s is not visible here; services of the host cannot be reached", shown);
	return true;
}

bool hint_judge_socket(const struct search *search, const struct finding *finding)
{
	const char *url = hint_text_find(finding->line, "unix:///");
	char path[HINT_TARGET_MAX];

	if (!(url ? hint_text_word(url + strlen("unix://"), path)
		  : hint_text_path(finding->line, path)) ||
	    (!url && !hint_text_has(finding->line, "sock|.s.")))
		return false;
	path[strcspn(path, ":")] = '\0';
	if (path[strlen(path) - 1] == '.')
		path[strlen(path) - 1] = '\0';
	return ask_socket(search, path) || hint_judge_file(search, finding);
}

bool hint_judge_command_socket(const struct search *search)
{
	const char *sign = strstr(search->command, ".sock");
	const char *at = sign;
	char path[HINT_TARGET_MAX];

	while (at && at > search->command && !strchr(" =:'\"", at[-1]))
		at--;
	return at && *at == '/' && hint_text_word(at, path) && ask_socket(search, path);
}

/* Overlayfs cannot copy a file up whose owner or group the sandbox does not map. */
bool hint_judge_foreign(const struct search *search, const struct finding *finding)
{
	char path[HINT_TARGET_MAX], shown[HINT_PATH_MAX];
	struct denial_view *view;

	if (!hint_text_path(finding->line, path) &&
	    !hint_text_name(finding->line, finding->words, path))
		path[0] = '\0';
	if (!search->source->is_persistent ||
	    !hint_is_workspace(search, hint_own_mount(search, path[0] == '/' ? path : search->cwd)))
		return false;
	view = hint_add_view(search, "mounts", "write", path);
	if (!view)
		return true;
	hint_path(path[0] ? path : "the file", shown);
	SAY(view->reason, "it has another owner or group on the host: %s", errno_text(EOVERFLOW));
	SAY(view->remedy,
	    "on the host, chown it and its directories to the user and the user's group");
	SAY(view->hint, "%s has another owner or group on the host; ask the user to chown it",
	    shown);
	return true;
}

/* Return whether files below the mount are shown copy-on-write. Overlayfs renames no directory of
 * its lower layers: to mark one it needs attributes that a user namespace may not set. */
static bool is_layered(const struct search *search, const struct plan_mount *mount)
{
	return mount->kind == PLAN_OVERLAY ||
	       (mount->kind == PLAN_IMAGE && mount->phase == PLAN_PHASE_SANDBOX) ||
	       (search->source->is_persistent && mount->place != 0);
}

/* Find a path of the text that is in a mount. With `other`, one that can be written to and is not
 * that. NULL: there is none. */
static const struct plan_mount *find_mount(const struct search *search, const char *text,
					   const struct plan_mount *other,
					   char ret[HINT_TARGET_MAX])
{
	for (const char *at = strchr(text, '/'); at; at = strchr(at + 1, '/')) {
		const struct plan_mount *mount;

		if ((at > text && !strchr(" \t\n(=>:'\"`,", at[-1])) || !hint_text_word(at, ret))
			continue;
		ret[strcspn(ret, ",:)")] = '\0';
		mount = hint_mount(search, ret);
		if (mount && (!other || (mount != other &&
					 (mount->kind == PLAN_TMPFS || is_layered(search, mount)))))
			return mount;
	}
	ret[0] = '\0';
	return NULL;
}

static void describe_apart(const char *path, bool is_link, struct denial_view *view)
{
	char shown[HINT_PATH_MAX];

	hint_path(path, shown);
	SAY(view->reason, "it is in another mount: %s", errno_text(EXDEV));
	SAY(view->remedy, is_link ? "copy it, or use 'ln -s'" : "use 'mv', which copies it");
	SAY(view->hint, "%s is in another mount than the other path: %s", shown,
	    is_link ? "copy it, or use ln -s" : "use mv, which copies it");
}

static void describe_directory(const struct search *search, const struct plan_mount *mount,
			       struct denial_view *view)
{
	const bool is_project = hint_is_workspace(search, mount);
	const char *target = plan_string(search->source->plan, mount->target);
	const bool is_git = hint_text_find_program(search->command, "git ") != NULL &&
			    hint_text_has(search->command, " mv ");

	SAY(view->reason, "a directory %s%.60s cannot be renamed in one step: %s",
	    is_project ? "of the project" : "below ", is_project ? "" : target, errno_text(EXDEV));
	SAY(view->remedy, "use 'mv', which copies it; for git: 'mv OLD NEW && git add -A'");
	SAY(view->hint, "a directory %s%.30s cannot be renamed in one step: use %s",
	    is_project ? "of the project" : "below ", is_project ? "" : target,
	    is_git ? "'mv OLD NEW && git add -A'" : "mv, which copies it");
}

/* A rename or link between mounts, or the rename of a directory that is shown copy-on-write. */
bool hint_judge_rename(const struct search *search, const struct finding *finding)
{
	static const char links[] = "hard link|, link '|, link \"|link(|linkat|file_s_link|ln:";
	static const char copies[] = "copy_file_range|copyfile|sendfile|reflink|clone";
	const bool is_link = hint_text_has(finding->line, links);
	char path[HINT_TARGET_MAX] = "", other[HINT_TARGET_MAX];
	const struct plan_mount *mount = find_mount(search, finding->line, NULL, path);
	struct denial_view *view;
	bool is_apart;

	if (hint_text_has(finding->line, copies))
		return false;
	if (!mount)
		mount = hint_mount(search, search->cwd);
	if (!mount)
		return false;
	/* A path in another mount than the directory: the second one is relative. */
	if (path[0] && !is_layered(search, mount) && mount != hint_mount(search, search->cwd))
		SAY(other, "%s", path);
	else
		other[0] = '\0';
	is_apart = other[0] || find_mount(search, finding->line, mount, other) ||
		   (!path[0] && !hint_text_find_program(search->command, "cd ") &&
		    find_mount(search, search->command, mount, other));
	if (!is_apart && (is_link || !is_layered(search, mount)))
		return false;
	view = hint_add_view(search, "mounts", is_link ? "link" : "rename",
			     is_apart ? other : path);
	if (view && is_apart)
		describe_apart(other, is_link, view);
	else if (view)
		describe_directory(search, mount, view);
	return true;
}

/* A project's parts were not found where no project is. */
bool hint_judge_project(const struct search *search, const struct finding *finding)
{
	const struct plan_mount *mount = hint_own_mount(search, search->cwd);
	struct denial_views *views = search->views;
	char path[HINT_TARGET_MAX] = "";
	const bool has_path = hint_text_path(finding->line, path);
	struct denial_view *view = NULL;

	if (strstr(path, "/.git/worktrees/") && !hint_own_mount(search, path))
		view = hint_add_view(search, "mounts", "read", path);
	if (view) {
		SAY(view->reason, "the worktree's .git names a path of the user's machine");
		SAY(view->remedy, "open the worktree's own directory, which shows git's data, too");
		SAY(view->hint, "%s; a sandbox of that worktree has it", view->reason);
	}
	if (has_path && is_of_host(path))
		return false; /* it looked there */
	if (hint_is_workspace(search, mount) && search->source->is_tool &&
	    !search->source->is_persistent && !views->note[0] && search->is_clear)
		SAY(views->note, "this run had no sandbox argument, so %.60s was empty",
		    plan_string(search->source->plan, mount->target));
	return true;
}
