/* SPDX-License-Identifier: Apache-2.0
 *
 * How many sandboxes one owner may have of those of all, and how much of the disk.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "stewards/store/store.h"
#include "store_place.h"

TestSuite(store_share, .init = place_make, .fini = place_remove, .timeout = 120);

static struct store_meta meta;

/* Its descriptor, or what the store said. */
static int try_create(const char *owner, uint64_t bytes_max)
{
	struct store_census census = { .sandboxes_max = 8, .bytes_max = bytes_max };

	memset(&meta, 0, sizeof(meta));
	(void)snprintf(meta.owner, sizeof(meta.owner), "%s", owner);
	(void)snprintf(meta.profile, sizeof(meta.profile), "default");
	return store_create(&meta, &census);
}

static void create(const char *owner)
{
	int fd = try_create(owner, UINT64_MAX);

	cr_assert_geq(fd, 0, "%s: %d", owner, fd);
	fd_close(&fd);
}

/* Three times what is left, so that another finds something; the user shares with nobody. */
Test(store_share, sandboxes)
{
	for (int i = 0; i < 6; i++)
		create("alice");
	cr_expect_eq(try_create("alice", UINT64_MAX), -EUSERS);
	create("bob");
	cr_expect_eq(try_create("alice", UINT64_MAX), -EUSERS);
	create("");
	cr_expect_eq(try_create("", UINT64_MAX), -EUSERS);
}

Test(store_share, the_user_has_the_whole)
{
	for (int i = 0; i < 8; i++)
		create("");
	cr_expect_eq(try_create("", UINT64_MAX), -EUSERS);
}

Test(store_share, disk)
{
	int fd = try_create("alice", 1000);

	cr_assert_geq(fd, 0);
	cr_assert_gt(meta.layer_count, 0);
	store_count(fd, &meta, 760, 1);
	fd_close(&fd);
	cr_expect_eq(try_create("alice", 1000), -EDQUOT);
	fd = try_create("bob", 1000);
	cr_expect_geq(fd, 0);
	fd_close(&fd);
	fd = try_create("alice", 2000);
	cr_expect_geq(fd, 0, "the control");
	fd_close(&fd);
}
