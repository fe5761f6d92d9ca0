/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-vm runs a command in a virtual machine of its own. It is a program of a sandbox, put before
 * each command of a profile by the key `runner`, and has no right that the command would not have:
 * what breaks out of QEMU is in the sandbox, as the command of another profile is.
 *
 * It finds what the sandbox lets it write (mounts.c), starts QEMU with a kernel and an initramfs
 * that `msp vm prepare` made (machine.c), and shows the machine the sandbox's root by 9p. The
 * machine's first process (guest/main.c) gets the command over a port of virtio-serial (wire.h),
 * and msp-vm copies what goes in and out (talk.c). Its exit code is the command's; if the machine
 * ends without one, that is an error.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"
#include "vm/machine.h"
#include "vm/mounts.h"
#include "vm/say.h"
#include "vm/talk.h"

#define MEMORY_MIN_MB 64
#define MEMORY_MAX_MB (1 << 20)
#define PROCESSORS_MAX 64

/* The time that QEMU has to end behind its machine. */
#define LAST_MS 5000

/* An emulated machine on a busy computer takes ten seconds. */
#define BOOT_MS_DEFAULT 60000

static const char help[] =
	"usage: msp-vm [OPTION]... [--] COMMAND [ARG]...\n"
	"Run a command in a virtual machine with an own kernel, which sees the files that\n"
	"this process sees, and no network. 'msp vm prepare' makes the kernel.\n"
	"\n"
	"  --memory SIZE    the machine's memory (512M)\n"
	"  --cpus N         its processors (1)\n"
	"  --files DIR      the directory of kernel and initramfs (that of msp-vm itself)\n"
	"  --emulator FILE  QEMU (qemu-system-x86_64)\n"
	"  --tcg            without KVM even where there is /dev/kvm\n"
	"  --boot-seconds N the time that the machine has to start (60)\n"
	"\n"
	"The exit code is the command's; 125 when the machine does not start, or ends\n"
	"without one; 64 when the command line is wrong.\n";

void say(const char *format, ...)
{
	char text[1024];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	(void)fprintf(stderr, "msp-vm: %s\n", text);
}

/* Read a number of the command line with an optional unit, of which `units` has the letters and
 * each is 1024 times the one before. */
static bool read_number(const char *text, const char *units, uint64_t most, uint64_t *ret)
{
	char *end;
	const char *unit;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno != 0 || end == text || text[0] < '0' || text[0] > '9')
		return false;
	unit = *end != '\0' ? strchr(units, *end) : NULL;
	if (*end != '\0' && (unit == NULL || end[1] != '\0'))
		return false;
	for (const char *at = units; unit != NULL && at < unit && *ret <= most; at++)
		*ret *= 1024;
	return *ret <= most;
}

static int refuse_value(const char *option, const char *value, const char *expected)
{
	say("%s: \"%s\" is not understood; expected %s", option, value, expected);
	return MSP_EXIT_USAGE;
}

/* Read the options. 0, or the exit code after a line; -1: help was printed. */
static int read_options(int argc, char *argv[], struct machine_options *options, uint32_t *boot_ms)
{
	static const struct option known[] = {
		{ "memory", required_argument, NULL, 'm' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "files", required_argument, NULL, 'f' },
		{ "tcg", no_argument, NULL, 't' },
		{ "emulator", required_argument, NULL, 'e' },
		{ "boot-seconds", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t number;
	int letter;

	while ((letter = getopt_long(argc, argv, "+", known, NULL)) != -1) {
		switch (letter) {
		case 'm':
			if (!read_number(optarg, "MG", MEMORY_MAX_MB, &number) ||
			    number < MEMORY_MIN_MB)
				return refuse_value("--memory", optarg,
						    "a size from 64M, such as 512M");
			options->memory_mb = (uint32_t)number;
			break;
		case 'c':
			if (!read_number(optarg, "", PROCESSORS_MAX, &number) || number == 0)
				return refuse_value("--cpus", optarg, "a number from 1 to 64");
			options->processors = (uint32_t)number;
			break;
		case 'b':
			if (!read_number(optarg, "", 3600, &number) || number == 0)
				return refuse_value("--boot-seconds", optarg,
						    "a number from 1 to 3600");
			*boot_ms = (uint32_t)number * 1000;
			break;
		case 'f':
			options->files = optarg;
			break;
		case 'e':
			options->emulator = optarg;
			break;
		case 't':
			options->is_emulated = true;
			break;
		case 'h':
			(void)fputs(help, stdout);
			return -1;
		default:
			return MSP_EXIT_USAGE; /* getopt has said why */
		}
	}
	if (optind < argc)
		return 0;
	say("no command; expected msp-vm [OPTION]... [--] COMMAND [ARG]...");
	return MSP_EXIT_USAGE;
}

/* Take this program's directory for that of kernel and initramfs. */
static bool find_files(char ret[IPC_PATH_MAX])
{
	const ssize_t size = readlink("/proc/self/exe", ret, IPC_PATH_MAX - 1);
	char *end;

	if (size <= 0)
		return false;
	ret[size] = '\0';
	end = strrchr(ret, '/');
	if (end != NULL)
		*end = '\0';
	return end != NULL;
}

static bool check_files(const struct machine_options *options)
{
	static const char *const names[] = { "kernel", "initramfs" };
	char path[IPC_PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", options->files, names[i]);
		if (access(path, R_OK) != 0) {
			say("%s: %s. 'msp vm prepare', outside of the sandbox, makes it", path,
			    errno_text(errno));
			return false;
		}
	}
	return true;
}

/* Print the end of what QEMU and the kernel said. */
static void print_console(const struct talk *talk)
{
	char line[TALK_CONSOLE_MAX + 1];
	uint32_t used = 0;

	for (uint32_t i = 0; i < talk->console_size; i++) {
		const char byte = talk->console[i];

		if (byte == '\n' || (byte >= ' ' && byte < 127))
			line[used++] = byte;
	}
	line[used] = '\0';
	if (used > 0)
		(void)fprintf(stderr, "%s%s", line, line[used - 1] == '\n' ? "" : "\n");
}

/* Say how a machine ended that has no exit code. */
static int explain_end(const struct talk *talk, int status)
{
	if (talk->is_failed)
		say("the machine could not start the command: %s: %s", talk->failed.act,
		    errno_text((int)talk->failed.error));
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
		say("QEMU was not started; 'apt-get install qemu-system-x86' installs it");
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		say("QEMU has failed with code %d; its last words:", WEXITSTATUS(status));
	else if (WIFEXITED(status))
		say("the machine has crashed before the command ended; its last words:");
	else if (talk->is_late)
		say("the machine did not start in %u seconds; its last words:",
		    talk->boot_ms / 1000);
	else
		say("the machine was lost (QEMU was killed by signal %d); its last words:",
		    WTERMSIG(status));
	print_console(talk);
	return MSP_EXIT_SANDBOX;
}

/* End as the command did. */
static int end_likewise(const struct wire_ended *ended)
{
	if (ended->signal == 0)
		return (int)(ended->code & 0xff);
	(void)signal((int)ended->signal, SIG_DFL);
	(void)raise((int)ended->signal);
	return 128 + (int)ended->signal; /* it is blocked, or ends nothing */
}

int main(int argc, char *argv[])
{
	static struct mounts mounts;
	static struct talk talk;
	static char files[IPC_PATH_MAX];
	struct machine_options options = { .emulator = "qemu-system-x86_64",
					   .memory_mb = 512,
					   .processors = 1 };
	struct machine machine;
	bool is_good;
	int status;
	int code = read_options(argc, argv, &options, &talk.boot_ms);

	if (code != 0)
		return code < 0 ? 0 : code;
	if (options.files == NULL && find_files(files))
		options.files = files;
	if (options.files == NULL || !check_files(&options) || !mounts_find(&mounts))
		return MSP_EXIT_SANDBOX;
	if (talk.boot_ms == 0)
		talk.boot_ms = BOOT_MS_DEFAULT;
	talk.machine = &machine;
	talk.mounts = &mounts;
	talk.arguments = argv + optind;
	talk_begin();
	if (!machine_start(&options, &mounts, &machine))
		return MSP_EXIT_SANDBOX;
	is_good = talk_run(&talk);
	/* A machine that is lost has ended, and QEMU with it. */
	status = machine_end(&machine, is_good || talk.is_late ? 0 : LAST_MS);
	talk_drain(&talk);
	return is_good && talk.is_ended ? end_likewise(&talk.ended) : explain_end(&talk, status);
}
