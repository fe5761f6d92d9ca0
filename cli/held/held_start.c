/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "held/held.h"
#include "held/holder.h"
#include "held/wire.h"

#define ROWS 24
#define COLUMNS 80

int held_start(const struct execute *what, const struct background_way *way,
	       struct background_start *ret)
{
	struct winsize size = { 0 };
	struct execute held = *what;
	struct background_way ours = way ? *way : (struct background_way){ 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
		size = (struct winsize){ .ws_row = ROWS, .ws_col = COLUMNS };
	held.size = &size;
	ours.held = holder_of(&size);
	return background_start(&held, &ours, ret);
}

bool held_is(const struct background *command)
{
	struct stat status;

	return fstatat(command->directory, WIRE_SOCKET, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISSOCK(status.st_mode);
}
