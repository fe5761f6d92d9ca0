/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/directory_mode.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/text/text.h"

/* The C library's way to a file that is open with O_PATH. */
#define OWN_FILES "/proc/self/fd/"
#define DESCRIPTOR_DIGITS 10

/* Return the number of the open file that a name in OWN_FILES is about, or NULL. */
static const char *number_in(const char *name)
{
	const char *number = name + sizeof(OWN_FILES) - 1;

	if (strncmp(name, OWN_FILES, sizeof(OWN_FILES) - 1) != 0)
		return NULL;
	const size_t digits = strspn(number, "0123456789");
	return digits > 0 && digits <= DESCRIPTOR_DIGITS && number[digits] == '\0' ? number : NULL;
}

/* Open the directory of a call, O_PATH; -EPERM: it is none, or the process cannot be looked at. */
static int open_directory(const struct seccomp_notif *call, bool is_at)
{
	static char name[PATH_MAX];
	const bool is_named = call->data.nr != SYS_fchmod;
	const bool is_in_cwd = is_named && (!is_at || (int)call->data.args[0] == AT_FDCWD);
	const struct iovec to = { name, sizeof(name) - 1 };
	const struct iovec from = { (void *)(uintptr_t)call->data.args[is_at], sizeof(name) - 1 };
	const ssize_t got = is_named ? process_vm_readv((pid_t)call->pid, &to, 1, &from, 1, 0) : 0;
	struct text place = { .used = 0 };

	if (got < is_named)
		return -EPERM;
	name[got] = '\0'; /* the kernel refuses a name without an end */
	const char *number = is_named ? number_in(name) : NULL;
	text_add(&place, "/proc/");
	text_add_number(&place, call->pid);
	text_add(&place, is_in_cwd && !number ? "/cwd" : "/fd/");
	if (number)
		text_add(&place, number);
	else if (!is_in_cwd)
		text_add_number(&place, (uint32_t)call->data.args[0]);
	int start = open(place.bytes, O_PATH | O_CLOEXEC);
	if (start < 0)
		return -EPERM;
	const int ret = kernel_openat2(start, is_named && !number ? name : ".",
				       O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
	const int error = errno == ENOTDIR ? -EPERM : -errno;

	fd_close(&start);
	return ret < 0 ? error : ret;
}

int directory_mode_set(const struct seccomp_notif *call)
{
	const bool is_at = call->data.nr == SYS_fchmodat;
	const mode_t mode = (mode_t)call->data.args[1 + is_at] & 07777;
	struct text place = { .used = 0 };

	if ((!is_at && call->data.nr != SYS_chmod && call->data.nr != SYS_fchmod) ||
	    (mode & (S_ISUID | S_ISGID)) != S_ISGID)
		return -EPERM;
	int directory = open_directory(call, is_at);
	if (directory < 0)
		return directory;
	text_add(&place, OWN_FILES);
	text_add_number(&place, (uint64_t)directory);
	const int error = chmod(place.bytes, mode) == 0 ? 0 : -errno;
	fd_close(&directory);
	return error;
}
