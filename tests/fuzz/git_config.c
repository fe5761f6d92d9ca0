/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration of git: nothing is read behind its end, each value and word ends, a value is no
 * longer than the text, and a path has no separator of words unless it is the value as a whole.
 */
#include "launcher/git/config.h"

#include <stdint.h>
#include <string.h>

#include "property.h"

static size_t whole;
static const char *current;

static void check_path(void *context, const char *path)
{
	(void)context;
	must(strlen(path) <= whole);
	must(strcmp(path, current) == 0 || strpbrk(path, " \t\r\n'\"`;|&()<>{}=:,") == NULL);
}

static void check_value(void *context, enum git_key kind, const char *subsection, const char *value)
{
	(void)context;
	must(strlen(value) <= whole && strlen(subsection) <= whole);
	current = value;
	must(git_config_paths(kind, value, check_path, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	whole = size;
	must(git_config_read((const char *)data, size, check_value, NULL));
	return 0;
}
