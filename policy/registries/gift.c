/* SPDX-License-Identifier: Apache-2.0
 *
 * The gift to a sandbox: files that the tools read before those of a project or of the sandbox's
 * own home, which can say otherwise as they do outside, and variables where a tool has no such
 * file.
 */
#include "policy/registries/lines.h"

#include "lib/heap/memory.h"

#include <string.h>

/* Add a variable, whose text is freed. */
static void add_variable(struct registry *registry, struct buffer *text)
{
	if (registry->variable_count < REGISTRY_VARIABLES_MAX)
		registry->variables[registry->variable_count++] =
			memory_text(text->bytes, text->size);
	buffer_done(text);
}

static void make_npm(struct registry *registry)
{
	for (size_t i = 0; i < registry->count; i++) {
		const struct registry_line *line = &registry->lines[i];

		if (line->problem == NULL && strcmp(line->name, "cafile") != 0)
			buffer_format(&registry->file, "%s=%s\n", line->name, line->value);
	}
	if (lines_find(registry, "cafile") != NULL)
		buffer_format(&registry->file, "cafile=%s\n", REGISTRIES_CERTIFICATES("npm"));
}

/* Add a variable with the values of all lines of a name. */
static void add_list(struct registry *registry, const char *name, const char *variable)
{
	struct buffer text = { .bytes = NULL };

	for (size_t i = 0; i < registry->count; i++) {
		const struct registry_line *line = &registry->lines[i];

		if (line->problem == NULL && strcmp(line->name, name) == 0)
			buffer_format(&text, "%s%s", text.size == 0 ? variable : " ", line->value);
	}
	if (text.size > 0)
		add_variable(registry, &text);
}

static void make_pip(struct registry *registry)
{
	struct buffer text = { .bytes = NULL };

	add_list(registry, "index-url", "PIP_INDEX_URL=");
	add_list(registry, "extra-index-url", "PIP_EXTRA_INDEX_URL=");
	add_list(registry, "trusted-host", "PIP_TRUSTED_HOST=");
	if (lines_find(registry, "cert") != NULL) {
		buffer_format(&text, "PIP_CERT=%s", REGISTRIES_CERTIFICATES("pip"));
		add_variable(registry, &text);
	}
}

/* Return whether a name has a URL, as a source or as a registry of its own. */
static bool has_source(const struct registry *registry, const char *name)
{
	struct buffer source = { .bytes = NULL }, index = { .bytes = NULL };
	bool is_there;

	buffer_format(&source, "source.%s.registry", name);
	buffer_format(&index, "registries.%s.index", name);
	is_there = lines_find(registry, source.bytes) != NULL ||
		   lines_find(registry, index.bytes) != NULL;
	buffer_done(&source);
	buffer_done(&index);
	return is_there;
}

/* Each line is a pair of dotted keys. A word that names a source is left out without that. */
static void make_cargo(struct registry *registry)
{
	for (size_t i = 0; i < registry->count; i++) {
		const struct registry_line *line = &registry->lines[i];
		const bool is_certificates = strcmp(line->name, "http.cainfo") == 0;

		if (line->problem != NULL || (line->host[0] == '\0' && !is_certificates &&
					      !has_source(registry, line->value)))
			continue;
		buffer_format(&registry->file, "%s = \"%s\"\n", line->name,
			      is_certificates ? REGISTRIES_CERTIFICATES("cargo") : line->value);
	}
}

static void make_go(struct registry *registry)
{
	struct buffer text = { .bytes = NULL };

	for (size_t i = 0; i < registry->count; i++) {
		const struct registry_line *line = &registry->lines[i];

		if (line->problem == NULL && line->host[0] != '\0')
			buffer_format(&text, "%s%s", text.size == 0 ? "GOPROXY=" : ",",
				      line->value);
	}
	if (text.size == 0)
		return; /* the rest is about its modules */
	add_variable(registry, &text);
	for (size_t i = 0; i < registry->count; i++) {
		const struct registry_line *line = &registry->lines[i];

		if (line->problem != NULL || line->host[0] != '\0')
			continue;
		buffer_format(&text, "%s=%s", line->name, line->value);
		add_variable(registry, &text);
	}
}

static void make_maven(struct registry *registry)
{
	struct buffer *file = &registry->file;

	for (size_t i = 0; i < registry->count; i++) {
		const struct registry_line *line = &registry->lines[i];

		if (line->problem == NULL)
			buffer_format(file,
				      "%s<mirror><id>%s</id><mirrorOf>%s</mirrorOf>"
				      "<url>%s</url></mirror>\n",
				      file->size == 0 ? "<settings><mirrors>\n" : "", line->name,
				      line->of, line->value);
	}
	/* Maven's own file, which this one replaces, has the last mirror. */
	if (file->size > 0)
		buffer_append_text(file, "<mirror><id>maven-default-http-blocker</id>"
					 "<mirrorOf>external:http:*</mirrorOf>"
					 "<url>http://0.0.0.0/</url><blocked>true</blocked>"
					 "</mirror>\n</mirrors></settings>\n");
}

void gift_make(enum registry_tool tool, struct registry *registry)
{
	static void (*const makers[REGISTRY_TOOL_COUNT])(struct registry *) = {
		[REGISTRY_NPM] = make_npm,     [REGISTRY_PIP] = make_pip,
		[REGISTRY_CARGO] = make_cargo, [REGISTRY_GO] = make_go,
		[REGISTRY_MAVEN] = make_maven,
	};

	if (registry_is_obeyed(registry))
		makers[tool](registry);
}
