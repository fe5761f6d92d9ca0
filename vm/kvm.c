/* SPDX-License-Identifier: Apache-2.0
 *
 * The trial is a process of its own: one that hangs in the kernel is left there.
 */
#include "vm/kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"

#define DEVICE "/dev/kvm"

#define TRIAL_MS 1000

/* Memory of the machine, and what lies in it: code, and tables that show its first 2 MiB. */
#define MEMORY_BYTES 0x10000U
#define CODE_AT 0x1000U
#define TABLE_AT 0x2000U
#define TABLE_BYTES 0x1000U
#define TABLE_LEVELS 3U
#define ENTRY_FLAGS 0x7U    /* present, writable, the user's */
#define ENTRY_IS_PAGE 0x80U /* of 2 MiB */
#define TASK_AT 0xfffbd000U /* three pages that old processors need, where no memory is */

#define CR0_FLAGS 0x80000013U /* protected, with a coprocessor, paged */
#define CR4_FLAGS 0x620U      /* physical addresses of 64 bits, SSE */
#define EFER_FLAGS 0x500U     /* 64 bits, wanted and active */

#define ANSWER 0x5a
#define PORT 0xe9

/* KVM's interpreter does not know the first instruction, and each processor of 64 bits does. */
static const uint8_t code[] = {
	0x66, 0x0f,   0xd4, 0xc0, /* paddq %xmm0, %xmm0 */
	0xb0, ANSWER,             /* mov $ANSWER, %al */
	0xe6, PORT,               /* out %al, $PORT */
};

enum trial_end {
	TRIAL_GOOD = 0,
	TRIAL_NO_MACHINE,
	TRIAL_NO_PROCESSOR,
	TRIAL_NO_START,
	TRIAL_INTERPRETED,
	TRIAL_WRONG,
};

static const char *const reasons[] = {
	[TRIAL_NO_MACHINE] = DEVICE " makes no virtual machine",
	[TRIAL_NO_PROCESSOR] = DEVICE " makes no virtual processor",
	[TRIAL_NO_START] = "a virtual processor of " DEVICE " does not start",
	[TRIAL_INTERPRETED] = DEVICE " interprets instructions, and does not know all of them",
	[TRIAL_WRONG] = "a virtual processor of " DEVICE " does not do what it should",
};

/* Call ioctl(2), whose requests have more bits than the C library's int. */
static int call_kvm(int fd, unsigned long request, const void *argument)
{
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

/* Give the machine its memory. NULL: it takes none. */
static uint8_t *make_memory(int machine)
{
	uint8_t *memory =
		mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct kvm_userspace_memory_region region = { .memory_size = MEMORY_BYTES,
							    .userspace_addr = (uintptr_t)memory };

	if (memory == MAP_FAILED || call_kvm(machine, KVM_SET_USER_MEMORY_REGION, &region) != 0)
		return NULL;
	memcpy(memory + CODE_AT, code, sizeof(code));
	for (uint32_t level = 0; level < TABLE_LEVELS; level++) {
		const uint32_t at = TABLE_AT + level * TABLE_BYTES;
		const uint64_t entry = level + 1 < TABLE_LEVELS ? at + TABLE_BYTES + ENTRY_FLAGS
								: ENTRY_IS_PAGE + ENTRY_FLAGS;

		memcpy(memory + at, &entry, sizeof(entry));
	}
	return memory;
}

/* Set the processor to the code, in 64 bits as a kernel runs. */
static bool set_processor(int processor)
{
	const struct kvm_regs registers = { .rip = CODE_AT, .rflags = 2 };
	struct kvm_segment segment = {
		.limit = ~0U, .selector = 8, .type = 11, .present = 1, .s = 1, .l = 1, .g = 1
	};
	struct kvm_sregs state = { .cr0 = 0 };

	if (call_kvm(processor, KVM_GET_SREGS, &state) != 0)
		return false;
	state.cr0 = CR0_FLAGS;
	state.cr3 = TABLE_AT;
	state.cr4 = CR4_FLAGS;
	state.efer = EFER_FLAGS;
	state.cs = segment;
	segment.selector = 16;
	segment.type = 3;
	segment.l = 0;
	segment.db = 1;
	state.ds = state.es = state.fs = state.gs = state.ss = segment;
	return call_kvm(processor, KVM_SET_SREGS, &state) == 0 &&
	       call_kvm(processor, KVM_SET_REGS, &registers) == 0;
}

static enum trial_end run_trial(int device)
{
	const int machine = call_kvm(device, KVM_CREATE_VM, NULL);
	const int size = call_kvm(device, KVM_GET_VCPU_MMAP_SIZE, NULL);
	const struct kvm_run *state;
	int processor;

	if (machine < 0 || size < (int)sizeof(*state) || make_memory(machine) == NULL)
		return TRIAL_NO_MACHINE;
	(void)call_kvm(machine, KVM_SET_TSS_ADDR,
		       (void *)(uintptr_t)TASK_AT); /* new ones need none */
	processor = call_kvm(machine, KVM_CREATE_VCPU, NULL);
	if (processor < 0)
		return TRIAL_NO_PROCESSOR;
	state = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, processor, 0);
	if (state == MAP_FAILED || !set_processor(processor) ||
	    call_kvm(processor, KVM_RUN, NULL) != 0)
		return TRIAL_NO_START;
	if (state->exit_reason == KVM_EXIT_INTERNAL_ERROR &&
	    state->internal.suberror == KVM_INTERNAL_ERROR_EMULATION)
		return TRIAL_INTERPRETED;
	return state->exit_reason == KVM_EXIT_IO && state->io.port == PORT &&
			       *((const uint8_t *)state + state->io.data_offset) == ANSWER
		       ? TRIAL_GOOD
		       : TRIAL_WRONG;
}

/* Wait for the trial's end, and kill one that takes too long. -1: it has none that counts. */
static int wait_for_trial(pid_t trial)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int status;

	for (uint32_t i = 0; i < TRIAL_MS; i++) {
		if (waitpid(trial, &status, WNOHANG) == trial)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		(void)nanosleep(&pause, NULL);
	}
	(void)kill(trial, SIGKILL);
	return -1;
}

bool kvm_try(char reason[KVM_REASON_MAX])
{
	const int device = open(DEVICE, O_RDWR | O_CLOEXEC);
	const pid_t parent = getpid();
	const pid_t trial = device < 0 ? -1 : fork();
	int end;

	if (trial == 0)
		_exit(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent
			      ? (int)run_trial(device)
			      : TRIAL_NO_START);
	if (trial < 0) {
		(void)snprintf(reason, KVM_REASON_MAX, "%s: %s", device < 0 ? DEVICE : "fork",
			       errno_text(errno));
	} else {
		end = wait_for_trial(trial);
		(void)snprintf(reason, KVM_REASON_MAX, "%s",
			       end > TRIAL_GOOD && end <= TRIAL_WRONG
				       ? reasons[end]
				       : "a virtual processor of " DEVICE " hangs");
		if (end == TRIAL_GOOD)
			reason[0] = '\0';
	}
	if (device >= 0)
		(void)close(device);
	return reason[0] == '\0';
}
