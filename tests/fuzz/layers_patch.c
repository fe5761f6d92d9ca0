/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: whatever two files hold and are called, the patch of one to the other ends, fits, and
 * has the new text in it: its lines with " " and "+" are the new file, those with " " and "-" the
 * old one. And no name puts a line of its own into a patch, or is held and not held when its
 * letters are large.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/held.h"
#include "layers/changes/gitdiff.h"
#include "layers/changes/patch.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct job_directories directories = { .journal = -1, .target = -1, .layer_count = 1 };

static char folder[] = "/tmp/msp-fuzz-patch-XXXXXX";

static void remove_places(void)
{
	static const char *const names[] = {
		"host/file", ("layer/" WORKSPACE_NAME "/file"),
		"host",      ("layer/" WORKSPACE_NAME),
		"layer",     "",
	};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)remove(path); /* there may be none */
	}
}

/* Once: a host's directory and a layer with the workspace in it. */
static int make_places(void)
{
	int root;

	must(gitdiff_load() == 0 && mkdtemp(folder) != NULL && atexit(remove_places) == 0);
	root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(root >= 0 && mkdirat(root, "host", 0700) == 0 && mkdirat(root, "layer", 0700) == 0 &&
	     mkdirat(root, "layer/" WORKSPACE_NAME, 0700) == 0);
	directories.host = openat(root, "host", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	directories.layers[0] = openat(root, "layer", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(directories.host >= 0 && directories.layers[0] >= 0);
	return openat(root, "layer/" WORKSPACE_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void put_file(int directory, const uint8_t *bytes, size_t size, struct stat *ret)
{
	int file = openat(directory, "file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	must(file >= 0 && fd_write_all(file, bytes, size) == 0 && fstat(file, ret) == 0);
	fd_close(&file);
}

/* A side's lines, as the hunks tell them; where everything is in one hunk, that is all of it. */
struct told {
	uint8_t *bytes;
	size_t size;
};

static void add(struct told *told, const uint8_t *bytes, size_t size)
{
	memcpy(told->bytes + told->size, bytes, size);
	told->size += size;
}

static void check_hunks(const struct patch *patch, size_t head, const uint8_t *old, size_t old_size,
			const uint8_t *now, size_t now_size)
{
	struct told sides[2] = { { malloc(patch->size + 1), 0 }, { malloc(patch->size + 1), 0 } };
	struct told *last[2] = { NULL, NULL };
	size_t hunks = 0;

	must(sides[0].bytes && sides[1].bytes);
	for (size_t at = head; at < patch->size;) {
		const uint8_t *line = patch->bytes + at;
		const uint8_t *end = memchr(line, '\n', patch->size - at);
		const size_t size = end ? (size_t)(end - line) + 1 : patch->size - at;

		must(end != NULL && strchr(" +-@\\", line[0]) != NULL);
		hunks += line[0] == '@';
		if (line[0] == '\\') {
			for (int side = 0; side < 2; side++) {
				if (last[side])
					last[side]->size--; /* the end of the line before */
			}
		} else if (line[0] != '@') {
			last[0] = line[0] != '+' ? &sides[0] : NULL;
			last[1] = line[0] != '-' ? &sides[1] : NULL;
			for (int side = 0; side < 2; side++) {
				if (last[side])
					add(last[side], line + 1, size - 1);
			}
		}
		at += size;
	}
	if (hunks == 1 && (old_size == 0 || now_size == 0)) {
		must(sides[0].size == old_size && memcmp(sides[0].bytes, old, old_size) == 0);
		must(sides[1].size == now_size && memcmp(sides[1].bytes, now, now_size) == 0);
	}
	must(sides[0].size <= old_size && sides[1].size <= now_size);
	free(sides[0].bytes);
	free(sides[1].bytes);
}

static void try_content(int upper, const uint8_t *old, size_t old_size, const uint8_t *now,
			size_t now_size)
{
	struct difference difference = { .kind = CHANGE_MODIFIED, .path = "file" };
	struct patch patch = { 0 };

	put_file(directories.host, old, old_size, &difference.old);
	put_file(upper, now, now_size, &difference.now);
	must(patch_make(&directories, &difference, &patch) == 0);
	if (patch.size > 0) {
		const uint8_t *hunk =
			memmem(patch.bytes, patch.size, "+++ b/file\n", strlen("+++ b/file\n"));

		must(patch.flags == 0 && hunk != NULL);
		check_hunks(&patch, (size_t)(hunk - patch.bytes) + strlen("+++ b/file\n"), old,
			    old_size, now, now_size);
	}
	patch_free(&patch);
}

/* Its head is of so many lines, and no byte of it could steer a terminal. */
static void try_name(const char *name)
{
	struct difference difference = { .kind = CHANGE_RENAMED };
	struct patch patch = { 0 };
	size_t lines = 0;

	(void)stpncpy(difference.path, name, sizeof(difference.path) - 1);
	(void)stpncpy(difference.old_path, "old", sizeof(difference.old_path) - 1);
	difference.old.st_mode = difference.now.st_mode = S_IFREG | 0644;
	must(patch_make(&directories, &difference, &patch) == 0);
	for (size_t i = 0; i < patch.size; i++) {
		lines += patch.bytes[i] == '\n';
		must(patch.bytes[i] == '\n' || (patch.bytes[i] >= ' ' && patch.bytes[i] < 0x7f));
	}
	must(lines == 4);
	patch_free(&patch);
}

static void try_held(const char *name)
{
	char upper[IPC_PATH_MAX];
	size_t size = 0;

	for (; name[size]; size++)
		upper[size] = (char)toupper((unsigned char)name[size]);
	upper[size] = '\0';
	must(held_is_path(name, "", 0, false) == held_is_path(upper, "", 0, false));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int upper = -1;
	struct input input = { data, size };
	char name[300] = "";
	const uint8_t *part;
	size_t part_size, old_size;

	if (upper < 0)
		upper = make_places();
	part = input_part(&input, &part_size);
	for (size_t i = 0; i < part_size; i++)
		name[i] = part[i] ? (char)part[i] : 'z';
	if (part_size > 0 && strcmp(name, "old") != 0)
		try_name(name);
	try_held(name);
	old_size = (size_t)input_byte(&input) * (input.size + 1) / 256;
	old_size = old_size < input.size ? old_size : input.size;
	try_content(upper, input.bytes, old_size, input.bytes + old_size, input.size - old_size);
	return 0;
}
