/* SPDX-License-Identifier: Apache-2.0
 *
 * The modes that an apply gives, by the umask of who applies. Copies and hashes are tested by the
 * operations that use them.
 */
#include "layers/base/files.h"

#include <criterion/criterion.h>
#include <sys/stat.h>

static const struct {
	uint32_t mask, old, now, made;
} cases[] = {
	/* new files, as they are made under the sandbox's umask */
	{ 0022, 0, S_IFREG | 0644, S_IFREG | 0644 },
	{ 0022, 0, S_IFDIR | 0755, S_IFDIR | 0755 },
	{ 0077, 0, S_IFREG | 0644, S_IFREG | 0600 },
	{ 0077, 0, S_IFREG | 0755, S_IFREG | 0700 },
	{ 0027, 0, S_IFDIR | 0755, S_IFDIR | 0750 },
	{ 0002, 0, S_IFREG | 0644, S_IFREG | 0664 },
	{ 0002, 0, S_IFDIR | 0755, S_IFDIR | 0775 },
	{ 0000, 0, S_IFREG | 0644, S_IFREG | 0664 }, /* others never get a right to write */
	/* a mode that was chosen: nothing is added */
	{ 0002, 0, S_IFREG | 0600, S_IFREG | 0600 },
	{ 0002, 0, S_IFREG | 0444, S_IFREG | 0444 },
	{ 0022, 0, S_IFREG | 0666, S_IFREG | 0644 },
	{ 0077, 0, S_IFREG | 0640, S_IFREG | 0600 },
	/* a file of the host keeps its mode, or gets the one that was chosen */
	{ 0077, S_IFREG | 0644, S_IFREG | 0644, S_IFREG | 0644 },
	{ 0077, S_IFREG | 0600, S_IFREG | 0644, S_IFREG | 0600 },
	{ 0002, S_IFREG | 0664, S_IFREG | 0644, S_IFREG | 0664 },
	{ 0077, S_IFREG | 0644, S_IFREG | 0755, S_IFREG | 0755 },
	{ 0077, S_IFREG | 0644, S_IFREG | 0666, S_IFREG | 0666 },
	/* in the place of another kind it is new */
	{ 0077, S_IFDIR | 0755, S_IFREG | 0644, S_IFREG | 0600 },
	/* other kinds have no mode of their own */
	{ 0077, 0, S_IFLNK | 0777, S_IFLNK | 0777 },
	{ 0077, S_IFREG | 0644, 0, 0 },
};

Test(files, applied_mode)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(files_applied_mode(FILES_UMASK_KNOWN | cases[i].mask, cases[i].old,
						cases[i].now),
			     cases[i].made, "%zu", i);
		/* control: without a umask it is the sandbox's */
		cr_expect_eq(files_applied_mode(0, cases[i].old, cases[i].now), cases[i].now);
	}
}
