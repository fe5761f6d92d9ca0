/* SPDX-License-Identifier: Apache-2.0
 *
 * stages REPORT ROLE KIND NUMBER VICTIM COMMAND...
 *
 * Runs COMMAND, which is msp of the build with stage hooks (common/stage_hook.h), traces it and
 * everything it starts, and kills process VICTIM when process ROLE first reaches the boundary
 * KIND NUMBER; from then on nothing is traced, so that what follows takes its own time. With ROLE
 * "list" it kills nothing.
 *
 * REPORT is a file: without a kill "ROLE KIND NUMBER" lines in the order in which boundaries were
 * first reached; with one "killed NANOSECONDS" (CLOCK_MONOTONIC) or "no victim". Beside the hooks'
 * kinds there are 0 0: the process is new, 0 1: it has executed its program, 0 2: it ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>

#define MSP_TEST_HOOKS
#include "common/stage_hook.h"
#include "tracer.h"

#define PROCESSES_MAX 256
#define SEEN_MAX 1024
#define KIND_LIFE 0U

enum life {
	LIFE_NEW,
	LIFE_EXECUTED,
	LIFE_ENDS,
};

enum role {
	ROLE_LAUNCHER,
	ROLE_KEEPER, /* the part of it that stays */
	ROLE_SUPERVISOR,
	ROLE_FACTORY,
	ROLE_BROKER,
	ROLE_PROVER, /* the init of a sandbox in which nothing but a probe runs */
	ROLE_INIT,
	ROLE_LAYERS,
	ROLE_PROBE,
	ROLE_WORKLOAD,
	ROLE_OTHER, /* what a workload starts */
	ROLE_COUNT,
};

static const char *const role_names[ROLE_COUNT] = { "launcher", "opener",   "supervisor", "factory",
						    "broker",   "prover",   "init",       "layers",
						    "probe",    "workload", "other" };

struct boundary {
	enum role role;
	unsigned int kind;
	unsigned int number;
};

static struct process {
	pid_t pid;
	enum role role;
	bool is_in_call;
	bool is_gone;
} processes[PROCESSES_MAX];
static size_t process_count;

static struct boundary seen[SEEN_MAX];
static size_t seen_count;

static struct boundary wanted = { .role = ROLE_COUNT }; /* ROLE_COUNT: none */
static enum role victim;
static bool is_serve;
static bool is_persistent; /* neither a server nor `msp run` */
static bool was_reached;
static FILE *report;

static struct process *find(pid_t pid)
{
	for (size_t i = 0; i < process_count; i++) {
		if (processes[i].pid == pid)
			return &processes[i];
	}
	return NULL;
}

static struct process *find_role(enum role role)
{
	for (size_t i = 0; i < process_count; i++) {
		if (processes[i].role == role && !processes[i].is_gone)
			return &processes[i];
	}
	return NULL;
}

static bool has_been(enum role role)
{
	bool has = false;

	for (size_t i = 0; i < process_count; i++)
		has |= processes[i].role == role;
	return has;
}

/* The first child of a server is its factory, the second what stays of its launcher, which may have
 * become the supervisor before that is seen. A helper is the first child of a serving supervisor's
 * factory, the init of a sandbox for a probe the second; everything after it is an init. What works
 * with a persistent sandbox has a path opener after its supervisor. */
static enum role role_below(const struct process *parent)
{
	if (!parent)
		return process_count == 0 ? ROLE_LAUNCHER : ROLE_OTHER;
	if (is_serve && (parent->role == ROLE_LAUNCHER || parent->role == ROLE_SUPERVISOR))
		return has_been(ROLE_FACTORY) ? ROLE_KEEPER : ROLE_FACTORY;
	switch (parent->role) {
	case ROLE_LAUNCHER:
		return is_persistent && has_been(ROLE_SUPERVISOR) ? ROLE_KEEPER : ROLE_SUPERVISOR;
	case ROLE_SUPERVISOR:
		return ROLE_FACTORY;
	case ROLE_FACTORY:
		if (is_serve && !has_been(ROLE_BROKER))
			return ROLE_BROKER;
		return is_serve && !has_been(ROLE_PROVER) ? ROLE_PROVER : ROLE_INIT;
	case ROLE_PROVER:
		return ROLE_PROBE;
	case ROLE_INIT:
		return ROLE_WORKLOAD;
	default:
		return ROLE_OTHER;
	}
}

static struct process *add(pid_t pid)
{
	struct process *process = find(pid);

	if (process)
		return process;
	if (process_count == PROCESSES_MAX) {
		(void)fputs("stages: too many processes\n", stderr);
		exit(70);
	}
	const enum role role = role_below(find(tracer_parent(pid)));
	process = &processes[process_count++];
	*process = (struct process){ .pid = pid, .role = role };
	return process;
}

static void kill_victim(void)
{
	const struct process *process = find_role(victim);
	struct timespec now;

	was_reached = true;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (process && kill(process->pid, SIGKILL) == 0)
		(void)fprintf(report, "killed %lld\n",
			      (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	else
		(void)fputs("no victim\n", report);
	(void)fflush(report);
}

static void reach(enum role role, unsigned int kind, unsigned int number)
{
	if (role == ROLE_OTHER || was_reached)
		return;
	if (wanted.role != ROLE_COUNT) {
		if (role == wanted.role && kind == wanted.kind && number == wanted.number)
			kill_victim();
		return;
	}
	for (size_t i = 0; i < seen_count; i++) {
		if (seen[i].role == role && seen[i].kind == kind && seen[i].number == number)
			return;
	}
	if (seen_count < SEEN_MAX)
		seen[seen_count++] = (struct boundary){ role, kind, number };
	(void)fprintf(report, "%s %u %u\n", role_names[role], kind, number);
}

static void on_call(struct process *process)
{
	struct user_regs_struct registers;

	process->is_in_call = !process->is_in_call;
	if (!process->is_in_call || ptrace(PTRACE_GETREGS, process->pid, NULL, &registers) != 0)
		return;
	if (registers.orig_rax != SYS_write || (int)registers.rdi != -1 ||
	    registers.rdx != STAGE_HOOK_MARK || registers.rsi >> 16 == STAGE_HOOK_MEMORY)
		return;
	reach(process->role, (unsigned int)(registers.rsi >> 16),
	      (unsigned int)(registers.rsi & 0xffff));
}

static bool handle(pid_t pid, enum tracer_stop stop)
{
	struct process *process = add(pid);

	switch (stop) {
	case TRACER_NEW:
		reach(process->role, KIND_LIFE, LIFE_NEW);
		break;
	case TRACER_CALL:
		on_call(process);
		break;
	case TRACER_EXEC:
		if (is_serve && process->role == ROLE_LAUNCHER && process->is_in_call)
			process->role = ROLE_SUPERVISOR; /* it was msp that executed it */
		else if (process->role == ROLE_INIT)
			process->role = ROLE_LAYERS; /* an init executes nothing */
		reach(process->role, KIND_LIFE, LIFE_EXECUTED);
		break;
	case TRACER_EXIT:
		reach(process->role, KIND_LIFE, LIFE_ENDS);
		process->is_gone = true;
		break;
	case TRACER_FORK:
		/* It has no second child before this: they are known in the order of their forks,
		 * in whatever order they are seen. */
		(void)add(tracer_child(pid));
		break;
	case TRACER_OTHER:
		break;
	}
	return !was_reached && process->role != ROLE_OTHER;
}

static enum role read_role(const char *name)
{
	for (int i = 0; i < ROLE_COUNT; i++) {
		if (strcmp(name, role_names[i]) == 0)
			return (enum role)i;
	}
	return ROLE_COUNT;
}

int main(int argc, char **argv)
{
	int code;

	if (argc < 8)
		return 64;
	report = fopen(argv[1], "we");
	if (!report)
		return 70;
	wanted = (struct boundary){ read_role(argv[2]), (unsigned int)strtoul(argv[3], NULL, 10),
				    (unsigned int)strtoul(argv[4], NULL, 10) };
	victim = read_role(argv[5]);
	is_serve = strcmp(argv[7], "serve") == 0;
	is_persistent = !is_serve && strcmp(argv[7], "run") != 0;
	code = tracer_run(argv + 6, handle);
	(void)fclose(report);
	return code;
}
