/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of what a person has taken away from a sandbox: a fork has it, and a rollback keeps it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "stewards/store/store.h"
#include "store_place.h"
#include "support.h"

TestSuite(store_cuts, .init = place_make, .fini = place_remove, .timeout = 120);

static struct store_meta meta, second;

/* Return the bytes of the file of cuts; -1: there is none. */
static ssize_t read_cuts(int sandbox, char bytes[64])
{
	int fd = openat(sandbox, STORE_CUTS, O_RDONLY | O_CLOEXEC);
	const ssize_t size = fd < 0 ? -1 : read(fd, bytes, 64);

	fd_close(&fd);
	return size;
}

Test(store_cuts, a_fork_has_the_cuts_and_a_rollback_keeps_them)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd = place_create("a", &meta), cuts, other;
	struct store_checkpoint made;
	char bytes[64];

	cr_assert_eq(store_checkpoint(fd, &meta, "", &made), 0);
	other = store_fork(fd, &meta, 1, "none", &census, &second);
	cr_assert_geq(other, 0);
	cr_expect_eq(read_cuts(other, bytes), -1, "the control");
	fd_close(&other);
	cuts = store_cuts(fd);
	cr_assert_geq(cuts, 0);
	cr_assert_eq(write(cuts, "a.example", 9), 9);
	fd_close(&cuts);
	for (uint32_t number = 0; number < 2; number++) {
		other = store_fork(fd, &meta, number, number ? "b" : "c", &census, &second);
		cr_assert_geq(other, 0);
		cr_expect_eq(read_cuts(other, bytes), 9);
		cr_expect_eq(memcmp(bytes, "a.example", 9), 0);
		fd_close(&other);
	}
	cr_assert_eq(store_rollback(fd, &meta, 1), 0);
	cr_expect_eq(read_cuts(fd, bytes), 9);
	/* A link is nobody's file of cuts, and without it there is no fork. */
	cr_assert_eq(unlinkat(fd, STORE_CUTS, 0), 0);
	cr_assert_eq(symlinkat("/dev/null", fd, STORE_CUTS), 0);
	cr_expect_eq(store_cuts(fd), -ELOOP);
	cr_expect_eq(store_fork(fd, &meta, 1, "d", &census, &second), -ELOOP);
	fd_close(&fd);
}
