/* SPDX-License-Identifier: Apache-2.0
 *
 * store-bench: what the store's steps take, with and without the disk's syncs. Prints a line for
 * each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "store_faults.h"
#include "store_place.h"

#define TIMES 100

static struct store_meta meta, made;
static struct store_census census = PLACE_NO_LIMITS;
static int sandbox;

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void must(int result)
{
	if (result >= 0)
		return;
	(void)fprintf(stderr, "store-bench: %s\n", strerror(-result));
	exit(1);
}

static void create(void)
{
	int fd = store_create(&made, &census);

	must(fd);
	fd_close(&fd);
}

static void save(void)
{
	struct store_checkpoint checkpoint;

	must(store_checkpoint(sandbox, &meta, "", &checkpoint));
}

static void roll_back(void)
{
	must(store_rollback(sandbox, &meta, 1));
}

static void fork_present(void)
{
	int fd = store_fork(sandbox, &meta, 0, "", &census, &made);

	must(fd);
	fd_close(&fd);
}

static void destroy(void)
{
	must(place_destroy(&made));
}

static void count(void)
{
	store_count(sandbox, &meta, 1, 1);
}

/* What is written before each of `act`, so that it has something to do. */
static void write_one(void)
{
	place_write(&meta, "1");
}

static void measure(const char *name, int times, void (*before)(void), void (*act)(void),
		    void (*after)(void))
{
	uint64_t total = 0;

	fault_sync_ns = 0;
	fault_syncs = 0;
	for (int i = 0; i < times; i++) {
		uint64_t start;

		if (before)
			before();
		start = now_ns();
		act();
		total += now_ns() - start;
		if (after)
			after();
	}
	/* Those of what is done between the acts are not theirs. */
	printf("%-28s %8.0f us, of it %8.0f us in %.1f syncs\n", name, (double)total / times / 1000,
	       (double)fault_sync_ns / times / 1000, (double)fault_syncs / times);
}

static void forget(void)
{
	const uint64_t ns = fault_sync_ns, syncs = fault_syncs;

	must(store_forget(sandbox, &meta, meta.next_checkpoint - 1));
	must(store_rollback(sandbox, &meta, 1));
	fault_sync_ns = ns;
	fault_syncs = syncs;
}

int main(void)
{
	const uint64_t forks = 100;
	uint64_t start;

	place_make();
	sandbox = place_create("one", &meta);
	write_one();
	save();
	memcpy(made.profile, "default", sizeof("default"));
	made.ttl_s = 3600;
	measure("checkpoint", 60, write_one, save, forget);
	measure("checkpoint, nothing written", 60, NULL, save, forget);
	measure("rollback", TIMES, write_one, roll_back, NULL);
	measure("count", TIMES, NULL, count, NULL);
	measure("create and destroy", TIMES, NULL, create, destroy);
	fault_sync_ns = 0;
	write_one();
	start = now_ns();
	for (uint64_t i = 0; i < forks; i++)
		fork_present();
	printf("100 forks                    %8.0f us, of it %8.0f us in syncs\n",
	       (double)(now_ns() - start) / 1000, (double)fault_sync_ns / 1000);
	measure("rollback, 101 sandboxes", TIMES, write_one, roll_back, NULL);
	measure("one more fork, and its end", TIMES, NULL, fork_present, destroy);
	place_remove();
	return 0;
}
