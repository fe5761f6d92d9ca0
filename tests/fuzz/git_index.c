/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: an index that git_index_read() takes names files in order, and each of them, and each
 * directory above one, is found; a name that is in none of them is not.
 */
#include "ignored/git_index.h"

#include <stdio.h>
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct git_index index;
	const char *last = "";

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
