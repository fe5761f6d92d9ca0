/* SPDX-License-Identifier: Apache-2.0
 *
 * peak COMMAND...: run it and print the most memory, in kB, that one of its processes had. A small
 * program starts it, because a process begins with the peak of the one that started it.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	struct rusage usage;
	pid_t child;
	int status;

	if (argc < 2)
		return 64;
	child = fork();
	if (child == 0) {
		if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
			(void)execv(argv[1], argv + 1);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
	    getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return 1;
	(void)printf("%ld\n", usage.ru_maxrss);
	return 0;
}
