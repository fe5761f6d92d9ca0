/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/machine_place.h"

#include <string.h>
#include <unistd.h>

#include "common/text/format.h"
#include "launcher/host/state_place.h"

bool machine_place_find(char ret[IPC_PATH_MAX])
{
	char directory[IPC_PATH_MAX], link[2 * IPC_PATH_MAX], name[IPC_NAME_MAX];
	char text[STATE_PLACE_TEXT_MAX];
	ssize_t size;

	if (!state_place_find(STATE_PLACE_MACHINES, directory, text))
		return false;
	format_text(link, sizeof(link), "%s/" MACHINE_CURRENT, directory);
	size = readlink(link, name, sizeof(name) - 1);
	if (size <= 0 || memchr(name, '/', (size_t)size))
		return false;
	name[size] = '\0';
	if (strlen(directory) + (size_t)size + 2 > IPC_PATH_MAX)
		return false;
	format_text(ret, IPC_PATH_MAX, "%s/%s", directory, name);
	return true;
}
