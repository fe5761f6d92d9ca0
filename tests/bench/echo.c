/* SPDX-License-Identifier: Apache-2.0
 *
 * echo SIZE: answers each line of its input with a line of SIZE bytes. What two pipes and two
 * processes cost, without a protocol.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const size_t size = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	char *answer = malloc(size + 1);
	char input[65536];
	ssize_t got;

	if (!answer || size == 0)
		return 64;
	memset(answer, 'x', size);
	answer[size - 1] = '\n';
	while ((got = read(STDIN_FILENO, input, sizeof(input))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (input[i] != '\n')
				continue;
			for (size_t done = 0; done < size;) {
				const ssize_t put =
					write(STDOUT_FILENO, answer + done, size - done);

				if (put < 0)
					return 1;
				done += (size_t)put;
			}
		}
	}
	return 0;
}
