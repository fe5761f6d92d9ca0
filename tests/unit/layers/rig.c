/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "frontend/changes.h"
#include "layers/base/base.h"

static int open_folder(const char *root, const char *name)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	cr_assert(mkdir(path, 0755) == 0, "%s: %m", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(fd >= 0, "%s: %m", path);
	return fd;
}

bool rig_is_apart;

/* The journal lies on another file system than the host's files. */
static int open_apart(struct rig *rig)
{
	struct stat here, there;
	int fd;

	(void)stpcpy(rig->apart, "/tmp/msp-layers-XXXXXX");
	cr_assert_not_null(mkdtemp(rig->apart));
	fd = open_folder(rig->apart, "journal");
	cr_assert_eq(fstat(fd, &there), 0);
	cr_assert_eq(fstat(rig->scene.directories.host, &here), 0);
	if (here.st_dev == there.st_dev)
		cr_skip("/dev/shm and /tmp are one file system");
	return fd;
}

void rig_begin(struct rig *rig, uint32_t layers)
{
	struct job_directories *directories = &rig->scene.directories;

	memset(rig, 0, offsetof(struct rig, told)); /* the texts are large */
	rig->told[0] = rig->shown[0] = rig->before[0] = '\0';
	(void)umask(022);
	(void)snprintf(rig->scene.root, sizeof(rig->scene.root), "%s/msp-layers-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	cr_assert_not_null(mkdtemp(rig->scene.root));
	directories->host = open_folder(rig->scene.root, "host");
	directories->journal =
		rig_is_apart ? open_apart(rig) : open_folder(rig->scene.root, "journal");
	directories->target = open_folder(rig->scene.root, "target");
	directories->layer_count = layers;
	for (uint32_t i = 0; i < layers; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "layer%u", i);
		directories->layers[i] = open_folder(rig->scene.root, name);
		put_folder(directories->layers[i], WORKSPACE_NAME);
		rig->scene.uppers[i] = openat(directories->layers[i], WORKSPACE_NAME,
					      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_assert(rig->scene.uppers[i] >= 0);
	}
}

void rig_end(struct rig *rig)
{
	fd_close(&rig->scene.directories.journal);
	fd_close(&rig->scene.directories.target);
	scene_end(&rig->scene);
	if (rig->apart[0]) {
		struct scene apart = { .directories.host = -1 };

		(void)stpcpy(apart.root, rig->apart);
		scene_end(&apart);
	}
}

static void note_flags(uint32_t flags, char **text, const char *end)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = { { CHANGE_IS_HELD, " held" },
		      { CHANGE_IS_CONFLICT, " conflict" },
		      { CHANGE_IS_REFUSED, " refused" },
		      { CHANGE_IS_APPLIED, " applied" },
		      { CHANGE_IS_UNDONE, " undone" },
		      { CHANGE_IS_STRIPPED, " stripped" },
		      { CHANGE_IS_UNREADABLE, " unreadable" },
		      { CHANGE_IS_GITS, " repository" },
		      { CHANGE_IS_COMMITS, " commits" },
		      { CHANGE_IS_TOOL, " tool" },
		      { CHANGE_LEADS_OUT, " out" },
		      { CHANGE_IS_RULES, " rules" },
		      { CHANGE_MAY_RUN, " may-run" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (flags & names[i].flag)
			*text += snprintf(*text, (size_t)(end - *text), "%s", names[i].name);
	}
	*text += snprintf(*text, (size_t)(end - *text), "\n");
}

static void read_told(struct rig *rig, int output)
{
	static uint8_t bytes[RIG_TEXT_MAX];
	const ssize_t size = pread(output, bytes, sizeof(bytes), 0);
	char *text = rig->told;
	const char *end = rig->told + sizeof(rig->told);

	cr_assert(size >= 0 && size < (ssize_t)sizeof(bytes));
	rig->told[0] = '\0';
	for (size_t at = 0; at < (size_t)size;) {
		struct change change;
		const long whole = changes_read(bytes + at, (size_t)size - at, &change);

		cr_assert_gt(whole, 0);
		text += snprintf(text, (size_t)(end - text), "%s %.*s",
				 change_kind_name(change.is.kind), (int)change.is.path_size,
				 (const char *)change.path);
		note_flags(change.is.flags, &text, end);
		cr_assert(text < end - 1);
		at += (size_t)whole;
	}
}

void rig_start(struct rig *rig, const char *chosen)
{
	rig->job = (struct job){
		.directories = rig->scene.directories,
		.ask = &rig->ask,
		.chosen = chosen,
		.chosen_size = chosen ? strlen(chosen) + 1 : 0,
		.output = memfd_create("told", MFD_CLOEXEC),
	};
	cr_assert(rig->job.output >= 0);
	base_forget();
}

int rig_do(struct rig *rig, int (*job)(struct job *job), const char *chosen)
{
	int error;

	rig_start(rig, chosen);
	error = job(&rig->job);
	rig->job.done.error = (uint32_t)-error; /* as job_run() does */
	read_told(rig, rig->job.output);
	fd_close(&rig->job.output);
	return error;
}

static int compare(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

static void show_content(int directory, const char *name, char **text, const char *end)
{
	char content[IPC_PATH_MAX];
	struct stat status;
	ssize_t size;
	int fd;

	cr_assert_eq(fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW), 0);
	*text += snprintf(*text, (size_t)(end - *text), " %o", status.st_mode);
	if (S_ISLNK(status.st_mode)) {
		size = readlinkat(directory, name, content, sizeof(content) - 1);
	} else if (S_ISREG(status.st_mode)) {
		const mode_t mode = status.st_mode & 07777;

		cr_assert_eq(fchmodat(directory, name, mode | 0400, 0), 0);
		fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
		cr_assert(fd >= 0, "%s: %m", name);
		size = read(fd, content, sizeof(content) - 1);
		fd_close(&fd);
		cr_assert_eq(fchmodat(directory, name, mode, 0), 0);
	} else {
		return;
	}
	cr_assert(size >= 0);
	content[size] = '\0';
	*text += snprintf(*text, (size_t)(end - *text), " %s", content);
}

static void show(int directory, const char *prefix, char **text, const char *end)
{
	struct dirent **names;
	const int count = scandirat(directory, ".", &names, NULL, compare);

	cr_assert(count >= 0, "%s: %m", prefix);
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		char path[IPC_PATH_MAX];
		struct stat status;
		int below = -1;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s%s", prefix, name);
		*text += snprintf(*text, (size_t)(end - *text), "%s", path);
		show_content(directory, name, text, end);
		*text += snprintf(*text, (size_t)(end - *text), "\n");
		cr_assert(*text < end - 1);
		cr_assert_eq(fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW), 0);
		if (!S_ISDIR(status.st_mode))
			continue;
		cr_assert_eq(fchmodat(directory, name, 0700, 0), 0);
		below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)strncat(path, "/", sizeof(path) - strlen(path) - 1);
		show(below, path, text, end);
		fd_close(&below);
		cr_assert_eq(fchmodat(directory, name, status.st_mode & 07777, 0), 0);
	}
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

const char *rig_show(struct rig *rig, int directory)
{
	char *text = rig->shown;

	rig->shown[0] = '\0';
	show(directory, "", &text, rig->shown + sizeof(rig->shown));
	return rig->shown;
}

static void fill_host(int host)
{
	put_file(host, "a/changed", "old");
	put_file(host, "a/gone", "gone");
	put_file(host, "a/kept", "kept");
	put_link(host, "link", "here");
	put_link(host, "link-gone", "nowhere");
	put_file(host, "mode", "mode");
	put_file(host, "folder-to-file/x", "x");
	put_file(host, "file-to-folder", "f");
	put_file(host, "file-to-link", "f");
	put_file(host, "tree/deep/1", "1");
	put_file(host, "tree/deep.2", "2");
	put_file(host, "closes/in", "old");
	put_file(host, "opens/in", "old");
	put_mode(host, "opens", 0555);
	put_file(host, "was-here", "moved moved");
	put_file(host, "closed-tree/x", "x");
	put_mode(host, "closed-tree", 0500);
}

static void fill_upper(int upper)
{
	put_file(upper, "a/changed", "new and longer");
	put_whiteout(upper, "a/gone");
	put_file(upper, "a/new", "new");
	put_mode(upper, "a/new", 04755);
	put_link(upper, "link", "there");
	put_whiteout(upper, "link-gone");
	put_link(upper, "link-new", "anywhere");
	put_file(upper, "mode", "mode");
	put_mode(upper, "mode", 0755);
	put_file(upper, "folder-to-file", "file");
	put_file(upper, "file-to-folder/y", "y");
	put_mark(upper, "file-to-folder", "user.overlay.opaque", "y");
	put_link(upper, "file-to-link", "f");
	put_whiteout(upper, "tree");
	put_file(upper, "closes/in", "new");
	put_mode(upper, "closes", 0555);
	put_file(upper, "opens/in", "new");
	put_file(upper, "opens/more", "more");
	put_mode(upper, "opens", 0755);
	put_whiteout(upper, "was-here");
	put_file(upper, "is/there", "moved moved");
	put_file(upper, "new/closed/x", "x");
	put_mode(upper, "new/closed", 0555);
	put_whiteout(upper, "closed-tree");
}

void rig_fill(struct rig *rig)
{
	fill_host(rig->scene.directories.host);
	fill_upper(rig->scene.uppers[0]);
}

void rig_note(struct rig *rig)
{
	cr_assert_eq(base_note(&rig->scene.directories, UINT64_MAX), 0);
}

void rig_touch_host(struct rig *rig, const char *path, const char *content)
{
	const int fd = openat(rig->scene.directories.host, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	cr_assert(fd >= 0, "%s: %m", path);
	cr_assert_eq(fd_write_all(fd, content, strlen(content)), 0);
	(void)close(fd);
}

void rig_remember(struct rig *rig, int directory)
{
	(void)stpcpy(rig->before, rig_show(rig, directory));
}

void rig_apply_all(struct rig *rig)
{
	cr_assert_eq(rig_do(rig, job_apply, NULL), 0, "%s", strerror((int)rig->job.done.error));
	cr_assert_eq(rig->job.done.error, 0);
}

void rig_undo_all(struct rig *rig)
{
	cr_assert_eq(rig_do(rig, job_undo, NULL), 0, "%s", strerror((int)rig->job.done.error));
	cr_assert_eq(rig->job.done.conflicts, 0, "%s", rig->told);
}

void rig_begin_conflict(struct rig *rig, uint32_t choice)
{
	const int *host = &rig->scene.directories.host;
	const int *upper = &rig->scene.uppers[0];

	rig_begin(rig, 1);
	put_file(*host, "both", "old");
	put_file(*host, "gone", "old");
	put_file(*host, "mine", "old");
	put_file(*upper, "both", "sandbox's");
	put_file(*upper, "mine", "new");
	put_whiteout(*upper, "gone");
	put_file(*upper, "same-name/in", "sandbox's");
	rig_note(rig);
	rig_touch_host(rig, "both", "host's");
	rig_touch_host(rig, "gone", "host's");
	put_file(*host, "same-name", "host's");
	rig->ask.conflict = choice;
	rig_remember(rig, *host);
	cr_assert_eq(rig_do(rig, job_apply, NULL), 0);
}
