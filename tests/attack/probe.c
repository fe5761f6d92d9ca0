/* SPDX-License-Identifier: Apache-2.0
 *
 * probe ACT [ARGUMENT...]: tries one act and prints "succeeded", "refused ERRNO" or "unprepared
 * ERRNO". Exit codes: 0 succeeded, 10 refused, 20 unprepared, 64 no such act.
 */
#include "probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_REFUSED 10
#define EXIT_UNPREPARED 20
#define EXIT_USAGE 64

static const struct acts *const all[] = { &call_acts,      &call_32bit_acts, &file_acts,
					  &interface_acts, &network_acts,    &posture_acts,
					  &process_acts,   &sight_acts };

int outcome(long result)
{
	return result < 0 ? errno : SUCCEEDED;
}

int outcome_in_child(int (*act)(char **), char **arguments)
{
	int status = 0;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		return UNPREPARED;
	if (pid == 0) {
		const int result = act(arguments);

		_exit(result == UNPREPARED ? 255 : result);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return UNPREPARED;
	return WEXITSTATUS(status) == 255 ? UNPREPARED : WEXITSTATUS(status);
}

long number_of(char **arguments)
{
	char *end = NULL;
	const long number = arguments[0] ? strtol(arguments[0], &end, 0) : 0;

	if (!end || *end != '\0' || end == arguments[0]) {
		(void)fprintf(stderr, "probe: a number is missing\n");
		exit(EXIT_USAGE);
	}
	return number;
}

static const struct act *find(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		for (size_t j = 0; j < all[i]->count; j++) {
			if (strcmp(all[i]->list[j].name, name) == 0)
				return &all[i]->list[j];
		}
	}
	return NULL;
}

static int tell(int result)
{
	const char *name = strerrorname_np(result == UNPREPARED ? errno : result);

	if (result == SUCCEEDED) {
		(void)puts("succeeded");
		return 0;
	}
	(void)printf("%s %s\n", result == UNPREPARED ? "unprepared" : "refused",
		     name ? name : "unknown");
	return result == UNPREPARED ? EXIT_UNPREPARED : EXIT_REFUSED;
}

int main(int argc, char **argv)
{
	const struct act *act = argc > 1 ? find(argv[1]) : NULL;

	if (!act) {
		(void)fprintf(stderr, "probe: no act '%s'\n", argc > 1 ? argv[1] : "");
		return EXIT_USAGE;
	}
	return tell(act->run(argv + 2));
}
