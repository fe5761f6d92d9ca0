/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * The first process of a machine that msp-vm starts. It loads the modules that prepare packed
 * (modules.c), opens the port to msp-vm, mounts the sandbox's directories as msp-vm says
 * (root.c), starts the command as the user that it has in the sandbox (command.c), and copies
 * between the port and the command's pipes until all has ended (copy.c).
 *
 * It is everything of msp that is in the machine, and it is trusted with nothing: the wall is the
 * sandbox around QEMU. If it fails before the port is open, it says so on the console and ends,
 * upon which the kernel panics and QEMU ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"

#include "guest.h"

/* The time that devices take to appear, in steps of a millisecond. */
#define PORT_WAITS 20000

static int open_port(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < PORT_WAITS; i++) {
		const int fd = open(WIRE_FILE, O_RDWR | O_CLOEXEC);

		if (fd >= 0 || (errno != ENOENT && errno != ENXIO))
			return fd;
		(void)nanosleep(&pause, NULL);
	}
	return -1;
}

int main(void)
{
	struct guest guest = { .port = -1 };

	(void)mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
	(void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	modules_load("/modules");
	guest.port = open_port();
	if (guest.port < 0)
		return log_fail(1, "there is no port to msp-vm: %s", errno_text(errno));
	port_send(&guest, WIRE_READY, NULL, 0);
	request_read(&guest);
	command_start(&guest);
	copy_all(&guest);
	sync();
	port_send(&guest, WIRE_ENDED, &guest.ended, sizeof(guest.ended));
	(void)reboot(RB_POWER_OFF);
	for (;;)
		(void)pause();
}
