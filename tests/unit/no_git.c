/* SPDX-License-Identifier: Apache-2.0
 *
 * What Criterion calls of libgit2, for tests that read no repository: no difference is shown.
 */
int git_diff_buffers(void);
int git_libgit2_init(void);
int git_libgit2_shutdown(void);

__attribute__((visibility("default"))) int git_diff_buffers(void)
{
	return -1;
}

__attribute__((visibility("default"))) int git_libgit2_init(void)
{
	return 1;
}

__attribute__((visibility("default"))) int git_libgit2_shutdown(void)
{
	return 0;
}
