/* SPDX-License-Identifier: Apache-2.0 */
#include "image/ahead.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/confine/steps.h"
#include "image/refuse.h"
#include "lib/heap/buffer.h"

/* A block is full with these bytes. The source's last piece may go a little beyond. */
#define TURN_BYTES ((size_t)2 << 20)

/* The user's own limit may be more than the memory of this program. */
#define STACK_BYTES ((size_t)1 << 20)

/* At each turn the threads meet and exchange the blocks: the second one fills one of them while the
 * first one uses the other. Between an end and the next beginning it waits. */
static pthread_barrier_t turn;
static struct buffer blocks[2];

/* The second thread's from a beginning to an end. */
static ahead_source *read_source;
static void *source_context;
static char refusal[IMAGE_REPORT_TEXT_MAX];

static void (*confine_thread)(void);
static atomic_bool is_left; /* the first thread needs no more of the source */
static bool is_reading;     /* the first thread has not met the end */
static uint32_t turns;      /* of the first thread, with a block each */

/* Fill a block. Returns its size; 0 at the end. */
static size_t fill(struct buffer *block)
{
	const void *bytes;
	ssize_t size;

	block->size = 0;
	while (read_source && block->size < TURN_BYTES) {
		size = is_left ? 0 : read_source(source_context, &bytes);
		if (size > 0)
			buffer_append(block, bytes, (size_t)size);
		else
			read_source = NULL;
	}
	return block->size;
}

static void *run_thread(void *unused)
{
	uint32_t filled = 0;

	confine_thread();
	(void)pthread_barrier_wait(&turn);
	refuse_aside = refusal;
	for (;;) {
		(void)pthread_barrier_wait(&turn);
		while (fill(&blocks[filled++ % 2]) > 0)
			(void)pthread_barrier_wait(&turn);
		(void)pthread_barrier_wait(&turn);
	}
	return unused;
}

void ahead_start(void (*confine)(void))
{
	pthread_attr_t attributes;
	pthread_t thread;

	confine_thread = confine;
	(void)mallopt(M_ARENA_MAX, 1); /* another arena takes of the address space */
	(void)pthread_barrier_init(&turn, NULL, 2);
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	confine_require(-pthread_create(&thread, &attributes, run_thread, NULL),
			"starting its second thread");
	(void)pthread_barrier_wait(&turn);
}

void ahead_begin(ahead_source *source, void *context)
{
	read_source = source;
	source_context = context;
	refusal[0] = '\0';
	is_left = false;
	is_reading = true;
	(void)pthread_barrier_wait(&turn);
}

ssize_t ahead_next(const void **ret)
{
	if (is_reading) {
		const struct buffer *block = &blocks[turns++ % 2];

		(void)pthread_barrier_wait(&turn);
		*ret = block->bytes;
		is_reading = block->size > 0;
		if (is_reading)
			return (ssize_t)block->size;
	}
	return refusal[0] ? refuse("%s", refusal) : 0;
}

void ahead_end(void)
{
	const void *bytes;

	is_left = true;
	while (is_reading)
		(void)ahead_next(&bytes);
}
