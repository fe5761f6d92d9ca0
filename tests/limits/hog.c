/* SPDX-License-Identifier: Apache-2.0
 *
 * hog MODE [AMOUNT]: takes it and prints "took N" (exit code 0), or "refused ERRNO after N" (exit
 * code 1). 64: no such mode.
 */
#include "hog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXIT_REFUSED 1
#define EXIT_USAGE 64

/* Several looks of a watch, even of one that is late. */
#define HOLD_MS 400

static const struct modes *const all[] = { &file_modes, &memory_modes, &process_modes };

long hog_taken;

void hog_hold(void)
{
	const struct timespec time = { .tv_nsec = HOLD_MS * 1000000L };

	(void)nanosleep(&time, NULL);
}

void hog_stay(void)
{
	for (;;)
		(void)pause();
}

static const struct mode *find(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		for (size_t j = 0; j < all[i]->count; j++) {
			if (strcmp(all[i]->list[j].name, name) == 0)
				return &all[i]->list[j];
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct mode *mode = argc > 1 ? find(argv[1]) : NULL;
	const long amount = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	int error;

	if (!mode) {
		(void)fprintf(stderr, "hog: no such mode\n");
		return EXIT_USAGE;
	}
	/* A mode that fills the output has nothing more to say; the others' words go out at once.
	 */
	(void)setvbuf(stdout, NULL, _IONBF, 0);
	error = mode->run(amount);
	if (error)
		(void)printf("refused %s after %ld\n", strerrorname_np(error), hog_taken);
	else
		(void)printf("took %ld\n", hog_taken);
	return error ? EXIT_REFUSED : 0;
}
