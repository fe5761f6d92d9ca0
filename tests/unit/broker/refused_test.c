/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "refused_server.h"

static char *read_sealed(size_t size)
{
	char *bytes = malloc(size + 1);
	char *text;
	int fd;

	cr_assert_not_null(bytes);
	memset(bytes, 'x', size + 1);
	fd = fd_sealed_from_bytes("reason", bytes, size);
	cr_assert_geq(fd, 0);
	text = refused_read_text(fd);
	fd_close(&fd);
	free(bytes);
	return text;
}

Test(refused, text_of_a_sealed_file)
{
	char *text = read_sealed(REFUSED_TEXT_MAX);

	cr_assert_not_null(text);
	cr_expect_eq(strlen(text), REFUSED_TEXT_MAX);
	free(text);
}

Test(refused, size_is_bounded)
{
	cr_expect_null(read_sealed(REFUSED_TEXT_MAX + 1));
	cr_expect_null(read_sealed(0));
}

Test(refused, other_descriptors_hold_no_reason)
{
	int open_file = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int ends[2];

	cr_assert_geq(open_file, 0);
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(write(open_file, "x", 1), 1);
	cr_expect_null(refused_read_text(open_file));
	cr_expect_null(refused_read_text(ends[0]));
	cr_expect_null(refused_read_text(-1));
	fd_close(&open_file);
	fd_close_all(ends, 2);
}
