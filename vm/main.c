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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"
#include "vm/kvm.h"
#include "vm/machine.h"
#include "vm/mounts.h"
#include "vm/talk.h"

#define MEMORY_MIN_MB 64
#define MEMORY_MAX_MB (1 << 20)
#define PROCESSORS_MAX 64

/* The time that QEMU has to end behind its machine. */
#define LAST_MS 5000

/* An emulated machine on a busy computer takes ten seconds. */
#define BOOT_MS_DEFAULT 60000

/* A machine with KVM takes one or two; when it says nothing, it is emulated instead. */
#define KVM_BOOT_MS 10000

static const char help[] =
	"usage: msp-vm [OPTION]... [--] COMMAND [ARG]...\n"
	"Run a command in a virtual machine with an own kernel, which sees the files that\n"
	"this process sees, and no network. 'msp vm prepare' makes the kernel.\n"
	"\n"
	"  --memory SIZE    the machine's memory (512M)\n"
	"  --cpus N         its processors (1)\n"
	"  --files DIR      the directory of kernel and initramfs (that of msp-vm itself)\n"
	"  --emulator FILE  QEMU (qemu-system-x86_64)\n"
	"  --tcg            emulate the processor, also where there is KVM\n"
	"  --kvm            use KVM without trying it first\n"
	"  --try-kvm        only print whether machines have KVM or are emulated, and why\n"
	"  --boot-seconds N the time that the machine has to start (60)\n"
	"\n"
	"The exit code is the command's; 125 when the machine does not start, or ends\n"
	"without one; 64 when the command line is wrong.\n";

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
	return log_fail(MSP_EXIT_USAGE, "%s: \"%s\" is not understood; expected %s", option, value,
			expected);
}

/* How KVM is chosen. */
enum kvm_choice {
	KVM_BY_TRIAL = 0,
	KVM_NEVER,
	KVM_UNTRIED,
};

/* Print the outcome of the trial, for `msp doctor`. */
static int print_trial(void)
{
	char reason[KVM_REASON_MAX] = "";

	return (kvm_try(reason) ? puts("KVM") : printf("emulated: %s\n", reason)) < 0 ||
			       fflush(stdout) != 0
		       ? MSP_EXIT_SANDBOX
		       : -1;
}

/* Read the options. 0, or the exit code after a line; -1: there is no more to do. */
static int read_options(int argc, char *argv[], struct machine_options *options,
			enum kvm_choice *kvm, uint32_t *boot_ms)
{
	static const struct option known[] = {
		{ "memory", required_argument, NULL, 'm' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "files", required_argument, NULL, 'f' },
		{ "tcg", no_argument, NULL, 't' },
		{ "kvm", no_argument, NULL, 'k' },
		{ "try-kvm", no_argument, NULL, 'y' },
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
			*kvm = KVM_NEVER;
			break;
		case 'k':
			*kvm = KVM_UNTRIED;
			break;
		case 'y':
			return print_trial();
		case 'h':
			(void)fputs(help, stdout);
			return -1;
		default:
			return MSP_EXIT_USAGE; /* getopt has said why */
		}
	}
	if (optind < argc)
		return 0;
	return log_fail(
		MSP_EXIT_USAGE,
		"the command is missing; expected msp-vm [OPTION]... [--] COMMAND [ARG]...");
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
		if (access(path, R_OK) != 0)
			return log_fail(
				false, "%s: %s. 'msp vm prepare', outside of the sandbox, makes it",
				path, errno_text(errno));
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
	if (talk->end == TALK_FAILED)
		log_line("the machine could not start the command: %s: %s", talk->failed.act,
			 errno_text((int)talk->failed.error));
	else if (talk->end == TALK_LATE)
		log_line("the machine did not start in %u seconds; its last words:",
			 talk->boot_ms / 1000);
	else if (talk->end == TALK_WRONG)
		log_line("the machine was ended: it sent a message that its first process never "
			 "sends; its last words:");
	else if (talk->end == TALK_DEAF)
		log_line("the machine was ended: it has not read its messages for %d seconds; its "
			 "last words:",
			 MACHINE_READ_S);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
		log_line("QEMU was not started; 'apt-get install qemu-system-x86' installs it");
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		log_line("QEMU has failed with code %d; its last words:", WEXITSTATUS(status));
	else if (WIFEXITED(status))
		log_line("the machine has crashed before the command ended; its last words:");
	else
		log_line("the machine was lost (QEMU was killed by signal %d); its last words:",
			 WTERMSIG(status));
	print_console(talk);
	return MSP_EXIT_SANDBOX;
}

/* End as the command did. */
static int end_likewise(const struct wire_ended *ended)
{
	const struct rlimit no_core = { 0, 0 };
	sigset_t wanted;

	if (ended->signal == 0)
		return (int)ended->code;
	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, (int)ended->signal);
	(void)setrlimit(RLIMIT_CORE, &no_core); /* of msp-vm, which has not crashed */
	(void)signal((int)ended->signal, SIG_DFL);
	(void)sigprocmask(SIG_UNBLOCK, &wanted, NULL);
	(void)raise((int)ended->signal);
	return 128 + (int)ended->signal; /* the system has no such signal for programs */
}

/* Run a machine to its end. False: there is none, after a line. */
static bool run_machine(const struct machine_options *options, struct talk *talk, int *ret_status)
{
	enum talk_end end;

	if (!machine_start(options, talk->mounts, talk->machine))
		return false;
	end = talk_run(talk);
	/* A machine that has gone has ended, and QEMU with it. */
	*ret_status = machine_end(talk->machine, end == TALK_GONE ? LAST_MS : 0);
	talk_drain(talk);
	return true;
}

/* Has a machine with KVM not come so far that it knows the command? */
static bool has_kvm_failed(const struct talk *talk, int status)
{
	return !talk->is_ready && talk->end != TALK_SIGNALED &&
	       !(WIFEXITED(status) && WEXITSTATUS(status) == 126);
}

/* Run a machine with KVM or without; where KVM does not start it, without. */
static bool run_with_choice(enum kvm_choice kvm, struct machine_options *options, struct talk *talk,
			    int *ret_status)
{
	const uint32_t boot_ms = talk->boot_ms;
	char reason[KVM_REASON_MAX] = "";

	options->has_kvm = kvm == KVM_UNTRIED || (kvm == KVM_BY_TRIAL && kvm_try(reason));
	if (options->has_kvm && boot_ms > KVM_BOOT_MS)
		talk->boot_ms = KVM_BOOT_MS;
	if (!run_machine(options, talk, ret_status))
		return false;
	if (!options->has_kvm || !has_kvm_failed(talk, *ret_status))
		return true;
	log_line("the machine did not start with KVM, so it is emulated; --tcg in the profile's "
		 "runner leaves the attempt out");
	options->has_kvm = false;
	talk->boot_ms = boot_ms;
	return run_machine(options, talk, ret_status);
}

int main(int argc, char *argv[])
{
	static struct mounts mounts;
	static struct talk talk;
	static char files[IPC_PATH_MAX];
	struct machine_options options = { .emulator = "qemu-system-x86_64",
					   .memory_mb = 512,
					   .processors = 1 };
	enum kvm_choice kvm = KVM_BY_TRIAL;
	static struct machine machine;
	int status;
	int code;

	log_set_name("msp-vm");
	code = read_options(argc, argv, &options, &kvm, &talk.boot_ms);
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
	if (!run_with_choice(kvm, &options, &talk, &status))
		return MSP_EXIT_SANDBOX;
	return talk.end == TALK_ENDED || talk.end == TALK_SIGNALED ? end_likewise(&talk.ended)
								   : explain_end(&talk, status);
}
