/* SPDX-License-Identifier: Apache-2.0
 *
 * The control: the acts of hostile_acts.c by an ordinary process; with an argument those on a
 * socket, which is standard input.
 */
#include "hostile_acts.h"

#include <fcntl.h>

int main(int argc, char **argv)
{
	(void)argv;
	hostile_read_config();
	(void)open("/usr", O_RDONLY | O_DIRECTORY); /* as a program is handed one */
	if (argc > 1)
		hostile_try_socket("outside", 0);
	else
		hostile_try_all("outside", "outside");
	return 0;
}
