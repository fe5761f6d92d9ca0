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
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "format.h"

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

static bool walk_meets(const struct walk *walk, const struct identity *identity)
{
	for (size_t i = 0; i < walk->count; i++) {
		if (is_same(&walk->steps[i], identity))
			return true;
	}
	return false;
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

/* Add the walks from every other name of `fd` too. */
static int walk_from_all(int fd, const char *path, const struct mounts *mounts, struct walk *walk)
{
	struct identity wanted = { 0 };
	int error = identify(fd, &wanted);

	if (!error)
		error = walk_from(fd, path, walk);
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
		error = walk_from_all(fd, nearest, candidate->mounts, &walk);
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

struct protected_answer protected_check(int fd, const char *path, const struct mounts *mounts,
					const char *const homes[PROTECTED_HOMES_MAX])
{
	static struct candidate candidate; /* too large for the stack; one thread */
	struct protected_answer answer = { .verdict = PROTECTED_FREE };
	int error;

	candidate.fd = fd;
	candidate.mounts = mounts;
	candidate.above.count = 0;
	error = identify(fd, &candidate.identity);
	if (!error)
		error = walk_from_all(fd, path, mounts, &candidate.above);
	if (error) {
		answer.verdict = PROTECTED_ERROR;
		answer.error = -error;
		return answer;
	}
	for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++) {
		if (!compare_into(&candidate, system_paths[i], false, &answer))
			return answer;
	}
	for (size_t i = 0; i < PROTECTED_HOMES_MAX; i++) {
		if (homes[i] && !compare_home(&candidate, homes[i], &answer))
			return answer;
	}
	return answer;
}
