/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/directory.h"

#include <sys/stat.h>

bool directory_is_at(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}
