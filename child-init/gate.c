/* SPDX-License-Identifier: Apache-2.0 */
#include "gate.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "common/kernel.h"
#include "layers.h"
#include "memory.h"

/* The program that the kernel has load a program. */
#define LOADER "/lib64/ld-linux-x86-64.so.2"

/* Beside SIGTRAP, with PTRACE_O_TRACESYSGOOD. */
#define SYSTEM_CALL 0x80

/* Python 3.13 reads it before anything else. Only root of the host can write it. */
#define MACHINE_FACT "/proc/sys/vm/overcommit_memory"

/* How a call looks for files: not at all, by a name, or by a name after a directory. The last two
 * open what they find, which is for reading only. */
enum look { NO_CALL, NO_NAME, NAME, NAME_AT, OPEN, OPEN_AT };

static const uint8_t calls[] = {
#define GATE(name, look) [SYS_##name] = (look),
#include "gate.def"
#undef GATE
};

static struct rlimit cpu; /* the process's, but for its start */

/* Return whether a workload cannot have left this path. A missing file cannot have been left. Each
 * directory on the way to an existing one counts too: a link in it may lead anywhere. */
static bool is_out_of_reach(char *path)
{
	struct stat found;
	struct statvfs mounted;
	bool is_so = true;
	char *end = lstat(path, &found) != 0 && errno == ENOENT ? NULL : path;

	while (end && is_so) {
		end = strchr(end + 1, '/');
		if (end)
			*end = '\0';
		is_so = statvfs(path, &mounted) == 0 ? (mounted.f_flag & ST_RDONLY) != 0
						     : errno == ENOENT;
		if (end)
			*end = '/';
	}
	return is_so;
}

/* In procfs, where a workload can neither make a file nor mount anything over one. */
static bool is_machine_fact(const char *path)
{
	struct statfs is;

	return strcmp(path, MACHINE_FACT) == 0 && statfs(path, &is) == 0 &&
	       is.f_type == PROC_SUPER_MAGIC;
}

/* The name cannot change meanwhile: the process is stopped, and has one thread. */
static bool may_pass(pid_t pid, const struct __ptrace_syscall_info *call)
{
	char *name = scratch.directory;
	const uint64_t *with = call->entry.args;
	const bool is_known = call->arch == AUDIT_ARCH_X86_64 && call->entry.nr < sizeof(calls);
	const enum look look = is_known ? calls[call->entry.nr] : NO_CALL;
	const bool is_at = look == NAME_AT || look == OPEN_AT;
	const struct iovec to = { name, IPC_PATH_MAX };
	const struct iovec from = { (void *)(uintptr_t)with[is_at], IPC_PATH_MAX };

	if (look == NO_CALL || look == NO_NAME) /* a limit may be asked for, and not set */
		return look == NO_NAME && !(call->entry.nr == SYS_prlimit64 && with[2]);
	const ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

	if (got <= 0 || (look >= OPEN && (with[1 + is_at] & (O_ACCMODE | O_CREAT | O_TRUNC))))
		return false;
	name[got] = '\0'; /* the kernel refuses a name without an end */
	/* Without a name it is what the process has open, or nothing. */
	return name[0] == '\0' ? is_at && (int)with[0] >= 0
			       : name[0] == '/' && (is_machine_fact(name) || is_out_of_reach(name));
}

int gate_enter(char *program)
{
	char loader[] = LOADER;

	if (program[0] != '/' || !is_out_of_reach(program) || !is_out_of_reach(loader))
		return -EACCES;
	if (getrlimit(RLIMIT_CPU, &cpu) != 0)
		return -errno;
	const struct rlimit start = { GATE_CPU_S, cpu.rlim_max };
	return prlimit(0, RLIMIT_CPU, &start, NULL) == 0 &&
			       ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0
		       ? 0
		       : -errno;
}

bool gate_step(pid_t pid, int status)
{
	const bool is_begun = WSTOPSIG(status) == SIGTRAP; /* by the exec */
	struct __ptrace_syscall_info call = { .op = PTRACE_SYSCALL_INFO_NONE };

	if (is_begun ? ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD) != 0
		     : WSTOPSIG(status) != (SIGTRAP | SYSTEM_CALL) ||
			       ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(call), &call) <= 0)
		return false;
	return (call.op == PTRACE_SYSCALL_INFO_ENTRY && !LAYER_GATE(may_pass(pid, &call))) ||
	       ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0;
}

bool gate_open(pid_t pid)
{
	return prlimit(pid, RLIMIT_CPU, &cpu, NULL) == 0 &&
	       (ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0 || errno == ESRCH);
}

void gate_release(pid_t pid, int status)
{
	const int signal = WSTOPSIG(status);

	/* A SIGTRAP is our own. ESRCH: it is dead. */
	(void)ptrace(PTRACE_DETACH, pid, NULL, (signal & ~SYSTEM_CALL) == SIGTRAP ? 0 : signal);
}
