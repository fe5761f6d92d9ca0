/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/bridge_program.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_bridge.h"
#include "common/kernel.h"
#include "common/log.h"
#include "launcher/start/launch.h"

/* Behind the program's own descriptors. */
#define IMAGE_PLACE (BRIDGE_FD_PORT + 1)

/* Bridges of brokers, of one path opener or one client. */
#define HOSTED_MAX 64U

static uint32_t hosted;

static int bind_exactly(uint32_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons((uint16_t)port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = fd < 0 ? -errno : 0;

	/* Else connections of an earlier bridge that the kernel remembers would keep the port. */
	if (!error && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
		       bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0))
		error = -errno;
	return fd_unless(error, fd);
}

int bridge_port_bind(uint32_t port, bool is_exact)
{
	const int fd = bind_exactly(port);

	return (fd == -EADDRINUSE || fd == -EACCES) && !is_exact ? bind_exactly(0) : fd;
}

/* In the child, which ends with its peers. */
static void become_bridge(const int fds[IMAGE_PLACE + 1]) __attribute__((noreturn));
static void become_bridge(const int fds[IMAGE_PLACE + 1])
{
	static char name[] = "msp-bridge";
	char *const arguments[] = { name, NULL };
	char *const environment[] = { NULL };

	if (fd_place(fds, NULL, IMAGE_PLACE + 1, (1U << IMAGE_PLACE) - 1) == 0)
		(void)kernel_execute(IMAGE_PLACE, arguments, environment);
	_exit(MSP_EXIT_SOFTWARE); /* its peers see the end */
}

int bridge_program_start(int channel, int port)
{
	char text[LAUNCH_TEXT_MAX];
	int null FD_OWNED = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int error = null < 0 ? -errno : 0;
	int image FD_OWNED = launch_open_program("msp-bridge", text);
	const int fds[] = { null, null, STDERR_FILENO, channel, port, image };
	pid_t pid;

	if (image < 0)
		log_line("%s", text);
	if (image < 0 || error)
		return error ? error : -ENOENT;
	pid = fork();
	if (pid == 0)
		become_bridge(fds);
	return pid < 0 ? -errno : 0;
}

void bridge_program_host(uint32_t port, uint32_t host_port, int channel)
{
	const struct channel frontend = { channel, IPC_BRIDGE, IPC_FRONTEND, IPC_SERVE };
	struct ipc_bridge_ready ready = { .step = BRIDGE_STEP_LISTEN };
	int listener, error;

	while (hosted > 0 && waitpid(-1, NULL, WNOHANG) > 0)
		hosted--;
	listener = hosted < HOSTED_MAX
			   ? bridge_port_bind(host_port ? host_port : port, host_port != 0)
			   : -EUSERS;
	error = listener < 0 ? listener : bridge_program_start(channel, listener);
	fd_close(&listener);
	hosted += error == 0;
	ready.error = (uint32_t)-error;
	if (error) /* or it has gone */
		(void)channel_send(&frontend, IPC_TYPE_bridge_ready, &ready, NULL, MSG_DONTWAIT);
}

void bridge_program_await(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}
