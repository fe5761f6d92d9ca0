/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: whatever a pack, its index, a loose object, a tree or packed-refs hold, reading them
 * ends and fails with an error, or gives an object that has the id that was asked for.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/reader/check.h"
#include "layers/reader/library.h"
#include "layers/reader/objects.h"
#include "layers/reader/refs.h"
#include "layers/reader/tree_names.h"
#include "layers/reader/walk.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOOSE_NAME "11/11111111111111111111111111111111111111"

/* In an index, behind its head and fanout. */
#define FIRST_ID (8 + 1024)

static char folder[] = "/tmp/msp-fuzz-commits-XXXXXX";

static const char *const names[] = {
	"pack/pack-1.idx", "pack/pack-1.pack", LOOSE_NAME, "pack", "11", ""
};

static void remove_all(void)
{
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)remove(path); /* there may be none */
	}
}

static void put(int root, const char *name, const uint8_t *data, size_t size)
{
	int file = openat(root, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(file >= 0 && fd_write_all(file, data, size) == 0);
	fd_close(&file);
}

static int make_folder(void)
{
	int root;

	must(library_load() == 0 && mkdtemp(folder) != NULL && atexit(remove_all) == 0);
	root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(root >= 0 && mkdirat(root, "pack", 0700) == 0 && mkdirat(root, "11", 0700) == 0);
	return root;
}

static int changed(void *context, const char *path, uint32_t mode, const char *target)
{
	(void)context;
	(void)mode;
	must(path[0] != '\0' && strlen(path) < IPC_PATH_MAX && (!target || target[0] != '\0'));
	return 0;
}

static int found(void *context, const uint8_t id[OBJECT_ID_BYTES], const struct object *object)
{
	uint8_t own[OBJECT_ID_BYTES];

	(void)context;
	must(library_hash(object->type, object->bytes, object->size, own) == 0 &&
	     memcmp(own, id, sizeof(own)) == 0);
	return 0;
}

static void read_all(int root, const uint8_t *data, size_t size)
{
	struct objects objects = { 0 };
	struct walk_known known = { 0 };
	struct walk walk = {
		.objects = &objects, .found = found, .changed = changed, .known = &known
	};
	struct object object;
	uint8_t id[OBJECT_ID_BYTES];
	uint64_t offset = 0;

	must(objects_add(&objects, fcntl(root, F_DUPFD_CLOEXEC, 0)) == 0 &&
	     objects_add(&objects, -1) == 0);
	memset(id, 0x11, sizeof(id));
	must(objects_read(&objects, id, &object) != 0); /* nobody finds a SHA-1 of these bytes */
	if (size >= FIRST_ID + sizeof(id))
		memcpy(id, data + FIRST_ID, sizeof(id));
	if (objects_read(&objects, id, &object) == 0)
		object_free(&object);
	(void)walk_run(&walk, id);
	memcpy(walk.bases[0], id, sizeof(id));
	(void)walk_run(&walk, id);
	walk_forget(&known);
	memcpy(&offset, data, size < 2 ? size : 2);
	for (size_t i = 0; i < objects.sources[0].packs.count; i++) {
		memset(&object, 0, sizeof(object));
		if (pack_read(&objects.sources[0].packs.all[i], offset, &object) == 0)
			object_free(&object);
	}
	objects_close(&objects);
}

static void read_texts(const uint8_t *data, size_t size)
{
	const uint8_t *at = data;
	struct tree_entry entry;
	uint8_t id[OBJECT_ID_BYTES];
	uint8_t *made;
	size_t made_size;
	char *text = malloc(size + 1);
	char *next = text;
	const char *name;

	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	while (tree_entry_read(&at, data + size, &entry) == 1)
		must(entry.name_size > 0 && !memchr(entry.name, '/', entry.name_size));
	for (uint32_t type = OBJECT_COMMIT; type < OBJECT_TYPE_COUNT; type++) {
		const struct object object = { type, (uint8_t *)text, size };

		if (check_head(&object) == 0 && type == OBJECT_TAG)
			(void)check_tagged(&object, OBJECT_COMMIT);
		(void)check_content(TREE_MODULES, &object);
		(void)check_content(TREE_ATTRIBUTES, &object);
	}
	(void)refs_parse(text, size, id);
	while (refs_next(&next, text + size, &name, id))
		must(refs_is_name(name) && !strstr(name, "..") && !strstr(name, "/."));
	if (pack_apply_delta(data, size / 2, data + size / 2, size - size / 2, &made, &made_size) ==
	    0)
		free(made);
	free(text);
}

/* The first byte says how the rest is shared between the files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int root = -1;
	size_t first;

	if (size < 2)
		return 0;
	if (root < 0)
		root = make_folder();
	first = (size - 1) * data[0] / 256;
	put(root, names[0], data + 1, first);
	put(root, names[1], data + 1 + first, size - 1 - first);
	put(root, names[2], data + 1, size - 1);
	read_all(root, data + 1, size - 1);
	read_texts(data + 1, size - 1);
	return 0;
}
