/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/stack.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/fd.h"
#include "common/kernel.h"

static void set_add(struct stack_set *set, uint32_t source)
{
	set->bits[source / 64] |= UINT64_C(1) << (source % 64);
}

static bool set_has(const struct stack_set *set, uint32_t source)
{
	return (set->bits[source / 64] >> (source % 64)) & 1;
}

bool stack_is_equal(const struct stack_set *left, const struct stack_set *right)
{
	return memcmp(left, right, sizeof(*left)) == 0;
}

struct stack_set stack_all(const struct stack_side *side)
{
	struct stack_set set = { { 0 } };

	for (uint32_t i = 0; i < side->count; i++)
		set_add(&set, side->sources[i]);
	return set;
}

/* The source that is this directory, which is taken over. Its index or -errno. */
static int add_source(struct stack *stack, int directory)
{
	struct stat status, other;

	if (fstat(directory, &status) != 0)
		return -errno;
	for (uint32_t i = 0; i < stack->count; i++) {
		if (fstat(stack->roots[i], &other) != 0)
			return -errno;
		if (other.st_dev == status.st_dev && other.st_ino == status.st_ino) {
			fd_close(&directory);
			return (int)i;
		}
	}
	stack->roots[stack->count] = directory;
	return (int)stack->count++;
}

/* A layer without the place has nothing to say. */
static int add_to_side(struct stack *stack, struct stack_side *side, int directory,
		       const char *path, uint32_t layer)
{
	int place = beneath_directory(directory, path);
	int source;

	if (place == -ENOENT)
		return 0;
	if (place < 0)
		return place;
	source = add_source(stack, place);
	if (source < 0) {
		fd_close(&place);
		return source;
	}
	side->sources[side->count] = (uint16_t)source;
	side->layers[side->count++] = (int)layer;
	return 0;
}

static int open_side(struct stack *stack, struct stack_side *side, const int *layers,
		     uint32_t count, int host)
{
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++)
		error = add_to_side(stack, side, layers[i], WORKSPACE_NAME, i);
	if (!error && host >= 0)
		error = add_to_side(stack, side, host, "", count);
	return error;
}

int stack_open(struct stack *stack, const struct job_directories *directories)
{
	int error;

	memset(stack, 0, sizeof(*stack));
	for (uint32_t i = 0; i < STACK_SOURCES_MAX; i++)
		stack->roots[i] = stack->entered[i] = -1;
	error = open_side(stack, &stack->now, directories->layers, directories->layer_count,
			  directories->host);
	if (!error)
		error = open_side(stack, &stack->old, directories->since, directories->since_count,
				  directories->host);
	if (error)
		stack_close(stack);
	return error;
}

void stack_close(struct stack *stack)
{
	stack_leave(stack);
	fd_close_all(stack->roots, stack->count);
	stack->count = 0;
}

char stack_opaque_mark(int directory)
{
	char value = '\0';

	return fgetxattr(directory, "user.overlay.opaque", &value, 1) == 1 ? value : '\0';
}

int stack_enter(struct stack *stack, const char *path, const struct stack_set *now,
		const struct stack_set *old)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		int directory;

		if (!set_has(now, i) && !set_has(old, i))
			continue;
		directory = beneath_directory(stack->roots[i], path);
		if (directory == -ENOENT || directory == -ESTALE)
			continue;
		if (directory < 0) {
			stack_leave(stack);
			return directory;
		}
		stack->entered[i] = directory;
		stack->has_marked_files[i] = stack_opaque_mark(directory) == 'x';
	}
	return 0;
}

void stack_leave(struct stack *stack)
{
	fd_close_all(stack->entered, stack->count);
}

/* List a set in the order of a side. Return how many there are. */
static uint32_t list_set(const struct stack_side *side, const struct stack_set *set,
			 uint16_t ret[LAYERS_MAX + 1])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < side->count; i++) {
		if (set_has(set, side->sources[i]))
			ret[count++] = side->sources[i];
	}
	return count;
}

/* List names. Both sides show a common bottom alike, but for the names that lie above it. */
int stack_names(const struct stack *stack, const struct stack_set *now, const struct stack_set *old,
		struct beneath_names *ret)
{
	uint16_t lists[2][LAYERS_MAX + 1];
	uint32_t counts[2] = { list_set(&stack->now, now, lists[0]),
			       list_set(&stack->old, old, lists[1]) };
	int error = 0;

	while (counts[0] > 0 && counts[1] > 0 &&
	       lists[0][counts[0] - 1] == lists[1][counts[1] - 1]) {
		counts[0]--;
		counts[1]--;
	}
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < counts[side] && !error; i++) {
			const int directory = stack->entered[lists[side][i]];

			/* One of both sides is read a second time from its beginning. */
			if (directory >= 0 && lseek(directory, 0, SEEK_SET) != 0)
				error = -errno;
			else if (directory >= 0)
				error = beneath_names_add(ret, directory, true);
		}
	}
	return error ? error : beneath_names_sort(ret);
}

/* An empty file with the mark, in a directory that says that there are such. */
static bool is_marked_file(int directory, const char *name)
{
	struct stat status;
	int file = beneath_file(directory, name, &status);
	const bool ret = file >= 0 && status.st_size == 0 &&
			 fgetxattr(file, "user.overlay.whiteout", NULL, 0) >= 0;

	fd_close(&file);
	return ret;
}

static bool is_whiteout(const struct stack *stack, uint32_t source, const char *name,
			const struct stat *status)
{
	if (S_ISCHR(status->st_mode))
		return status->st_rdev == 0;
	return stack->has_marked_files[source] && S_ISREG(status->st_mode) &&
	       status->st_size == 0 && is_marked_file(stack->entered[source], name);
}

/* Does this directory hide what lies below it? */
static int hides_below(int parent, const char *name, bool *ret)
{
	int directory = beneath_directory(parent, name);

	if (directory < 0)
		return directory;
	*ret = stack_opaque_mark(directory) == 'y';
	fd_close(&directory);
	return 0;
}

/* Take what one source has. Returns 1 when nothing below it counts. */
static int find_in(const struct stack *stack, uint32_t source, const char *name,
		   struct stack_entry *ret, bool *ret_is_first)
{
	const int parent = stack->entered[source];
	struct stat status;
	bool hides = false;
	int error;

	*ret_is_first = false;
	if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (is_whiteout(stack, source, name, &status))
		return 1;
	if (ret->status.st_mode != 0 && !S_ISDIR(status.st_mode))
		return 1; /* under a directory a file is hidden, with all that is below it */
	*ret_is_first = ret->status.st_mode == 0;
	if (*ret_is_first)
		ret->status = status;
	if (!S_ISDIR(status.st_mode))
		return 1;
	set_add(&ret->below, source);
	error = hides_below(parent, name, &hides);
	if (error == -ENOENT || error == -ESTALE) /* it has just become something else */
		return 1;
	if (error)
		ret->is_unreadable = true;
	return hides || error;
}

int stack_find(const struct stack *stack, const struct stack_side *side,
	       const struct stack_set *set, const char *name, struct stack_entry *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->layer = -1;
	for (uint32_t i = 0; i < side->count; i++) {
		const uint32_t source = side->sources[i];
		bool is_first;
		int status;

		if (!set_has(set, source) || stack->entered[source] < 0)
			continue;
		status = find_in(stack, source, name, ret, &is_first);
		if (status < 0)
			return status;
		if (is_first) {
			ret->layer = side->layers[i];
			ret->source = source;
		}
		if (status == 1)
			break;
	}
	return 0;
}
