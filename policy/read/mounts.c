/* SPDX-License-Identifier: Apache-2.0
 *
 * The entries of `files`: the keys of each kind, and a check that the tree can be built. The init
 * makes the entries in order and makes no parents, so the plan has every directory on the way: the
 * directories that a file does not mention are added here.
 */
#include "common/plan/plan.h"
#include "lib/heap/memory.h"
#include "policy/read/profile_parts.h"
#include "policy/read/units.h"
#include "policy/read/values.h"

#include <linux/mount.h>
#include <stddef.h>
#include <string.h>
#include <sys/sysmacros.h>

/* The bit of a key of an entry. */
#define BIT(key) (1U << (KEY_files_##key - KEY_files_at))

/* The directory of the virtual machine that `msp vm prepare` made; the launcher knows where it is.
 */
#define MACHINE_SOURCE "/@vm"

/* A smaller tmpfs is a mistake in the unit. */
#define SIZE_LEAST 65536U

struct kind {
	const char *name;
	uint32_t phase;
	unsigned int needed;
	unsigned int allowed;
	uint32_t mode; /* the default */
};

/* clang-format off */
static const struct kind kinds[PLAN_MOUNT_KIND_COUNT] = {
	[PLAN_DIRECTORY] = { "directory", PLAN_PHASE_BASE, 0, BIT(mode) | BIT(place), 0755 },
	[PLAN_SYMLINK] = { "symlink", PLAN_PHASE_BASE, BIT(to), 0, 0 },
	[PLAN_FILE] = { "file", PLAN_PHASE_BASE, BIT(text), BIT(mode), 0644 },
	[PLAN_COPY] = { "copy", PLAN_PHASE_BASE, 0, BIT(from) | BIT(optional) | BIT(mode), 0444 },
	[PLAN_BIND] = { "bind", PLAN_PHASE_BASE, 0,
		BIT(access) | BIT(from) | BIT(optional) | BIT(noexec) | BIT(place), 0 },
	[PLAN_DEVICE] = { "device", PLAN_PHASE_BASE, BIT(device), BIT(from) | BIT(optional), 0 },
	[PLAN_TMPFS] = { "tmpfs", PLAN_PHASE_SANDBOX, BIT(size) | BIT(inodes) | BIT(mode),
		BIT(noexec) | BIT(place), 0 },
	[PLAN_PROC] = { "proc", PLAN_PHASE_SANDBOX, 0, 0, 0 },
	[PLAN_DEVPTS] = { "devpts", PLAN_PHASE_SANDBOX, 0, 0, 0 },
	[PLAN_MASK] = { "mask", PLAN_PHASE_SANDBOX, 0, BIT(optional), 0 },
	/* A bind with access copy-on-write. */
	[PLAN_OVERLAY] = { "bind", PLAN_PHASE_SANDBOX, BIT(access) | BIT(size) | BIT(inodes),
		BIT(from) | BIT(optional) | BIT(noexec), 0755 },
	/* No entry of a file: image.c adds it. */
	[PLAN_IMAGE] = { "image", PLAN_PHASE_BASE, 0, 0, 0755 },
};
/* clang-format on */

static const char kind_names[] =
	"directory, symlink, file, copy, bind, device, tmpfs, proc, devpts or mask";

/* One entry being read. */
struct entry {
	const struct reading *reading;
	struct profile_mount mount;
};

static int fail_key(const struct entry *entry, const char *key, const char *problem,
		    const char *value)
{
	return reading_fail(entry->reading, key, "\"%s\" %s", value, problem);
}

static const char *value_of(const struct entry *entry, const char *key)
{
	return node_text(entry->reading->said, key);
}

const char *profile_mount_kind_name(uint32_t kind)
{
	return kinds[kind].name;
}

static int read_target(struct entry *entry)
{
	const char *at = value_of(entry, "at");

	if (at == NULL)
		return reading_fail(entry->reading, "at",
				    "missing; expected a path in the sandbox");
	if (!reading_is_path(at))
		return fail_key(entry, "at", "is not a path; expected " READING_PATH, at);
	if (reading_is_again(entry->reading, "at"))
		return fail_key(entry, "at", "has an entry already; expected one", at);
	entry->mount.origin = reading_origin(entry->reading, "at");
	return 0;
}

static void set_kind(struct entry *entry, uint32_t kind)
{
	entry->mount.kind = kind;
	entry->mount.phase = kinds[kind].phase;
	entry->mount.mode = kinds[kind].mode;
}

static int read_kind(struct entry *entry)
{
	const char *copied = key_table[KEY_files_access].words[MOUNT_COPY];
	const char *name = value_of(entry, "kind"), *access = value_of(entry, "access");

	for (uint32_t i = 1; name != NULL && i < PLAN_IMAGE; i++) {
		if (strcmp(kinds[i].name, name) == 0) {
			set_kind(entry,
				 i == PLAN_BIND && access != NULL && strcmp(access, copied) == 0
					 ? PLAN_OVERLAY
					 : i);
			return 0;
		}
	}
	return reading_fail(entry->reading, "kind",
			    name != NULL ? "\"%s\" is not known; expected %s"
					 : "missing%s; expected %s",
			    name != NULL ? name : "", kind_names);
}

/* Return the access for messages about keys that depend on it. */
static const char *access_of(const struct entry *entry)
{
	if (entry->mount.kind == PLAN_OVERLAY)
		return " with access copy-on-write";
	return entry->mount.kind == PLAN_BIND ? " without access copy-on-write" : "";
}

static int check_keys(const struct entry *entry)
{
	const struct kind *kind = &kinds[entry->mount.kind];

	for (enum key_id i = KEY_files_at; i <= KEY_files_place; i++) { /* all of the set */
		const bool is_said = value_of(entry, key_table[i].name) != NULL;
		const unsigned int bit = 1U << (i - KEY_files_at);

		if (is_said && ((kind->needed | kind->allowed | BIT(at) | BIT(kind)) & bit) == 0)
			return reading_fail(entry->reading, key_table[i].name,
					    "does not belong to kind %s%s; expected no such key",
					    kind->name, access_of(entry));
		if (!is_said && (kind->needed & bit) != 0)
			return reading_fail(entry->reading, key_table[i].name,
					    "missing; expected a value, which kind %s%s needs",
					    kind->name, access_of(entry));
	}
	return 0;
}

static int read_source(struct entry *entry)
{
	const uint32_t kind = entry->mount.kind;
	const char *from = value_of(entry, "from");

	if (kind == PLAN_SYMLINK) {
		entry->mount.source = value_of(entry, "to");
		if (entry->mount.source[0] == '\0')
			return fail_key(entry, "to", "is empty; expected the link's text", "");
	} else if (kind == PLAN_FILE) {
		entry->mount.source = value_of(entry, "text");
	} else if (kind == PLAN_COPY || kind == PLAN_BIND || kind == PLAN_DEVICE ||
		   kind == PLAN_OVERLAY) {
		entry->mount.source = from != NULL ? from : entry->mount.target;
		if (!reading_is_path(entry->mount.source))
			return fail_key(entry, "from", "is not a path; expected " READING_PATH,
					entry->mount.source);
	}
	return 0;
}

static int read_device(struct entry *entry)
{
	const char *text = value_of(entry, "device");
	const char *colon = text != NULL ? strchr(text, ':') : NULL;
	uint64_t major_number, minor_number;
	char front[16] = "";

	if (text == NULL)
		return 0;
	if (colon != NULL && (size_t)(colon - text) < sizeof(front))
		memcpy(front, text, (size_t)(colon - text));
	if (colon == NULL || !units_number(front, &major_number) ||
	    !units_number(colon + 1, &minor_number) || major_number > 4095 ||
	    minor_number > 1048575)
		return fail_key(entry, "device",
				"is not a device number; expected MAJOR:MINOR, such as 1:3", text);
	entry->mount.device = makedev((unsigned int)major_number, (unsigned int)minor_number);
	return 0;
}

static int read_sizes(struct entry *entry)
{
	const char *mode = value_of(entry, "mode"), *size = value_of(entry, "size"),
		   *inodes = value_of(entry, "inodes");
	struct profile_mount *mount = &entry->mount;

	if (mode != NULL && !units_mode(mode, &mount->mode))
		return fail_key(entry, "mode", "is not a mode; expected octal digits, such as 0755",
				mode);
	if ((mount->mode & 06000) != 0)
		return fail_key(entry, "mode",
				"has set-ID bits, which no file of a sandbox has; expected at "
				"most 1777",
				mode);
	if (size != NULL &&
	    (!units_size(size, &mount->size_bytes) || mount->size_bytes < SIZE_LEAST))
		return fail_key(entry, "size",
				"is not understood or too small; expected a size of at least "
				"64K, such as 256M",
				size);
	/* 0 would mean "no limit" to the kernel. */
	if (inodes != NULL && (!units_size(inodes, &mount->inodes) || mount->inodes < 16))
		return fail_key(entry, "inodes",
				"is not understood or too small; expected a number of at least "
				"16, such as 64K",
				inodes);
	return 0;
}

static int check_place(const struct entry *entry)
{
	const char *place = entry->mount.place;
	const bool is_bind = entry->mount.kind == PLAN_BIND;

	if (place == NULL)
		return 0;
	if (!plan_is_place(place))
		return fail_key(entry, "place",
				"is not the name of a place; expected up to 31 of a-z, 0-9 and -, "
				"beginning with a letter, other than base and work-...",
				place);
	if (entry->mount.is_writable)
		return fail_key(entry, "place",
				"keeps nothing where the host's files are changed; expected access "
				"read-only, or no place",
				place);
	if ((entry->mount.flags & PLAN_OPTIONAL) != 0)
		return fail_key(entry, "place",
				"cannot be where the entry is optional; expected one of the two",
				place);
	if ((strcmp(place, PLAN_PLACE_GIT) == 0) != (entry->mount.kind == PLAN_DIRECTORY))
		return fail_key(entry, "place",
				"is no place of this kind: git, for git's data outside of a "
				"workspace, is one of kind directory, and each other place is not",
				place);
	if (is_bind && strcmp(place, PLAN_PLACE_WORKSPACE) == 0)
		return fail_key(entry, "place",
				"is where a directory of the host is shown that a request names; "
				"expected kind tmpfs, or another name",
				place);
	return 0;
}

static int put_entry(const struct entry *entry)
{
	struct profile *profile = entry->reading->profile;
	uint32_t place = 0;

	while (place < profile->mount_count &&
	       strcmp(profile->mounts[place].target, entry->mount.target) != 0)
		place++;
	if (place == PROFILE_MOUNTS_MAX)
		return fail_key(entry, "at", "is one entry too many; expected at most 128",
				entry->mount.target);
	profile->mounts[place] = entry->mount;
	if (place == profile->mount_count)
		profile->mount_count++;
	return 0;
}

/* Return whether the operator's file, not a built-in profile, names a path of the host. Such a path
 * is checked again on the machine, before anything is mounted. */
static bool is_operators(const struct entry *entry)
{
	const uint32_t kind = entry->mount.kind;

	return !entry->reading->place.is_builtin &&
	       (kind == PLAN_BIND || kind == PLAN_COPY || kind == PLAN_OVERLAY);
}

/* Return the flags of an entry that shows a directory of msp's own; else 0. */
static uint32_t own_flags(const struct profile_mount *mount)
{
	if (mount->kind != PLAN_BIND || mount->is_writable)
		return 0;
	return strcmp(mount->source, MACHINE_SOURCE) == 0         ? PLAN_PINNED | PLAN_MACHINE
	       : strcmp(mount->source, PLAN_PACKAGES_SOURCE) == 0 ? PLAN_PACKAGES
								  : 0;
}

static int apply_entry(struct entry *entry)
{
	if (read_target(entry) != 0 || read_kind(entry) != 0 || check_keys(entry) != 0 ||
	    values_read(entry->reading, SET_files, &entry->mount) != 0 || read_source(entry) != 0 ||
	    read_device(entry) != 0 || read_sizes(entry) != 0)
		return -1;
	entry->mount.is_writable = entry->mount.access == MOUNT_WRITE;
	entry->mount.flags = entry->mount.is_optional ? PLAN_OPTIONAL : 0;
	entry->mount.is_builtin = entry->reading->place.is_builtin;
	if (is_operators(entry))
		entry->mount.flags |= PLAN_PINNED;
	entry->mount.flags |= own_flags(&entry->mount);
	return check_place(entry) != 0 ? -1 : put_entry(entry);
}

static int read_entry(const struct reading *reading)
{
	struct entry entry = { .reading = reading };

	return apply_entry(&entry);
}

int mounts_apply(const struct reading *reading)
{
	return reading_each(reading, "files", read_entry);
}

/* Find the last entry of the path: the last mount hides the earlier ones. */
static const struct profile_mount *find_length(const struct profile_mount *mounts, uint32_t count,
					       const char *path, size_t length)
{
	for (uint32_t i = count; i > 0; i--) {
		const char *target = mounts[i - 1].target;

		if (strlen(target) == length && memcmp(target, path, length) == 0)
			return &mounts[i - 1];
	}
	return NULL;
}

const struct profile_mount *mounts_around(const struct profile *profile, const char *path)
{
	const struct profile_mount *found = NULL;

	for (size_t length = strlen(path); length > 0 && found == NULL; length--) {
		if (path[length] == '\0' || path[length] == '/')
			found = find_length(profile->mounts, profile->mount_count, path, length);
	}
	return found;
}

/* The entries in the order in which the init makes them. */
struct building {
	const struct reading *reading;
	uint32_t count;
	struct profile_mount made[PROFILE_MOUNTS_MAX];
};

static int fail_build(const struct building *building, const struct profile_mount *mount,
		      const char *problem, const char *other)
{
	const struct node *said = node_find(building->reading->said, "files");
	char key[KEY_MAX] = "files";

	/* An inherited entry has no line of its own. */
	for (uint32_t i = 0; said != NULL && i < said->count; i++) {
		if (strcmp(node_text(&said->items[i], "at"), mount->target) == 0)
			(void)reading_key(key, "files", i, "at");
	}
	return reading_fail(building->reading, key, "%s: %s%s", mount->target, problem, other);
}

static int append_mount(struct building *building, const struct profile_mount *mount)
{
	if (building->count == PROFILE_MOUNTS_MAX)
		return fail_build(building, mount,
				  "too many entries, with the directories that they imply; "
				  "expected at most 128",
				  "");
	building->made[building->count++] = *mount;
	return 0;
}

static int append_directory(struct building *building, const struct profile_mount *mount,
			    size_t length)
{
	struct profile *profile = building->reading->profile;
	char *path;

	if (profile->owned_count == PROFILE_MOUNTS_MAX)
		return fail_build(building, mount,
				  "too many implied directories; expected at most 128", "");
	path = memory_text(mount->target, length);
	profile->owned[profile->owned_count++] = path;
	return append_mount(building, &(struct profile_mount){ .kind = PLAN_DIRECTORY,
							       .phase = PLAN_PHASE_BASE,
							       .mode = 0755,
							       .target = path,
							       .is_implied = true });
}

/* Return whether `mount` may be put into the directory or mount that `outer` makes. */
static bool is_fit(const struct profile_mount *outer, const struct profile_mount *mount)
{
	if (mount->kind == PLAN_MASK)
		return outer->kind == PLAN_PROC || outer->kind == PLAN_BIND ||
		       outer->kind == PLAN_OVERLAY;
	return outer->kind == PLAN_DIRECTORY;
}

static int build_parents(struct building *building, const struct profile_mount *mount)
{
	for (const char *slash = strchr(mount->target + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		const size_t length = (size_t)(slash - mount->target);
		const struct profile_mount *outer =
			find_length(building->made, building->count, mount->target, length);

		if (outer != NULL && mount->kind == PLAN_MASK && is_fit(outer, mount))
			return 0;
		if (outer != NULL && outer->kind != PLAN_DIRECTORY)
			return fail_build(
				building, mount,
				"nothing can be put there; expected a place that is not inside "
				"an entry of kind ",
				kinds[outer->kind].name);
		if (outer == NULL && append_directory(building, mount, length) != 0)
			return -1;
	}
	return mount->kind != PLAN_MASK
		       ? 0
		       : fail_build(building, mount,
				    "nothing to mask; expected a place inside proc or a bind", "");
}

/* Return whether a toolchain lies in a file system of the sandbox's own that keeps nothing, such as
 * /tmp: the sandbox makes the mount point there. */
static bool is_inside_own(const struct building *building, const struct profile_mount *mount)
{
	const struct profile_mount *outer = NULL;

	for (size_t length = strlen(mount->target); length > 0 && outer == NULL; length--) {
		if (mount->target[length] == '/')
			outer = find_length(building->made, building->count, mount->target, length);
	}
	return mount->is_toolchain && outer != NULL && outer->kind == PLAN_TMPFS &&
	       outer->place == NULL;
}

static int build_entry(struct building *building, const struct profile_mount *mount)
{
	struct profile_mount own = *mount;

	if (is_inside_own(building, mount)) {
		own.phase = PLAN_PHASE_SANDBOX;
		return append_mount(building, &own);
	}
	if (build_parents(building, mount) != 0)
		return -1;
	if (mount->phase == PLAN_PHASE_SANDBOX && mount->kind != PLAN_MASK &&
	    append_directory(building, mount, strlen(mount->target)) != 0)
		return -1;
	return append_mount(building, mount);
}

/* Make the working directory of a profile with an image unless it lies in something mounted. */
static int build_cwd(struct building *building)
{
	const struct profile *profile = building->reading->profile;
	const struct profile_mount cwd = { .target = profile->cwd };
	const struct profile_mount *around = mounts_around(profile, profile->cwd);

	if (around != NULL && around->kind != PLAN_DIRECTORY)
		return 0;
	return build_parents(building, &cwd) != 0
		       ? -1
		       : append_directory(building, &cwd, strlen(cwd.target));
}

/* The base is read-only when a sandbox is made, so its mount points are made with the base. */
int mounts_check(const struct reading *reading)
{
	struct profile *profile = reading->profile;
	struct building building = { .reading = reading };

	const bool has_image = profile->tree != NULL || profile_has_system(profile);
	const bool is_own =
		profile_has_system(profile) || (profile->tree != NULL && profile->is_root_writable);

	if (has_image)
		building.made[building.count++] = image_mount(profile);
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		image_settle_system(profile, &profile->mounts[i]);
		profile->mounts[i].phase = kinds[profile->mounts[i].kind].phase;
		if (build_entry(&building, &profile->mounts[i]) != 0)
			return -1;
	}
	if (profile->image != NULL && build_cwd(&building) != 0)
		return -1;
	/* A root that each sandbox writes is made in it, with all that is there. */
	for (uint32_t i = 0; is_own && i < building.count; i++)
		building.made[i].phase = PLAN_PHASE_SANDBOX;
	memcpy(profile->mounts, building.made, sizeof(building.made));
	profile->mount_count = building.count;
	return 0;
}

uint64_t mounts_attributes(const struct profile_mount *mount)
{
	static const uint64_t of_kind[PLAN_MOUNT_KIND_COUNT] = {
		[PLAN_BIND] = MOUNT_ATTR_NODEV,
		[PLAN_DEVICE] = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC,
		[PLAN_TMPFS] = MOUNT_ATTR_NODEV,
		[PLAN_PROC] = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
		[PLAN_DEVPTS] = MOUNT_ATTR_NOEXEC,
		[PLAN_MASK] = MOUNT_ATTR_RDONLY,
		[PLAN_OVERLAY] = MOUNT_ATTR_NODEV,
		[PLAN_IMAGE] = MOUNT_ATTR_NODEV,
	};
	uint64_t attributes = of_kind[mount->kind] | MOUNT_ATTR_NOSUID;

	if (mount->is_noexec)
		attributes |= MOUNT_ATTR_NOEXEC;
	if (mount->kind == PLAN_BIND && !mount->is_writable)
		attributes |= MOUNT_ATTR_RDONLY;
	return attributes;
}
