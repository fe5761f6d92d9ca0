/* SPDX-License-Identifier: Apache-2.0
 *
 * One walk answers every question: from an opened folder up to the root by "..", noting each
 * (device, inode). A candidate lies inside a protected path when the candidate's walk meets it,
 * and contains it when the protected path's walk meets the candidate. Walks start from every name
 * that a file has through bind mounts.
 */
#include "protected.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "format.h"
#include "state_place.h"

/* Folders above one path, over all of its names; with more it is refused. */
#define STEPS_MAX 1024

struct identity {
	dev_t device;
	ino_t inode;
};

struct walk {
	struct identity steps[STEPS_MAX];
	size_t count;
};

/* Everything at or below these. */
static const char *const system_paths[] = {
	"/etc/shadow",
	"/etc/shadow-",
	"/etc/gshadow",
	"/etc/gshadow-",
	"/etc/sudoers",
	"/etc/sudoers.d",
	"/etc/ssh",
	"/etc/ssl/private",
	"/etc/krb5.keytab",
	"/etc/NetworkManager/system-connections",
	"/etc/wireguard",
	"/root",
	"/run",
	"/var/run",
	"/var/run/docker.sock",
	"/var/spool/cron",
	"/var/lib/docker",
	"/var/lib/containerd",
	"/var/lib/containers",
	"/boot",
	"/proc",
	"/sys",
	"/dev",
};

/* The same below each home directory. The home itself is protected too, but not what else is in
 * it. */
static const char *const home_paths[] = {
	".ssh",
	".gnupg",
	".pki",
	".aws",
	".azure",
	".oci",
	".config/gcloud",
	".config/gh",
	".config/glab-cli",
	".config/hub",
	".config/op",
	".config/doctl",
	".config/rclone",
	".config/sops",
	".config/msp",
	".kube",
	".docker",
	".podman",
	".config/containers",
	".terraform.d",
	".vault-token",
	".netrc",
	".git-credentials",
	".config/git/credentials",
	".npmrc",
	".yarnrc.yml",
	".pypirc",
	".gem/credentials",
	".cargo/credentials",
	".cargo/credentials.toml",
	".m2/settings.xml",
	".gradle/gradle.properties",
	".pgpass",
	".my.cnf",
	".local/share/keyrings",
	".local/share/kwalletd",
	".password-store",
	".mozilla",
	".thunderbird",
	".config/google-chrome",
	".config/chromium",
	".config/BraveSoftware",
	".config/microsoft-edge",
	".var/app",
	"snap",
	".claude",
	".claude.json",
	".codex",
	".gemini",
	".cursor",
	".copilot",
	".config/github-copilot",
	".config/claude",
	".bash_history",
	".zsh_history",
	".python_history",
	".psql_history",
	".mysql_history",
	".node_repl_history",
	".lesshst",
	".viminfo",
	".local/share/fish/fish_history",
	".local/state/msp",
	".Xauthority",
	".ICEauthority",
};

static int identify(int fd, struct identity *ret)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	ret->device = status.st_dev;
	ret->inode = status.st_ino;
	return 0;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static bool steps_meet(const struct walk *walk, size_t count, const struct identity *identity)
{
	for (size_t i = 0; i < count; i++) {
		if (is_same(&walk->steps[i], identity))
			return true;
	}
	return false;
}

static bool walk_meets(const struct walk *walk, const struct identity *identity)
{
	return steps_meet(walk, walk->count, identity);
}

static int walk_note(struct walk *walk, const struct stat *status)
{
	if (walk->count == STEPS_MAX)
		return -ELOOP;
	walk->steps[walk->count++] =
		(struct identity){ .device = status->st_dev, .inode = status->st_ino };
	return 0;
}

/* Note every folder from `folder` (taken) up to the root, which is its own parent. */
static int walk_up(int folder, struct walk *walk)
{
	struct stat last = { 0 };
	int error = 0;

	for (;;) {
		struct stat here;
		int parent;

		if (fstat(folder, &here) != 0) {
			error = -errno;
			break;
		}
		if (here.st_dev == last.st_dev && here.st_ino == last.st_ino)
			break;
		last = here;
		error = walk_note(walk, &here);
		parent = error ? -1 : openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (!error && parent < 0)
			error = -errno;
		if (error)
			break;
		fd_close(&folder);
		folder = parent;
	}
	fd_close(&folder);
	return error;
}

/* The folder that holds `path`; for "/" that is "/". */
static int open_parent(const char *path)
{
	char parent[4096];
	const char *slash = strrchr(path, '/');
	size_t size = slash > path ? (size_t)(slash - path) : 1;
	int fd;

	if (size >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, path, size);
	parent[size] = '\0';
	fd = kernel_openat2(AT_FDCWD, parent, O_PATH | O_DIRECTORY | O_CLOEXEC,
			    RESOLVE_NO_MAGICLINKS);
	return fd < 0 ? -errno : fd;
}

/* Add the walk from `fd` (not taken), known as `path`, to what `walk` has. It starts above what has
 * no ".." to go by: a file, or a folder that we may not search. */
static int walk_from(int fd, const char *path, struct walk *walk)
{
	struct stat status;
	bool has_parent;
	int error = 0;
	int start;

	if (fstat(fd, &status) != 0)
		return -errno;
	has_parent = S_ISDIR(status.st_mode) && faccessat(fd, ".", X_OK, 0) == 0;
	if (has_parent) {
		start = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		return start < 0 ? -errno : walk_up(start, walk);
	}
	error = walk_note(walk, &status);
	if (error)
		return error;
	start = open_parent(path);
	return start < 0 ? start : walk_up(start, walk);
}

/* Add the walks from every other name of `fd`. */
static int walk_from_others(int fd, const char *path, const struct mounts *mounts,
			    struct walk *walk)
{
	struct identity wanted = { 0 };
	int error = identify(fd, &wanted);

	for (size_t i = 0; !error && i < mounts->count; i++) {
		char name[4096];
		struct identity found = { 0 };
		int other;

		if (!mounts_other_name(mounts, i, path, name, sizeof(name)))
			continue;
		other = kernel_openat2(AT_FDCWD, name, O_PATH | O_NOFOLLOW | O_CLOEXEC,
				       RESOLVE_NO_MAGICLINKS);
		/* What does not open is covered by another mount, or out of our reach. */
		if (other >= 0 && identify(other, &found) == 0 && is_same(&found, &wanted))
			error = walk_from(other, name, walk);
		fd_close(&other);
	}
	return error;
}

/*
 * Open `path`, or the nearest folder above it that exists and can be reached. *ret_is_exact says
 * which. What cannot be reached cannot be shown either; what does not exist may come to exist.
 */
static int open_nearest(const char *path, char nearest[4096], bool *ret_is_exact)
{
	format_text(nearest, 4096, "%s", path);
	*ret_is_exact = true;
	for (;;) {
		const int fd = kernel_openat2(AT_FDCWD, nearest, O_PATH | O_CLOEXEC,
					      RESOLVE_NO_MAGICLINKS);
		char *slash = strrchr(nearest, '/');

		if (fd >= 0)
			return fd;
		if ((errno != ENOENT && errno != EACCES && errno != ENOTDIR && errno != ELOOP) ||
		    !slash)
			return -errno;
		if (slash == nearest && nearest[1] == '\0')
			return -ENOENT; /* not even the root */
		slash[slash == nearest ? 1 : 0] = '\0';
		*ret_is_exact = false;
	}
}

/* The kernel's own name for what is open: protected files may be links to where they really are. */
static int real_name(int fd, char name[4096])
{
	char link[64];
	ssize_t size;

	format_text(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, name, 4095);
	if (size < 0)
		return -errno;
	name[size] = '\0';
	return 0;
}

struct candidate {
	int fd;
	const struct mounts *mounts;
	struct identity identity;
	struct walk above; /* it and every folder above it, by all of its names */
	size_t own_steps;  /* those of them by the name that it was asked for by */
};

/* `is_inside_free`: only the path itself is protected, not what lies inside. */
static int compare(const struct candidate *candidate, const char *path, bool is_inside_free,
		   enum protected_verdict *ret)
{
	static struct walk walk; /* too large for the stack; one thread */
	char nearest[4096];
	struct identity identity = { 0 };
	bool is_exact;
	int fd __attribute__((cleanup(fd_cleanup))) = open_nearest(path, nearest, &is_exact);
	int error;

	*ret = PROTECTED_FREE;
	if (fd < 0)
		return fd;
	error = identify(fd, &identity);
	if (error)
		return error;
	if (is_exact && is_same(&identity, &candidate->identity)) {
		*ret = PROTECTED_IS;
		return 0;
	}
	if (is_exact && !is_inside_free && walk_meets(&candidate->above, &identity)) {
		*ret = PROTECTED_INSIDE;
		return 0;
	}
	walk.count = 0;
	error = real_name(fd, nearest);
	if (!error)
		error = walk_from(fd, nearest, &walk);
	if (!error)
		error = walk_from_others(fd, nearest, candidate->mounts, &walk);
	if (!error && walk_meets(&walk, &candidate->identity))
		*ret = PROTECTED_CONTAINS;
	return error;
}

/* Compare with one path and put what is found into the answer; false ends the search. */
static bool compare_into(const struct candidate *candidate, const char *path, bool is_inside_free,
			 struct protected_answer *answer)
{
	const int error = compare(candidate, path, is_inside_free, &answer->verdict);

	if (error) {
		answer->verdict = PROTECTED_ERROR;
		answer->error = -error;
	}
	format_text(answer->path, sizeof(answer->path), "%s", path);
	return answer->verdict == PROTECTED_FREE;
}

static bool compare_home(const struct candidate *candidate, const char *home,
			 struct protected_answer *answer)
{
	for (size_t i = 0; i < sizeof(home_paths) / sizeof(home_paths[0]); i++) {
		char path[4096];

		format_text(path, sizeof(path), "%s/%s", home, home_paths[i]);
		if (!compare_into(candidate, path, false, answer))
			return false;
	}
	return compare_into(candidate, home, true, answer);
}

/* The path after this one in a list. */
static const char *next_path(const char *path)
{
	return path + strlen(path) + 1;
}

static bool compare_list(const struct candidate *candidate, const struct protected_set *set,
			 struct protected_answer *answer)
{
	const char *end = set->protect + set->protect_size;

	for (const char *path = set->protect; path < end; path = next_path(path)) {
		if (!compare_into(candidate, path, false, answer))
			return false;
	}
	return true;
}

/* By its own name alone: that it can be reached from a workspace through another mount does not
 * make it a part of that. A workspace that cannot be opened holds nothing. */
static bool is_in_workspace(const struct candidate *candidate, const struct protected_set *set)
{
	const char *end = set->workspaces + set->workspaces_size;

	for (const char *path = set->workspaces; path < end; path = next_path(path)) {
		struct identity identity = { 0 };
		int fd = kernel_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
		const bool is_there = fd >= 0 && identify(fd, &identity) == 0;

		fd_close(&fd);
		if (is_there && steps_meet(&candidate->above, candidate->own_steps, &identity))
			return true;
	}
	return false;
}

static bool compare_system(const struct candidate *candidate, struct protected_answer *answer)
{
	for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++) {
		if (!compare_into(candidate, system_paths[i], false, answer))
			return false;
	}
	return true;
}

struct protected_answer protected_check(int fd, const char *path, const struct mounts *mounts,
					const struct protected_set *set)
{
	static struct candidate candidate; /* too large for the stack; one thread */
	struct protected_answer answer = { .verdict = PROTECTED_FREE };
	int error;

	candidate.fd = fd;
	candidate.mounts = mounts;
	candidate.above.count = 0;
	error = identify(fd, &candidate.identity);
	if (!error)
		error = walk_from(fd, path, &candidate.above);
	candidate.own_steps = candidate.above.count;
	if (!error)
		error = walk_from_others(fd, path, mounts, &candidate.above);
	if (error) {
		answer.verdict = PROTECTED_ERROR;
		answer.error = -error;
		format_text(answer.path, sizeof(answer.path), "/");
		return answer;
	}
	for (size_t i = 0; i < PROTECTED_HOMES_MAX; i++) {
		if (set->homes[i] && !compare_home(&candidate, set->homes[i], &answer))
			return answer;
	}
	if (!compare_system(&candidate, &answer) || !compare_list(&candidate, set, &answer) ||
	    (set->state && !compare_into(&candidate, set->state, false, &answer)))
		return answer;
	if (set->workspaces_size > 0 && !is_in_workspace(&candidate, set))
		answer.verdict = PROTECTED_OUTSIDE;
	return answer;
}

bool protected_lies_in(int fd, const int *directories, size_t count)
{
	static struct walk walk; /* too large for the stack; one thread */
	struct identity identity = { 0 };
	char path[4096];

	walk.count = 0;
	if (real_name(fd, path) != 0 || walk_from(fd, path, &walk) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (identify(directories[i], &identity) == 0 && walk_meets(&walk, &identity))
			return true;
	}
	return false;
}

/* "/a, /b", as much as fits. */
static void join(const char *list, uint32_t size, char *text, size_t room)
{
	text[0] = '\0';
	for (const char *path = list; path < list + size; path = next_path(path))
		format_append(text, room, "%s%s", path == list ? "" : ", ", path);
}

void protected_describe(const struct protected_answer *answer, const char *path,
			const struct protected_set *set, char text[PROTECTED_TEXT_MAX])
{
	static const char *const relations[] = {
		[PROTECTED_IS] = "is",
		[PROTECTED_INSIDE] = "lies inside",
		[PROTECTED_CONTAINS] = "contains",
	};
	char workspaces[256];

	if (answer->verdict == PROTECTED_ERROR) {
		format_text(text, PROTECTED_TEXT_MAX,
			    "'%.300s' is refused: it could not be compared with the protected "
			    "path %.300s: %s",
			    path, answer->path, strerror(answer->error));
	} else if (answer->verdict == PROTECTED_OUTSIDE) {
		join(set->workspaces, set->workspaces_size, workspaces, sizeof(workspaces));
		format_text(text, PROTECTED_TEXT_MAX,
			    "'%.300s' is refused: it lies in none of the workspaces that the "
			    "operator's file names (%s). Name a folder in one of them, or add "
			    "this one to 'workspaces'",
			    path, workspaces);
	} else {
		format_text(text, PROTECTED_TEXT_MAX,
			    "'%.300s' is refused: it %s %.300s, which holds what no sandbox may "
			    "see (keys, tokens, histories, the system's own state). Name a folder "
			    "that keeps clear of it, or copy what is needed into one",
			    path, relations[answer->verdict], answer->path);
	}
}

struct protected_set protected_set_of(const struct plan *plan)
{
	static char store[3][4096];
	static char state[IPC_PATH_MAX];
	char problem[STATE_PLACE_TEXT_MAX];
	const struct plan_header *header = plan_header(plan);
	struct protected_set set = {
		.protect = plan_string(plan, header->protect),
		.protect_size = header->protect_size,
		.workspaces = plan_string(plan, header->workspaces),
		.workspaces_size = header->workspaces_size,
	};
	const char *environment = getenv("HOME");
	const char *sudo_user = getenv("SUDO_USER");
	const struct passwd *entry = getpwuid(geteuid());
	size_t count = 0;

	set.state = state_place_find(STATE_PLACE_ALL, state, problem) ? state : NULL;
	format_text(store[0], sizeof(store[0]), "%s", environment ? environment : "");
	format_text(store[1], sizeof(store[1]), "%s", entry && entry->pw_dir ? entry->pw_dir : "");
	entry = sudo_user ? getpwnam(sudo_user) : NULL;
	format_text(store[2], sizeof(store[2]), "%s", entry && entry->pw_dir ? entry->pw_dir : "");
	for (size_t i = 0; i < 3; i++) {
		if (store[i][0] == '/' && store[i][1] != '\0' &&
		    (i == 0 || strcmp(store[i], store[i - 1]) != 0))
			set.homes[count++] = store[i];
	}
	return set;
}
