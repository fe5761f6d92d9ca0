/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/text/format.h"
#include "image/store.h"
#include "launcher/host/mounts.h"
#include "launcher/host/shown.h"
#include "launcher/host/state_place.h"

/* --- images ----------------------------------------------------------------------------------- */

/* More than the profiles of one plan have; policies that are read again may have others. */
#define HOLDS_MAX 256

/* The digests that are held; the descriptors stay open until the process ends. */
static char held[HOLDS_MAX][IMAGE_DIGEST_MAX];
static uint32_t held_count;

static bool is_held(const char *digest)
{
	for (uint32_t i = 0; i < held_count; i++) {
		if (strcmp(held[i], digest) == 0)
			return true;
	}
	return false;
}

/* Hold the image of a profile, if it has one. 0, or -1 with a line in `text`. */
static int hold_image(const struct plan *plan, const struct plan_profile *profile,
		      char text[PINS_TEXT_MAX])
{
	const char *digest = profile->image != 0 ? plan_string(plan, profile->image) : "";
	char path[IPC_PATH_MAX];
	int store FD_OWNED = -1;
	int fd = -ENOENT;

	if (digest[0] == '\0' || is_held(digest))
		return 0;
	if (state_place_images(path))
		fd = store = fd_result(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (store >= 0)
		fd = held_count < HOLDS_MAX ? image_hold(store, digest) : -EMFILE;
	if (fd >= 0)
		format_text(held[held_count++], IMAGE_DIGEST_MAX, "%s", digest);
	else
		format_text(text, PINS_TEXT_MAX,
			    "profile %s: its image sha256:%.12s cannot be used: %s. Import it "
			    "again with 'msp image import'",
			    plan_string(plan, profile->name), digest, errno_text(-fd));
	return fd >= 0 ? 0 : -1;
}

void pins_hold_images(const struct plan *plan)
{
	char text[PINS_TEXT_MAX];

	held_count = 0;
	for (uint32_t i = 0; plan && i < plan_profile_count(plan); i++)
		(void)hold_image(plan, plan_profile(plan, i), text); /* a sandbox will fail */
}

/* --- paths ------------------------------------------------------------------------------------ */

/* The state of one walk over the plan. */
struct opening {
	const struct plan *plan;
	bool is_prepared; /* for the first pin: most plans have none */
	struct protected_set set;
	struct mounts mounts;
	const struct pins_trust *trust;
	struct pins *pins;
	char *text;
};

/* One record of a profile. */
struct record {
	uint32_t profile;
	uint32_t index;
	const struct plan_mount *mount;
	const char *path;
};

/* The line: where it was said, and what is wrong. */
static int refuse_record(const struct opening *opening, const struct record *record,
			 const char *problem)
{
	const struct plan *plan = opening->plan;
	const struct plan_origin *origin = &record->mount->origin;

	if (origin->file)
		format_text(opening->text, PINS_TEXT_MAX, "%.300s:%u: files: %s",
			    plan_string(plan, origin->file), origin->line, problem);
	else
		format_text(opening->text, PINS_TEXT_MAX, "profile %s: files: %s",
			    plan_string(plan, plan_profile(plan, record->profile)->name), problem);
	return -1;
}

/* There is a link in the path: say what it leads to. */
static int refuse_link(const struct opening *opening, const struct record *record)
{
	char text[SHOWN_TEXT_MAX];
	char real[IPC_PATH_MAX] = "";
	int fd FD_OWNED =
		kernel_openat2(AT_FDCWD, record->path, O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);

	if (fd >= 0 && shown_real_path(fd, real) == 0)
		format_text(
			text, sizeof(text),
			"'%.300s' is refused: a symbolic link is part of it, and can be made to "
			"lead elsewhere. Write the real path, '%.300s'",
			record->path, real);
	else
		format_text(text, sizeof(text),
			    "'%.300s' is refused: a symbolic link is part of it, which leads "
			    "nowhere now. Write the path of an existing file or folder",
			    record->path);
	return refuse_record(opening, record, text);
}

static int refuse_error(const struct opening *opening, const struct record *record, int error)
{
	char text[SHOWN_TEXT_MAX];
	const char *remedy = error == ENOENT && (record->mount->flags & PLAN_MACHINE)
				     ? ". 'msp vm prepare' makes a virtual machine"
			     : error == ENOENT || error == ENOTDIR
				     ? ". Make it, or add 'optional: true' to the entry"
			     : error == EACCES ? ". The account that msp runs as must reach it"
					       : "";

	if (error == ELOOP)
		return refuse_link(opening, record);
	format_text(text, sizeof(text), "'%.300s' cannot be opened: %s%s", record->path,
		    errno_text(error), remedy);
	return refuse_record(opening, record, text);
}

/* By the kernel's own name for it: what is written may have ".." in it. */
static int check_path(const struct opening *opening, int fd, const char *path,
		      enum protected_use use, char problem[SHOWN_TEXT_MAX])
{
	char real[IPC_PATH_MAX];
	const int error = shown_real_path(fd, real);

	if (!error)
		return shown_check(fd, real, use, &opening->mounts, &opening->set, problem);
	return format_fail(-1, problem, SHOWN_TEXT_MAX, "'%.300s' has no path of its own: %s", path,
			   errno_text(-error));
}

static bool is_writable(const struct plan_mount *mount)
{
	return mount->kind == PLAN_BIND && !(mount->attributes & MOUNT_ATTR_RDONLY);
}

/* Check this record's use of a file that may be shown. */
static int check_use(const struct opening *opening, const struct record *record, int fd)
{
	const struct plan_mount *mount = record->mount;
	struct stat status;
	struct statvfs system;
	const char *rule = NULL;
	char text[SHOWN_TEXT_MAX];

	if (fstat(fd, &status) != 0 || fstatvfs(fd, &system) != 0)
		return refuse_error(opening, record, errno);
	if (mount->kind == PLAN_OVERLAY && !S_ISDIR(status.st_mode))
		rule = "only a folder can be copy-on-write: for a file, show the folder that it is "
		       "in, or make it read-only";
	else if (mount->kind == PLAN_COPY && !S_ISREG(status.st_mode))
		rule = "only a regular file can be copied: for a folder, use kind bind";
	else if (mount->place != 0 && !S_ISDIR(status.st_mode))
		rule = "only a folder can be a place: for a file, leave out 'place'";
	else if (is_writable(mount) && (system.f_flag & ST_RDONLY))
		rule = "it cannot be writable, since its file system is mounted read-only: use "
		       "copy-on-write, or mount it writable";
	if (!rule && is_writable(mount) &&
	    check_path(opening, fd, record->path, PROTECTED_WRITTEN, text) != 0)
		return refuse_record(opening, record, text);
	if (!rule)
		return 0;
	format_text(text, sizeof(text), "'%.300s' is refused: %s", record->path, rule);
	return refuse_record(opening, record, text);
}

static int prepare_walk(struct opening *opening, char problem[SHOWN_TEXT_MAX])
{
	const int error = opening->is_prepared ? 0 : mounts_read(&opening->mounts);

	if (error)
		return format_fail(
			-1, problem, SHOWN_TEXT_MAX,
			"the mount table cannot be read (/proc/self/mountinfo: %s), so nothing "
			"can be compared with the protected paths",
			errno_text(-error));
	if (!opening->is_prepared)
		opening->set = protected_set_of(opening->plan);
	opening->is_prepared = true;
	return 0;
}

/* The first record that shows this path opens and checks it. Its descriptor; -1 with the line;
 * -ENOENT when there is nothing, which is for the caller to judge. */
static int open_path(struct opening *opening, const struct record *record)
{
	char problem[SHOWN_TEXT_MAX];
	int fd = kernel_openat2(AT_FDCWD, record->path, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : refuse_error(opening, record, errno);
	if (record->mount->flags &
	    PLAN_MACHINE) /* the state directory is protected, this is shown */
		return fd;
	if (prepare_walk(opening, problem) == 0 &&
	    check_path(opening, fd, record->path, PROTECTED_READ, problem) == 0)
		return fd;
	fd_close(&fd);
	return refuse_record(opening, record, problem);
}

static int find_opened(const struct opening *opening, const char *path)
{
	const struct plan *plan = opening->plan;

	for (uint32_t i = 0; i < opening->pins->count; i++) {
		const struct pin *pin = &opening->pins->list[i];
		const struct plan_mount *mount =
			&plan_mounts(plan, plan_profile(plan, pin->profile))[pin->mount];

		if (strcmp(plan_string(plan, mount->source), path) == 0)
			return pin->fd;
	}
	return -1;
}

/* Open the launcher's directory of certificates, unless the profile's secrets are missing. */
static int open_trust(const struct opening *opening, const struct record *record)
{
	const struct pins_trust *trust = opening->trust;
	int fd;

	if (trust->refused >> record->profile & 1)
		return format_fail(-1, opening->text, PINS_TEXT_MAX, "%s", trust->problem);
	fd = openat(trust->directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? refuse_error(opening, record, errno) : fd;
}

static int open_record(struct opening *opening, const struct record *record)
{
	const bool is_trust = record->mount->flags & PLAN_TRUST;
	const bool is_own = record->mount->flags & (PLAN_TRUST | PLAN_MACHINE);
	struct pins *pins = opening->pins;
	char problem[64];
	int fd = is_trust ? -1 : find_opened(opening, record->path);
	const bool is_new = fd < 0;

	if (is_trust && !opening->trust)
		return 0;
	if (is_new)
		fd = is_trust ? open_trust(opening, record) : open_path(opening, record);
	if (fd == -ENOENT && (record->mount->flags & PLAN_OPTIONAL))
		return 0;
	if (fd == -ENOENT)
		return refuse_error(opening, record, ENOENT);
	if (fd < 0)
		return -1;
	if (pins->count == PINS_MAX) {
		format_text(problem, sizeof(problem), "more than %d of them in all profiles",
			    PINS_MAX);
		(void)refuse_record(opening, record, problem);
	} else if (is_own || check_use(opening, record, fd) == 0) {
		pins->list[pins->count++] = (struct pin){ fd, record->profile, record->index };
		return 0;
	}
	if (is_new)
		fd_close(&fd);
	return -1;
}

static int open_profile(struct opening *opening, uint32_t index)
{
	const struct plan_profile *profile = plan_profile(opening->plan, index);
	const struct plan_mount *mounts = plan_mounts(opening->plan, profile);
	int result = hold_image(opening->plan, profile, opening->text);

	for (uint32_t i = 0; i < profile->mount_count && result == 0; i++) {
		const struct record record = { index, i, &mounts[i],
					       plan_string(opening->plan, mounts[i].source) };

		if ((mounts[i].flags & (PLAN_PINNED | PLAN_GIVEN)) == PLAN_PINNED)
			result = open_record(opening, &record);
	}
	return result;
}

/* Close the pins behind the first `count` ones, unless an earlier pin has the descriptor too. */
static void close_from(struct pins *pins, uint32_t count)
{
	while (pins->count > count) {
		struct pin *last = &pins->list[--pins->count];
		bool is_shared = false;

		for (uint32_t i = 0; i < pins->count && !is_shared; i++)
			is_shared = pins->list[i].fd == last->fd;
		if (!is_shared)
			fd_close(&last->fd);
	}
}

int pins_find_needed(const struct plan *plan, const char *needed)
{
	if (!needed)
		return -1;
	return plan_profile_find(
		plan, needed[0] ? needed : plan_string(plan, plan_header(plan)->default_profile));
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written through `opening` */
int pins_open(const struct plan *plan, const char *needed, const struct pins_trust *trust,
	      struct pins *ret, char text[PINS_TEXT_MAX])
{
	struct opening opening = { .plan = plan, .trust = trust, .pins = ret, .text = text };
	const int index = pins_find_needed(plan, needed);
	int result = 0;

	ret->count = 0;
	text[0] = '\0';
	for (uint32_t i = 0; i < plan_profile_count(plan) && result == 0; i++) {
		const uint32_t before = ret->count;

		if (open_profile(&opening, i) == 0)
			continue;
		close_from(ret, before);
		result = (int)i == index ? -1 : 0;
	}
	if (opening.is_prepared)
		mounts_done(&opening.mounts);
	if (result != 0)
		pins_close(ret);
	return result;
}

int pins_check(const struct plan *plan, char text[PINS_TEXT_MAX])
{
	static struct pins pins;

	(void)pins_open(plan, NULL, NULL, &pins, text); /* no profile is needed: it cannot fail */
	pins_close(&pins);
	return text[0] == '\0' ? 0 : -1;
}

void pins_close(struct pins *pins)
{
	close_from(pins, 0);
}
