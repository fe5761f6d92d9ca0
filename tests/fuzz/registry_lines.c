/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of a package manager, of the tool that the first byte chooses: nothing is read behind its
 * end, and no value that a sandbox gets has a sign that ends a part of the sandbox's own file, or
 * one before which a URL has a user or behind which it has a query.
 */
#include "lib/heap/memory.h"
#include "policy/registries/lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "property.h"

static void check_path(const struct registry_place *place, const char *name, const char *path)
{
	must(strchr(path, '\n') == NULL);
	lines_add_problem(place, name, "it is not read");
}

static void check_line(const struct registry_line *line)
{
	must(strpbrk(line->name, "\n\"'<>=$ ") == NULL);
	must(line->of == NULL || strpbrk(line->of, "\n\"<>&") == NULL);
	must(strpbrk(line->value, "\n\"'<>&$@#\\") == NULL);
	must(line->problem == NULL || line->value[0] == '\0');
	if (line->problem == NULL && line->host[0] != '\0') {
		must(strchr(line->value, '?') == NULL && line->port != 0);
		must(strlen(line->value) < REGISTRY_URL_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static registry_reader *const readers[REGISTRY_TOOL_COUNT] = {
		lines_read_npm, lines_read_pip, lines_read_cargo, lines_read_go, lines_read_maven,
	};
	const unsigned int tool = size > 0 ? data[0] % REGISTRY_TOOL_COUNT : 0;
	struct registries *registries;
	struct registry_place place = { .file = "~/file", .take_certificates = check_path };
	char *text;

	if (size == 0 || memchr(data + 1, '\0', size - 1) != NULL)
		return 0;
	registries = memory_get_zeroed(1, sizeof(*registries));
	place.registry = &registries->of[tool];
	text = memory_text((const char *)data + 1, size - 1);
	readers[tool](&place, text);
	free(text);
	for (size_t i = 0; i < place.registry->count; i++)
		check_line(&place.registry->lines[i]);
	gift_make((enum registry_tool)tool, place.registry);
	for (uint32_t i = 0; i < place.registry->variable_count; i++)
		must(strpbrk(place.registry->variables[i], "\n@#\"") == NULL);
	(void)registries_free(registries);
	return 0;
}
