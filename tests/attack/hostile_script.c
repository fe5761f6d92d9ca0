/* SPDX-License-Identifier: Apache-2.0
 *
 * In place of a program that msp executes by its descriptor: the Python script beside it that has
 * its name and ".py", with the same arguments and descriptors.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 64

int main(int argc, char *argv[])
{
	static char python[] = "/usr/bin/python3", no_cache[] = "-B";
	char *words[WORDS_MAX] = { python, no_cache };
	char path[PATH_MAX];
	const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - sizeof(".py"));

	if (size <= 0 || argc > WORDS_MAX - 4)
		return 1;
	memcpy(path + size, ".py", sizeof(".py"));
	words[2] = path;
	for (int i = 1; i < argc; i++)
		words[2 + i] = argv[i];
	(void)execv(python, words);
	return 1;
}
