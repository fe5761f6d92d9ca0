/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealed memory files: the plan, the code of run_code, and our own images.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "support.h"

Test(memfd, a_sealed_file_refuses_a_write_through_its_link_in_proc)
{
	int fd = fd_sealed_from_bytes("plan", "data", 4);
	char link[64];

	cr_assert_geq(fd, 0);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int again = open(link, O_RDWR | O_CLOEXEC);
	cr_assert_eq(write(again, "x", 1), -1);
	cr_assert_eq(errno, EPERM, "policy is immutable once it is handed on");
	fd_close(&again);
	fd_close(&fd);
}

Test(memfd, a_writable_mapping_prevents_the_seal)
{
	const int fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	cr_assert_eq(ftruncate(fd, 4096), 0);
	cr_assert_neq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	cr_assert_eq(errno, EBUSY, "who sealed a file keeps no way to write it");
}

/* Executes a sealed copy of a program; its exit code. */
static int execute_sealed(void)
{
	char name[] = "true";
	char *arguments[] = { name, NULL };
	char *environment[] = { NULL };
	const int file = open("/bin/true", O_RDONLY | O_CLOEXEC);
	const int image = fd_sealed_from_file("image", file);

	if (image < 0)
		return UNPREPARED;
	(void)syscall(SYS_execveat, image, "", arguments, environment, AT_EMPTY_PATH);
	return 1;
}

Test(memfd, a_sealed_image_executes)
{
	cr_assert_eq(exit_of(0, execute_sealed), 0,
		     "child-init runs from a sealed memfd, so no workload reaches its file");
}
