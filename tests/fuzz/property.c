/* SPDX-License-Identifier: Apache-2.0 */
#include "property.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char fuzz_kinds[FUZZ_KINDS + 1] = "pmfdsiot";

void property_must(bool claim, const char *file, int line, const char *text)
{
	if (claim)
		return;
	(void)fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
	abort();
}

int property_free_fd(void)
{
	const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	must(fd >= 0 && close(fd) == 0);
	return fd;
}

void *property_copy(const void *bytes, size_t size)
{
	void *copy = malloc(size > 0 ? size : 1);

	must(copy != NULL);
	if (size > 0)
		memcpy(copy, bytes, size);
	return copy;
}

uint8_t input_byte(struct input *input)
{
	if (input->size == 0)
		return 0;
	input->size--;
	return *input->bytes++;
}

const uint8_t *input_part(struct input *input, size_t *ret_size)
{
	const size_t wanted = input_byte(input);
	const uint8_t *part = input->bytes;

	*ret_size = wanted < input->size ? wanted : input->size;
	input->bytes += *ret_size;
	input->size -= *ret_size;
	return part;
}
