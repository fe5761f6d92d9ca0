/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory, in every way in which it can be had. Amounts are in MiB.
 */
#include "hog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is taken at once. */
#define PIECE_MIB 4
#define PIECE (PIECE_MIB * MIB)

void *hog_map(size_t size, int flags)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	memset(memory, 1, size);
	return memory;
}

static int take_malloc(long amount)
{
	for (; hog_taken < amount; hog_taken += PIECE_MIB) {
		void *memory = malloc(PIECE); /* kept until the end */

		if (!memory)
			return errno;
		memset(memory, 1, PIECE);
	}
	hog_hold();
	return 0;
}

static int take_maps(long amount, int flags)
{
	for (; hog_taken < amount; hog_taken += PIECE_MIB) {
		if (!hog_map(PIECE, flags))
			return errno;
	}
	hog_hold();
	return 0;
}

static int take_private(long amount)
{
	return take_maps(amount, MAP_PRIVATE);
}

static int take_shared(long amount)
{
	return take_maps(amount, MAP_SHARED);
}

/* Pages of a file in memory through a mapping of it. */
static int map_file(int fd)
{
	void *memory;

	if (fd < 0 || ftruncate(fd, PIECE) != 0)
		return errno;
	memory = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return errno;
	(void)close(fd); /* the mapping holds it */
	memset(memory, 1, PIECE);
	return 0;
}

static int take_mapped_files(long amount)
{
	for (; hog_taken < amount; hog_taken += PIECE_MIB) {
		char path[64];
		int error;

		(void)snprintf(path, sizeof(path), "/dev/shm/map-%ld", hog_taken);
		error = map_file(open(path, O_RDWR | O_CREAT, 0600));
		if (error)
			return error;
	}
	hog_hold();
	return 0;
}

static int take_memfd_maps(long amount)
{
	for (; hog_taken < amount; hog_taken += PIECE_MIB) {
		const int error = map_file(memfd_create("hog", MFD_CLOEXEC));

		if (error)
			return error;
	}
	hog_hold();
	return 0;
}

/* Held by descriptors alone: mapped by nobody. */
static int take_memfds(long amount)
{
	static char piece[PIECE];

	memset(piece, 1, sizeof(piece));
	for (; hog_taken < amount; hog_taken += PIECE_MIB) {
		const int fd = memfd_create("hog", MFD_CLOEXEC);

		if (fd < 0 || write(fd, piece, sizeof(piece)) != (ssize_t)sizeof(piece))
			return errno;
	}
	hog_hold();
	return 0;
}

/* Shared memory of System V, which no process holds. */
static int take_segments(long amount)
{
	for (; hog_taken < amount; hog_taken += PIECE_MIB) {
		const int id = shmget(IPC_PRIVATE, PIECE, 0600);
		void *memory = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

		if (memory == (void *)-1)
			return errno;
		memset(memory, 1, PIECE);
		(void)shmdt(memory);
	}
	hog_hold();
	return 0;
}

/* A semaphore is 64 bytes of the kernel's. */
static int take_semaphores(long amount)
{
	for (; hog_taken < amount; hog_taken++) {
		if (semget(IPC_PRIVATE, (1 << 20) / 64, 0600) < 0)
			return errno;
	}
	hog_hold();
	return 0;
}

static int take_queues(long amount)
{
	static struct {
		long type;
		char text[8192];
	} message = { .type = 1 };

	for (; hog_taken < amount; hog_taken++) {
		for (int i = 0; i < 64; i++) {
			const int id = msgget(IPC_PRIVATE, 0600);

			if (id < 0 || msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT) != 0 ||
			    msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT) != 0)
				return errno;
		}
	}
	hog_hold();
	return 0;
}

/* `count` children, each with its part of the amount, all at the same time. */
static int take_in_children(long amount, long count)
{
	int status;

	for (long i = 0; i < count; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			return errno;
		if (pid == 0) {
			const int error = take_private(amount / count);

			hog_hold();
			_exit(error);
		}
	}
	while (wait(&status) > 0) {
		if (WIFSIGNALED(status))
			return ENOMEM;
		hog_taken += amount / count;
	}
	return 0;
}

/* None of them is large by itself. */
static int take_in_many(long amount)
{
	return take_in_children(amount, amount / PIECE_MIB);
}

/* Whoever is killed is replaced: with single processes killed this would never end. */
static int take_again(long amount)
{
	for (;;) {
		const pid_t pid = fork();

		if (pid < 0)
			return errno;
		if (pid == 0)
			_exit(take_private(amount));
		(void)waitpid(pid, NULL, 0); /* however it ended */
	}
}

static const struct mode list[] = {
	{ "malloc", take_malloc },      { "map-private", take_private },
	{ "map-shared", take_shared },  { "map-files", take_mapped_files },
	{ "memfd", take_memfds },       { "memfd-maps", take_memfd_maps },
	{ "segments", take_segments },  { "semaphores", take_semaphores },
	{ "queues", take_queues },      { "memory-processes", take_in_many },
	{ "memory-again", take_again },
};
const struct modes memory_modes = MODES(list);
