/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums over all sandboxes, which an index keeps: whoever changes them, and whatever becomes of
 * the index, they are right.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "stewards/store/inner.h"
#include "store_place.h"

TestSuite(store_survey, .init = place_make, .fini = place_remove, .timeout = 120);

static struct store_meta meta, second;

/* Return the census that a new sandbox begins with; the sandbox is removed again. */
static struct store_census count_all(void)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd;

	memset(&second, 0, sizeof(second));
	(void)snprintf(second.profile, sizeof(second.profile), "default");
	fd = store_create(&second, &census);
	cr_assert_geq(fd, 0, "%s", strerror(-fd));
	cr_assert_eq(place_destroy(&second), 0);
	fd_close(&fd);
	return census;
}

static void count_elsewhere(const char *name, uint64_t bytes)
{
	const pid_t other = fork();
	int status;

	if (other == 0) {
		int fd = place_take(name, &second);

		store_count(fd, &second, bytes, 1);
		_exit(0);
	}
	cr_assert_eq(waitpid(other, &status, 0), other);
	cr_assert_eq(status, 0);
}

Test(store_survey, what_others_counted_counts)
{
	int fd = place_create("one", &meta);

	fd_close(&fd);
	fd = place_create("two", &meta);
	fd_close(&fd);
	count_elsewhere("one", 1000);
	count_elsewhere("two", 10);
	cr_expect_eq(count_all().bytes, 1010);
	count_elsewhere("one", 100);
	cr_expect_eq(count_all().bytes, 110);
	fd = place_take("one", &meta);
	cr_assert_eq(place_destroy(&meta), 0);
	fd_close(&fd);
	cr_expect_eq(count_all().bytes, 10);
	cr_expect_eq(count_all().sandboxes, 1);
}

/* The index holds nothing that is not so: a part of it is lost, an older msp or nobody wrote it, or
 * a person moved a sandbox. */
Test(store_survey, an_index_is_not_believed_blindly)
{
	static const char junk[64] = "another's";
	char id[IPC_ID_MAX];
	int fd = place_create("one", &meta);

	store_count(fd, &meta, 1000, 10);
	fd_close(&fd);
	for (off_t at = 0; at < 256; at += 8) {
		cr_assert_eq(pwrite(store_places.stamp, junk, 8, at), 8);
		cr_expect_eq(count_all().bytes, 1000, "at %ld", (long)at);
	}
	cr_assert_eq(ftruncate(store_places.stamp, 100), 0);
	cr_expect_eq(count_all().bytes, 1000);
	cr_assert_eq(ftruncate(store_places.stamp, 0), 0);
	cr_expect_eq(count_all().sandboxes, 1);
	fd = place_create("two", &meta);
	fd_close(&fd);
	(void)usleep(20000); /* a tick of the kernel's coarse clock */
	store_id_text(meta.id, id);
	cr_assert_eq(renameat(store_places.sandboxes, id, store_places.trash, id), 0);
	cr_expect_eq(count_all().sandboxes, 1);
	fd = place_create("two", &meta);
	cr_expect_geq(fd, 0);
	fd_close(&fd);
}

Test(store_survey, what_others_made_counts)
{
	struct store_census census = { .sandboxes_max = 3, .bytes_max = UINT64_MAX };
	int fd = place_create("one", &meta);
	pid_t other;
	int status;

	second = meta;
	(void)snprintf(second.name, sizeof(second.name), "two");
	cr_expect_geq(store_create(&second, &census), 0);
	other = fork();
	if (other == 0) {
		(void)snprintf(second.name, sizeof(second.name), "three");
		_exit(store_create(&second, &census) < 0);
	}
	cr_assert_eq(waitpid(other, &status, 0), other);
	cr_assert_eq(status, 0);
	(void)snprintf(second.name, sizeof(second.name), "three");
	cr_expect_eq(store_create(&second, &census), -EEXIST);
	(void)snprintf(second.name, sizeof(second.name), "four");
	cr_expect_eq(store_create(&second, &census), -EUSERS);
	cr_expect_eq(census.sandboxes, 3);
	fd_close(&fd);
}
