/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: an index that git_index_read() takes names files in order, and each of them, and each
 * directory above one, is found; a name that is in none of them is not. An index that index_edit()
 * has made is its own edit.
 */
#include "layers/ignored/git_index.h"
#include "layers/branches/index_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_directories(const struct git_index *index, const char *name)
{
	char directory[IPC_PATH_MAX];

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		memcpy(directory, name, (size_t)(slash - name));
		directory[slash - name] = '\0';
		must(git_index_has(index, directory));
	}
}

/* An edit that changes nothing has names in order, and makes the same of its own result. */
static void edit(const uint8_t *data, size_t size)
{
	struct git_index index;
	uint8_t *once, *twice;
	size_t once_size, twice_size;

	if (index_edit(data, size, NULL, 0, &once, &once_size) != 0)
		return;
	must(git_index_read(&index, once, once_size) == 0);
	must(index_edit(once, once_size, NULL, 0, &twice, &twice_size) == 0);
	must(once_size == twice_size && memcmp(once, twice, once_size) == 0);
	git_index_free(&index);
	free(once);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct git_index index;
	const char *last = "";

	edit(data, size);

	if (git_index_read(&index, data, size) != 0) {
		must(index.names == NULL && index.starts == NULL && index.count == 0);
		return 0;
	}
	for (size_t i = 0; i < index.count; i++) {
		const char *name = index.names + index.starts[i];
		char longer[IPC_PATH_MAX + 8];

		must(*name && strlen(name) < IPC_PATH_MAX && strcmp(last, name) <= 0);
		must(git_index_has(&index, name));
		find_directories(&index, name);
		(void)snprintf(longer, sizeof(longer), "%s\001", name);
		if (i + 1 == index.count)
			must(!git_index_has(&index, longer));
		last = name;
	}
	git_index_free(&index);
	return 0;
}
