/* SPDX-License-Identifier: Apache-2.0 */
#include "renewed.h"

#include <errno.h>
#include <stdio.h>

#include "common/fd.h"
#include "layers/beneath.h"

void renewed_base(const struct job_directories *directories, const char *path,
		  struct base_record *record)
{
	char below[sizeof(WORKSPACE_NAME "/") + IPC_PATH_MAX];
	struct stat status = { 0 };
	int file = -ENOENT;

	(void)snprintf(below, sizeof(below), WORKSPACE_NAME "/%s", path);
	for (uint32_t i = 0; i < directories->layer_count && file == -ENOENT; i++)
		file = beneath_file(directories->layers[i], below, &status);
	if (file < 0 || beneath_hash(file, record->hash) != 0)
		record->kind = BASE_UNKNOWN;
	fd_close(&file);
	record->length = (uint64_t)status.st_size;
	record->changed_ns = beneath_born(directories->host, path);
}
