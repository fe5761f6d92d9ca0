/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "vm/wire.h"

/* One line on the console for each, unless something is wrong. A panic ends QEMU. The defences of
 * this kernel against its own programs cost time and protect nothing: the wall is around QEMU. */
#define KERNEL_WORDS                                                                               \
	"console=ttyS0 quiet acpi=off tsc=reliable panic=-1 oops=panic rdinit=/init "              \
	"mitigations=off nokaslr audit=0 "                                                         \
	"random.trust_cpu=on 8250.nr_uarts=1 no_timer_check cryptomgr.notests"

/* Words of a machine, and those of each mount; their paths with each comma doubled. */
#define WORDS_MAX (48 + 4 * MOUNTS_MAX)
#define WORDS_ROOM (2 * IPC_PATH_MAX * (MOUNTS_MAX + 3) + 8192)

/* QEMU's arguments. */
struct words {
	char *list[WORDS_MAX];
	size_t count, used;
	char room[WORDS_ROOM];
};

static void put_word(struct words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void put_word(struct words *words, const char *format, ...)
{
	char *word = words->room + words->used;
	const size_t room = sizeof(words->room) - words->used;
	va_list list;
	int size;

	va_start(list, format);
	size = vsnprintf(word, room, format, list);
	va_end(list);
	if (size < 0 || (size_t)size >= room || words->count + 1 == WORDS_MAX)
		abort(); /* the two limits above are wrong */
	words->list[words->count++] = word;
	words->used += (size_t)size + 1;
}

/* Put an option, and its value as printf makes it. */
#define put_option(words, option, ...) (put_word((words), (option)), put_word((words), __VA_ARGS__))

/* Write a path as a value of QEMU's options: a comma is doubled. */
static void quote_path(const char *path, char ret[2 * IPC_PATH_MAX])
{
	size_t used = 0;

	for (; *path != '\0'; path++) {
		if (*path == ',')
			ret[used++] = ',';
		ret[used++] = *path;
	}
	ret[used] = '\0';
}

static void put_mounts(struct words *words, const struct mounts *mounts)
{
	char path[2 * IPC_PATH_MAX];

	for (uint32_t i = 0; i < mounts->count; i++) {
		const struct mount_entry *entry = &mounts->list[i];

		quote_path(entry->path, path);
		put_option(words, "-fsdev",
			   "local,id=f%u,path=%s,security_model=none,multidevs=remap%s", i, path,
			   entry->is_writable ? "" : ",readonly=on");
		put_option(words, "-device", "virtio-9p-pci,fsdev=f%u,mount_tag=" WIRE_TAG, i, i);
	}
}

static void put_machine(struct words *words, const struct machine_options *options, int port,
			int console)
{
	static const char *const fixed[] = { "-nodefaults", "-no-user-config",
					     "-no-reboot",  "-display",
					     "none",        "-monitor",
					     "none" };

	put_word(words, "%s", options->emulator);
	put_option(words, "-machine", "pc,usb=off,vmport=off,accel=%s",
		   options->has_kvm ? "kvm" : "tcg");
	/* With cmpxchg16b the emulation of QEMU 7.2 crashes in kernels since 6.12. */
	put_option(words, "-cpu", "%s", options->has_kvm ? "host" : "max,-cx16");
	put_option(words, "-m", "%u", options->memory_mb);
	put_option(words, "-smp", "%u", options->processors);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		put_word(words, "%s", fixed[i]);
	put_option(words, "-kernel", "%s/kernel", options->files);
	put_option(words, "-initrd", "%s/initramfs", options->files);
	put_option(words, "-append", KERNEL_WORDS);
	put_option(words, "-chardev", "socket,id=console,fd=%d", console);
	put_option(words, "-serial", "chardev:console");
	put_option(words, "-device", "virtio-serial-pci");
	put_option(words, "-chardev", "socket,id=port,fd=%d", port);
	put_option(words, "-device", "virtserialport,chardev=port,name=" WIRE_PORT);
}

static void execute_emulator(struct words *words, int port, int console)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const pid_t parent = getppid();
	sigset_t none;

	(void)sigemptyset(&none);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || fcntl(port, F_SETFD, 0) != 0 ||
	    fcntl(console, F_SETFD, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
	    getppid() != parent || setpgid(0, 0) != 0 || sigprocmask(SIG_SETMASK, &none, NULL) != 0)
		_exit(126);
	/* Its words come with the last lines of the kernel. */
	(void)dup2(console, STDOUT_FILENO);
	(void)dup2(console, STDERR_FILENO);
	words->list[words->count] = NULL;
	(void)execvp(words->list[0], words->list);
	log_line("%s cannot be executed: %s", words->list[0], errno_text(errno));
	_exit(126);
}

bool machine_start(const struct machine_options *options, const struct mounts *mounts,
		   struct machine *ret)
{
	static const struct timeval most = { .tv_sec = MACHINE_READ_S };
	static struct words words;
	int port[2], console[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, port) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, console) != 0)
		return log_fail(false, "a socket cannot be made: %s", errno_text(errno));
	(void)setsockopt(port[0], SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	words.count = words.used = 0;
	put_machine(&words, options, port[1], console[1]);
	put_mounts(&words, mounts);
	ret->emulator = fork();
	if (ret->emulator == 0)
		execute_emulator(&words, port[1], console[1]);
	(void)close(port[1]);
	(void)close(console[1]);
	ret->port = port[0];
	ret->console = console[0];
	if (ret->emulator < 0)
		log_line("a process cannot be made: %s", errno_text(errno));
	return ret->emulator > 0;
}

int machine_end(struct machine *machine, uint32_t wait_ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int status = 0;

	(void)close(machine->port);
	for (uint32_t i = 0; i < wait_ms; i++) {
		if (waitpid(machine->emulator, &status, WNOHANG) == machine->emulator)
			return status;
		(void)nanosleep(&pause, NULL);
	}
	(void)kill(machine->emulator, SIGKILL);
	while (waitpid(machine->emulator, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
