/* SPDX-License-Identifier: Apache-2.0
 *
 * old_landlock ABI COMMAND...
 *
 * Runs COMMAND with everything that it starts as on a kernel whose Landlock has this ABI:
 * landlock_create_ruleset() tells the ABI, and refuses rights and scopes of newer ones with the
 * errors of such a kernel. The rulesets that it makes are the real kernel's, so a right that is
 * not handled is not enforced. The exit code is COMMAND's.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>

#include "tracer.h"

#define VERSION 1UL /* LANDLOCK_CREATE_RULESET_VERSION */
#define NO_CLOCK 0x7fffffff
#define PROCESSES 4096

/* The fields of struct landlock_ruleset_attr: the bits that each ABI knows (Linux 5.13 to 6.12,
 * include/uapi/linux/landlock.h), and the first one that has the field. */
#define FIELDS 3
static const unsigned int bits[FIELDS][8] = {
	{ 0, 13, 14, 15, 15, 16, 16, 16 },
	{ 0, 0, 0, 0, 2, 2, 2, 2 },
	{ 0, 0, 0, 0, 0, 0, 2, 2 },
};

static unsigned long abi;

/* A process in a system call whose answer is ours. */
static struct process {
	pid_t pid;
	bool is_in_call;
	long answer; /* 0: the kernel's */
	unsigned long first;
} processes[PROCESSES];
static size_t process_count;

static struct process *find_process(pid_t pid)
{
	for (size_t i = 0; i < process_count; i++) {
		if (processes[i].pid == pid)
			return &processes[i];
	}
	if (process_count == PROCESSES)
		abort();
	processes[process_count] = (struct process){ .pid = pid };
	return &processes[process_count++];
}

/* Return the error of the old kernel for a ruleset of `size` bytes at `at`, or 0. The memory of a
 * process that is not dumpable is readable for root alone; for others such a ruleset passes. */
static long refuse_ruleset(pid_t pid, unsigned long at, unsigned long size)
{
	for (unsigned int i = 0; i < FIELDS && (i + 1) * sizeof(uint64_t) <= size; i++) {
		uint64_t handled;

		errno = 0;
		handled = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, at + i * sizeof(uint64_t), NULL);
		if (errno != 0)
			return 0;
		if (bits[i][abi] == 0 && handled != 0)
			return -E2BIG;
		if (handled >> bits[i][abi] != 0)
			return -EINVAL;
	}
	return 0;
}

static void on_entry(struct process *process, struct user_regs_struct *registers)
{
	if (registers->orig_rax != SYS_landlock_create_ruleset)
		return;
	process->answer = registers->rdx == VERSION
				  ? (long)abi
				  : refuse_ruleset(process->pid, registers->rdi, registers->rsi);
	if (process->answer == 0)
		return;
	/* A call that does nothing, and that every filter of ours lets through. */
	process->first = registers->rdi;
	registers->orig_rax = SYS_clock_gettime;
	registers->rdi = NO_CLOCK;
	(void)ptrace(PTRACE_SETREGS, process->pid, NULL, registers); /* or it was killed */
}

static void on_call(struct process *process)
{
	struct user_regs_struct registers;

	process->is_in_call = !process->is_in_call;
	if (ptrace(PTRACE_GETREGS, process->pid, NULL, &registers) != 0)
		return; /* it was killed */
	if (process->is_in_call) {
		process->answer = 0;
		on_entry(process, &registers);
	} else if (process->answer != 0) {
		registers.rdi = process->first;
		registers.rax = (unsigned long)process->answer;
		(void)ptrace(PTRACE_SETREGS, process->pid, NULL, &registers); /* or killed */
	}
}

static bool handle(pid_t pid, enum tracer_stop stop)
{
	struct process *process = find_process(pid);

	if (stop == TRACER_CALL)
		on_call(process);
	if (stop == TRACER_EXIT)
		*process = processes[--process_count];
	return true;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 64;
	abi = strtoul(argv[1], NULL, 10);
	if (abi < 1 || abi >= sizeof(bits[0]) / sizeof(bits[0][0]) ||
	    setenv("MSP_TRACE_STEWARDS", "1", 1) != 0)
		return 64;
	return tracer_run(argv + 2, handle);
}
